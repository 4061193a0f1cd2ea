"""A config read key by key: types are checked, problems are gathered, what was read is remembered.

What was read matters twice: it explains a layer group, and what is left over is how `guard` notices
a config that says something its family's reader does not understand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["ALIASES", "MOST_LAYERS", "Config", "quoted", "show"]

MOST_LAYERS = 10_000
_MOST = 2**40

# Older and vendors' own spellings. A config that gives two of them must give them the same value.
ALIASES: dict[str, tuple[str, ...]] = {
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers"),
    "hidden_size": ("n_embd", "d_model", "n_embed"),
    "num_attention_heads": ("n_head", "n_heads"),
    "num_key_value_heads": ("n_head_kv", "num_kv_heads"),
    "head_dim": ("attention_head_dim", "kv_channels", "hidden_size_per_head"),
    "max_position_embeddings": (
        "n_positions", "max_seq_len", "max_sequence_length", "max_seq_length", "seq_length",
        "n_ctx", "model_max_length", "context_length",
    ),
    "sliding_window_pattern": ("_sliding_window_pattern",),
    "vocab_size": ("padded_vocab_size",),
    "intermediate_size": ("n_inner", "ffn_hidden_size", "ffn_dim"),
}  # fmt: skip
# These may differ from the canonical key without being a contradiction: a tokenizer's or a training
# run's limit, and a vocabulary before or after padding.
_MAY_DIFFER = frozenset(
    {"max_position_embeddings", "vocab_size", "intermediate_size", "kv_channels"}
)
# Keys that count draft layers, and lists that name them whatever those keys say.
_DRAFTS = (
    "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "num_mtp_layers",
)  # fmt: skip
_RUN_ON = frozenset({"compress_ratios"})
_MOST_DRAFTS = 64


class Config:
    """One mapping of a config, with the path that leads to it (``text_config.`` or empty).

    ``defaults`` are the values that the family's own config class fills in for keys that released
    files leave out. Problems are collected, so that a person sees all of them at once: a getter
    that fails records why and returns a value that lets reading go on.
    """

    __slots__ = ("_said", "data", "defaults", "path", "problems", "used")

    def __init__(
        self,
        data: Mapping[str, Any],
        *,
        path: str = "",
        defaults: Mapping[str, Any] | None = None,
        problems: list[str] | None = None,
    ) -> None:
        self.data = data
        self.path = path
        self.defaults = defaults or {}
        self.problems = problems if problems is not None else []
        self.used: set[str] = set()
        self._said: dict[str, str] = {}

    def problem(self, message: str) -> None:
        """Record a problem, once; what is wrong with a key's value says more than its absence."""
        key = message.removesuffix(" is missing")
        known = key != message and any(one.startswith((f"{key} ", f"{key}[", f"{key}="))
                                       for one in self.problems)  # fmt: skip
        if message not in self.problems and not known:
            self.problems.append(message)

    def name(self, key: str) -> str:
        """The key as a person finds it in the file."""
        return f"{self.path}{key}"

    def ignore(self, *keys: str) -> None:
        """Keys that this family's models are known to carry without acting on them."""
        self.used.update(keys)

    def raw(self, key: str, *, default: bool = True) -> Any:
        """The value of a key or one of its aliases; null and absent are both None.

        With ``default``, an absent key (not a null one) is answered by the family's default.
        """
        found: str | None = None
        for spelling in (key, *ALIASES.get(key, ())):
            if spelling not in self.data:
                continue
            self.used.add(spelling)
            if self.data[spelling] is None:
                continue
            if found is None:
                found = spelling
            elif not _MAY_DIFFER & {key, spelling} and self.data[spelling] != self.data[found]:
                self.problem(
                    f"{self.name(found)}={show(self.data[found])} and "
                    f"{self.name(spelling)}={show(self.data[spelling])} contradict each other"
                )
        if found is not None:
            self._said[key] = f"{found}={show(self.data[found])}"
            return self.data[found]
        if default and key not in self.data and key in self.defaults:
            self._said[key] = f"{key}={show(self.defaults[key])} (default)"
            return self.defaults[key]
        return None

    def fill(self, key: str, value: Any) -> None:
        """A value that the family's code puts where a file has none, or null."""
        if self.raw(key, default=False) is None:
            self.data = {name: held for name, held in self.data.items() if name != key}
            self.defaults = {**self.defaults, key: value}

    def assume(self, key: str, value: Any, why: str = "default") -> None:
        """Remember that a key was filled in by a rule, for the explanation."""
        self._said[key] = f"{key}={show(value)} ({why})"

    def why(self, *keys: str) -> tuple[str, ...]:
        """``key=value`` of the keys that were read or assumed, in this order."""
        return tuple(self._said[key] for key in keys if key in self._said)

    def found(self, key: str) -> str:
        """The spelling that the config uses for a key."""
        for spelling in (key, *ALIASES.get(key, ())):
            if self.data.get(spelling) is not None:
                return spelling
        return key

    def whole(
        self, key: str, *, least: int = 1, most: int = _MOST, default: int | None = None
    ) -> int | None:
        """A whole number, or ``default`` where the key is absent or null."""
        value = self.raw(key)
        if value is None:
            if default is not None:
                self.assume(key, default)
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            self.problem(
                f"{self.name(self.found(key))} must be a whole number, not {quoted(value)}"
            )
            return default
        if not least <= value <= most:
            self.problem(
                f"{self.name(self.found(key))}={show(value)} is out of range "
                f"({least:,} to {most:,})"
            )
            return default
        return value

    def need(self, key: str, *, least: int = 1, most: int = _MOST) -> int:
        """A whole number that has to be there; ``least`` (at least 1) stands in where it is not."""
        value = self.whole(key, least=least, most=most)
        if value is not None:
            return value
        spellings = (key, *ALIASES.get(key, ()))
        if all(self.data.get(spelling) is None for spelling in spellings):
            null = " (it is null)" if key in self.data else ""
            self.problem(f"{self.name(key)} is missing{null}")
        return max(1, least)

    def number(self, key: str) -> float | None:
        """A finite number, or None."""
        value = self.raw(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.problem(f"{self.name(self.found(key))} must be a number, not {quoted(value)}")
            return None
        if not -(2**53) < value < 2**53:
            self.problem(f"{self.name(self.found(key))}={show(value)} is no number to work with")
            return None
        return float(value)

    def flag(self, key: str, *, default: bool = False) -> bool:
        """True or false; absent and null are ``default``."""
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.problem(f"{self.name(key)} must be true or false, not {quoted(value)}")
            return default
        return value

    def text(self, key: str) -> str | None:
        """A string, or None."""
        value = self.raw(key)
        if value is not None and not isinstance(value, str):
            self.problem(f"{self.name(self.found(key))} must be a string, not {quoted(value)}")
            return None
        return value

    def items(self, key: str, *, at_least: int = 0) -> list[Any] | None:
        """A list, or None.

        With ``at_least``, fewer entries are a problem, and so are more than draft layers explain.
        """
        value = self.raw(key)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            self.problem(f"{self.name(self.found(key))} must be a list, not {quoted(value)}")
            return None
        most = at_least + (_MOST_DRAFTS if key in _RUN_ON else self._drafts())
        if not at_least <= len(value) <= (most if at_least else len(value)):
            self.problem(
                f"{self.name(self.found(key))} has {len(value)} entries for {at_least} layers"
            )
            return None
        return list(value)

    def _drafts(self) -> int:
        """Draft layers, which per-layer lists may go on over."""
        found = [self.data.get(key) for key in _DRAFTS]
        counts = [n for n in found if isinstance(n, int) and not isinstance(n, bool)]
        return max([0, *(n for n in counts if n <= _MOST_DRAFTS)])

    def words(self, key: str, *, at_least: int = 0) -> list[str] | None:
        """A list of strings, or None."""
        value = self.items(key, at_least=at_least)
        if value is not None and not all(isinstance(entry, str) for entry in value):
            self.problem(f"{self.name(key)} must be a list of strings")
            return None
        return value

    def numbers(
        self, key: str, *, at_least: int = 0, least: int = 0, most: int = _MOST
    ) -> list[int] | None:
        """A list of whole numbers, or None."""
        value = self.items(key, at_least=at_least)
        if value is None:
            return None
        for position, entry in enumerate(value):
            if isinstance(entry, bool) or not isinstance(entry, int):
                self.problem(
                    f"{self.name(key)}[{position}] must be a whole number, not {quoted(entry)}"
                )
                return None
            if not least <= entry <= most:
                self.problem(
                    f"{self.name(key)}[{position}]={show(entry)} is out of range "
                    f"({least:,} to {most:,})"
                )
                return None
        return value

    def inner(self, key: str) -> Config | None:
        """A mapping inside this one, as a config of its own that shares the list of problems."""
        value = self.raw(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.problem(f"{self.name(key)} must be an object, not {quoted(value)}")
            return None
        return Config(value, path=f"{self.path}{key}.", problems=self.problems)

    def layers(self) -> int:
        """``num_hidden_layers``, at most MOST_LAYERS."""
        return self.need("num_hidden_layers", most=MOST_LAYERS)


def quoted(value: Any) -> str:
    """A value as JSON writes it, strings in quotes, for messages about its type."""
    return f'"{show(value)}"' if isinstance(value, str) else show(value)


def show(value: Any) -> str:
    """A value as JSON would write it, cut to a readable length."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > 128:
        return "an enormous number"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
