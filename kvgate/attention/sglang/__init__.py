"""SGLang: which attention backend, page and KV dtype it ends up with, and where it stops."""

from kvgate.attention.sglang.model import Model, model_facts
from kvgate.attention.sglang.outcome import STAGES, Note, Outcome
from kvgate.attention.sglang.pipeline import Query, resolve

__all__ = ["STAGES", "Model", "Note", "Outcome", "Query", "model_facts", "resolve"]
