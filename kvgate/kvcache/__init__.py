"""KV cache: from formats and layers to what a model needs and what an engine's pool holds."""

from kvgate.kvcache.needs import Needs, needs
from kvgate.kvcache.size import Sizing, size

__all__ = ["Needs", "Sizing", "needs", "size"]
