"""vLLM's backend selection, as its releases make it: data from the catalogue, and a few named rules."""
