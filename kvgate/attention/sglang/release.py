"""One SGLang release, as its catalogue entry says it: texts, lists, hooks, options."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from string import Formatter
from typing import Any, Literal

from packaging.version import Version

from kvgate.catalog.engines import Release, release
from kvgate.errors import InputError, nearest

__all__ = ["Rules", "field_of", "rules"]

# Architectures that the release serves with another one's class (its own config class renames).
_V32 = "DeepseekV32ForCausalLM"
_SERVED_AS = {"Olmo3ForCausalLM": "Olmo2ForCausalLM"}
# Up to 0.5.10 the parser stored some options under their long spelling.
_FIELDS = {
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "data_parallel_size": "dp_size",
    "expert_parallel_size": "ep_size",
    "decode_context_parallel_size": "dcp_size",
    "attention_context_parallel_size": "attn_cp_size",
    "mamba_scheduler_strategy": "mamba_radix_cache_strategy",
}


@dataclass(frozen=True, slots=True)
class Message:
    """One text of the release, with what its rule reads beside it.

    ``kind`` is the exception's class name, ``warning`` for what only warns. ``members`` and
    ``majors`` are the values and the compute capability majors that its condition lets through,
    ``sets`` what is set beside it, ``place`` the release's function that says it.
    """

    kind: str
    text: str
    holes: bool
    lists: dict[str, Any]
    members: tuple[Any, ...]
    majors: tuple[int, ...]
    sets: dict[str, Any]
    place: str


def _message(entry: dict[str, Any]) -> Message:
    text = str(entry["text"])
    # A list prints as the release's own literal does: a tuple where its name says it is private,
    # or where it holds further ones.
    lists = {
        name: tuple(tuple(v) if isinstance(v, list) else v for v in value)
        if name.startswith("_") or any(isinstance(v, list) for v in value)
        else value
        for name, value in entry.get("lists", {}).items()
    }
    holes = any(name is not None for _, name, _, _ in Formatter().parse(text))
    return Message(
        str(entry["kind"]),
        text if holes else text.format(),
        holes,
        lists,
        tuple(entry.get("members", ())),
        tuple(entry.get("majors", ())),
        entry.get("sets", {}),
        str(entry.get("in", "")),
    )


@dataclass(frozen=True, slots=True)
class Rules:
    """What the entry of one release says, by the keys that kvgate's rules use.

    A rule whose message the release doesn't have isn't in that release: `has` is its gate. The
    entry is taken apart once, here, since every resolution looks at it a hundred times.
    """

    version: Version
    read: Version
    note: str
    data: dict[str, Any]
    options: dict[str, dict[str, Any]]
    defaults: dict[str, Any]
    _messages: dict[str, Message] = field(init=False, repr=False, compare=False)
    _features: frozenset[str] = field(init=False, repr=False, compare=False)
    _lists: dict[str, frozenset[str]] = field(init=False, repr=False, compare=False)
    _hooks: dict[tuple[str, str, int], dict[str, Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        taken = {key: _message(entry) for key, entry in self.data["texts"].items()}
        lists = {name: frozenset(of) for name, of in self.data["architectures"].items()}
        object.__setattr__(self, "_messages", taken)
        object.__setattr__(self, "_features", frozenset(self.data.get("features", ())))
        object.__setattr__(self, "_lists", lists)

    def does(self, feature: str) -> bool:
        """Whether the release has a turn of a rule that none of its messages tells."""
        return feature in self._features

    def since(self, version: str) -> bool:
        """Whether the release that was read is ``version`` or newer."""
        return self.read >= _version(version)

    def has(self, key: str) -> bool:
        """Whether the release can print this message."""
        return key in self._messages

    def text(self, key: str, values: Mapping[str, Any]) -> str:
        """The message with its holes filled; lists print as the release's own literals do."""
        message = self._messages[key]
        if not message.holes:
            return message.text
        if message.lists:
            values = ChainMap(message.lists, values)  # type: ignore[arg-type]
        return message.text.format_map(values)

    def kind(self, key: str) -> str:
        """The exception's class name, ``warning`` for a message that only warns."""
        return self._messages[key].kind

    def members(self, key: str) -> tuple[Any, ...]:
        """The values that the message's condition lets through."""
        return self._messages[key].members

    def listed(self, key: str, name: str) -> tuple[Any, ...]:
        """A list that the message prints, by the release's own name of it."""
        return tuple(self._messages[key].lists[name])

    def majors(self, key: str) -> tuple[int, ...]:
        """The compute capability majors that the message's condition lets through."""
        return self._messages[key].majors

    def sets(self, key: str, setting: str) -> Any:
        """What the rule with this message makes of a setting."""
        return self._messages[key].sets[setting]

    def page(self, key: str) -> int:
        """The page size that the rule with this message sets."""
        return int(self.sets(key, "page_size"))

    @property
    def graph_rules(self) -> list[str]:
        """The rules that turn the breakable prefill graph off, by the names it prints, in order."""
        return self.data.get("graph_rules", [])  # type: ignore[no-any-return]

    @property
    def aliases(self) -> dict[str, str]:
        """Deprecated backend names and the ones they stand for."""
        return self.data.get("aliases", {})  # type: ignore[no-any-return]

    def place(self, key: str) -> str:
        """The release's function that says the message, empty where there is none."""
        message = self._messages.get(key)
        return message.place if message else ""

    def architectures(self, name: str) -> list[str]:
        """A list of architectures, empty where the release has none by that name."""
        return list(self.data["architectures"].get(name, []))

    def lists(self, name: str) -> bool:
        """Whether the release has a list of architectures by that name."""
        return name in self._lists

    def among(self, name: str, architecture: str) -> bool:
        """Whether the architecture stands in one of the release's lists."""
        return architecture in self._lists.get(name, ())

    def choices(self, name: str) -> list[Any]:
        """A list of choices, of backends for example."""
        return list(self.data["choices"].get(name, []))

    def served_as(self, architecture: str) -> str:
        """The architecture whose class serves this one."""
        if architecture == _V32 and not self.among("deepseek", _V32):
            return "DeepseekV3ForCausalLM"  # older releases rewrite the config before they read it
        return _SERVED_AS.get(architecture, architecture)

    def hook(
        self, architecture: str, was_set: Literal["nothing", "split", "base"], major: int
    ) -> dict[str, Any]:
        """What the architecture's hook sets on this SM, given what the user set."""
        key = (architecture, was_set, major)
        known = self._hooks.get(key)
        if known is None:
            known = self._hooks[key] = {}
            for row in self.data["hooks"].get(architecture, ()):
                if row["set"] == was_set and major in row["majors"]:
                    known |= row["gives"]
        return known

    def option(self, name: str) -> dict[str, Any]:
        """One command line option by destination or by spelling.

        Raises InputError naming the nearest ones where the release has no such option.
        """
        found = self.options.get(name)
        if found is None:
            found = self.options.get(name.lstrip("-").replace("-", "_"))
        if found is None:
            raise InputError(
                f"sglang {self.read} has no option {name!r}",
                hint=nearest(name.lstrip("-").replace("-", "_"), self.options),
            )
        return found


def rules(spec: str) -> Rules:
    """The rules of the release that answers for a spec such as ``sglang==0.5.23``."""
    return _rules(release(spec))


@cache
def _rules(asked: Release) -> Rules:
    data = asked.data()
    assert asked.read is not None
    options: dict[str, dict[str, Any]] = {}
    for entry in data["flags"]:
        for name in (entry["dest"], *(f.lstrip("-").replace("-", "_") for f in entry["flags"])):
            options.setdefault(name, entry)
    return Rules(asked.asked, asked.read, asked.note, data, options, _defaults(data))


def field_of(option: dict[str, Any]) -> str:
    """The setting that an option fills."""
    dest = str(option["dest"])
    return _FIELDS.get(dest, dest)


def _defaults(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for option in data["flags"]:
        found.setdefault(field_of(option), option.get("default"))
    found.setdefault("disaggregation_mode", "null")
    found.setdefault("attn_dp_size", None)
    return found


@cache
def _version(text: str) -> Version:
    return Version(text)
