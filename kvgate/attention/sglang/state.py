"""The settings while they are being resolved: what was asked, and what the rules made of it."""

from __future__ import annotations

from typing import Any, Literal

from kvgate.attention.sglang.model import Model
from kvgate.attention.sglang.outcome import Note, RefusedError, Stage
from kvgate.attention.sglang.release import Rules

__all__ = ["State"]


# What a message may ask for besides a setting; the releases spell the two backends in many ways.
_PREFILL = (
    "prefill_attn_backend", "prefill_backend", "prefill_be", "prefill_attention_backend_str",
)  # fmt: skip
_DECODE = tuple(name.replace("prefill", "decode") for name in _PREFILL)


class State(dict[str, Any]):
    """Settings by the name SGLang stores them under, and what was said on the way.

    Rules read and write ``state["page_size"]``; a setting that the release doesn't have is None.
    `warn` and `refuse` speak in the release's words. It is a dictionary itself, and holds facts of
    the model as attributes, because a resolution looks at a hundred of them.
    """

    __slots__ = (
        "architecture", "blackwell", "decode_graph", "locked", "major", "memory_mib", "mla",
        "model", "notes", "prefill_graph", "rules", "sm", "unknown", "uses_mamba", "warnings",
    )  # fmt: skip

    def __init__(
        self,
        rules: Rules,
        model: Model,
        sm: tuple[int, int],
        memory_mib: int | None,
        asked: dict[str, Any],
    ) -> None:
        super().__init__(rules.defaults)
        self.update(asked)
        self.rules = rules
        self.model = model
        # The architecture whose class serves the model.
        self.architecture = rules.served_as(model.architecture)
        self.sm = sm
        # The compute capability's major: 12 for both 12.0 and 12.1.
        self.major = sm[0]
        # What SGLang calls Blackwell: majors 10, 11 and 12, kernel families of different kinds.
        self.blackwell = sm[0] in (10, 11, 12)
        # Whether SGLang treats the model as MLA: by its architecture's name, not by its layers.
        self.mla = model.latent and rules.among("mla", self.architecture)
        self.memory_mib = memory_mib
        self.warnings: list[str] = []
        self.notes: list[Note] = []
        self.unknown: list[str] = []
        self.prefill_graph = "breakable"
        self.decode_graph = "full"
        self.locked: set[str] = set()
        self.uses_mamba = False

    def __missing__(self, name: str) -> None:
        return None

    @property
    def backends(self) -> tuple[str | None, str | None]:
        """(prefill, decode): each split backend, else ``--attention-backend``."""
        base = self["attention_backend"]
        return (
            self["prefill_attention_backend"] or base,
            self["decode_attention_backend"] or base,
        )

    @property
    def any_backend(self) -> set[str]:
        """Every backend named in one of the three settings."""
        named = {
            self["attention_backend"],
            self["prefill_attention_backend"],
            self["decode_attention_backend"],
        }
        named.discard(None)
        return named

    @property
    def was_set(self) -> Literal["nothing", "split", "base"]:
        """Which of the attention backends are set so far."""
        if self["attention_backend"] is not None:
            return "base"
        return "split" if self.any_backend else "nothing"

    @property
    def extra_buffer(self) -> bool:
        """Whether the mamba radix cache keeps extra buffers."""
        return not self["disable_radix_cache"] and self["mamba_radix_cache_strategy"] in (
            "extra_buffer",
            "extra_buffer_lazy",
        )

    def warn(self, key: str, **values: Any) -> None:
        """Say a warning of the release, if the release has it."""
        if self.rules.has(key):
            self.warnings.append(self.rules.text(key, _Words(self, values)))

    def refuse(self, key: str, stage: Stage = "resolve", **values: Any) -> RefusedError:
        """The refusal with the release's own class name and text, to be raised."""
        text = self.rules.text(key, _Words(self, values))
        return RefusedError(f"{self.rules.kind(key)}: {text}", stage)

    def change(self, name: str, value: Any, why: str, *, said: bool = False) -> None:
        """Change a setting and note it, where the user had asked for something else."""
        asked = self[name]
        if asked is not None and asked != value:
            self.notes.append(Note(name, asked, value, said, why))
        self[name] = value


class _Words(dict[str, Any]):
    """What fills a message's holes: the values given with it, else the state's own."""

    __slots__ = ("_state",)

    def __init__(self, state: State, given: dict[str, Any]) -> None:
        super().__init__(given)
        self._state = state

    def __missing__(self, name: str) -> Any:
        state = self._state
        if name in _PREFILL:
            return state.backends[0]
        if name in _DECODE:
            return state.backends[1]
        if name == "major":
            return state.major
        if name in ("architectures", "model_arch"):
            return state.architecture
        if name in state:
            return state[name]
        raise KeyError(name)
