"""The settings while they are being resolved: what was asked, and what the rules made of it."""

from __future__ import annotations

from typing import Any, Literal

from kvgate.attention.sglang.model import Model
from kvgate.attention.sglang.outcome import Note, RefusedError, Stage
from kvgate.attention.sglang.release import Rules

__all__ = ["State"]


class State:
    """Settings by the name SGLang stores them under, and what was said on the way.

    Rules read and write ``state["page_size"]``; `warn` and `refuse` speak in the release's words.
    """

    __slots__ = (
        "_cfg", "architecture", "decode_graph", "locked", "memory_mib", "model", "notes",
        "prefill_graph", "rules", "sm", "unknown", "uses_mamba", "warnings",
    )  # fmt: skip

    def __init__(
        self,
        rules: Rules,
        model: Model,
        sm: tuple[int, int],
        memory_mib: int | None,
        cfg: dict[str, Any],
    ) -> None:
        self.rules = rules
        self.model = model
        # The architecture whose class serves the model.
        self.architecture = rules.served_as(model.architecture)
        self.sm = sm
        self.memory_mib = memory_mib
        self._cfg = cfg
        self.warnings: list[str] = []
        self.notes: list[Note] = []
        self.unknown: list[str] = []
        self.prefill_graph = "breakable"
        self.decode_graph = "full"
        self.locked: set[str] = set()
        self.uses_mamba = False

    def __getitem__(self, name: str) -> Any:
        return self._cfg.get(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self._cfg[name] = value

    @property
    def major(self) -> int:
        """The compute capability's major: 12 for both 12.0 and 12.1."""
        return self.sm[0]

    @property
    def blackwell(self) -> bool:
        """What SGLang calls Blackwell: majors 10, 11 and 12, kernel families of different kinds."""
        return self.sm[0] in (10, 11, 12)

    @property
    def mla(self) -> bool:
        """Whether SGLang treats the model as MLA: by its architecture's name, not by its layers."""
        return self.model.latent and self.rules.among("mla", self.architecture)

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
        names = ("attention_backend", "prefill_attention_backend", "decode_attention_backend")
        return {self[name] for name in names if self[name]}

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
            self.warnings.append(self.rules.text(key, self._values() | values))

    def refuse(self, key: str, stage: Stage = "resolve", **values: Any) -> RefusedError:
        """The refusal with the release's own class name and text, to be raised."""
        text = self.rules.text(key, self._values() | values)
        return RefusedError(f"{self.rules.kind(key)}: {text}", stage)

    def change(self, name: str, value: Any, why: str, *, said: bool = False) -> None:
        """Change a setting and note it, where the user had asked for something else."""
        asked = self[name]
        if asked is not None and asked != value:
            self.notes.append(Note(name, asked, value, said, why))
        self._cfg[name] = value

    def _values(self) -> dict[str, Any]:
        prefill, decode = self.backends
        return self._cfg | {
            "architectures": self.architecture,
            "model_arch": self.architecture,
            "major": self.major,
            "prefill_attn_backend": prefill,
            "decode_attn_backend": decode,
            "prefill_backend": prefill,
            "decode_backend": decode,
            "prefill_be": prefill,
            "decode_be": decode,
            "prefill_attention_backend_str": prefill,
            "decode_attention_backend_str": decode,
        }
