"""vLLM's backend selection as its releases make it: the catalogue's data and a few named rules."""
