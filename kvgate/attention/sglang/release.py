"""One SGLang release, as its catalogue entry says it: texts, lists, hooks, options."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
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
class Rules:
    """What the entry of one release says, by the keys that kvgate's rules use.

    A rule whose message the release doesn't have isn't in that release: `has` is its gate.
    """

    version: Version
    read: Version
    note: str
    data: dict[str, Any]
    options: dict[str, dict[str, Any]]
    defaults: dict[str, Any]

    def does(self, feature: str) -> bool:
        """Whether the release has a turn of a rule that none of its messages tells."""
        return feature in self.data.get("features", ())

    def since(self, version: str) -> bool:
        """Whether the release that was read is ``version`` or newer."""
        return self.read >= Version(version)

    def has(self, key: str) -> bool:
        """Whether the release can print this message."""
        return key in self.data["texts"]

    def text(self, key: str, values: dict[str, Any]) -> str:
        """The message with its holes filled; lists print as the release's own literals do."""
        entry = self.data["texts"][key]
        lists = {
            name: tuple(value) if name.startswith("_") else value
            for name, value in entry.get("lists", {}).items()
        }
        return str(entry["text"]).format(**(values | lists))

    def kind(self, key: str) -> str:
        """The exception's class name, ``warning`` for a message that only warns."""
        return str(self.data["texts"][key]["kind"])

    def members(self, key: str) -> list[Any]:
        """The values that the message's condition lets through."""
        return list(self.data["texts"][key].get("members", []))

    def majors(self, key: str) -> list[int]:
        """The compute capability majors that the message's condition lets through."""
        return list(self.data["texts"][key].get("majors", []))

    def sets(self, key: str, setting: str) -> Any:
        """What the rule with this message makes of a setting."""
        return self.data["texts"][key]["sets"][setting]

    def page(self, key: str) -> int:
        """The page size that the rule with this message sets."""
        return int(self.sets(key, "page_size"))

    @property
    def graph_rules(self) -> list[str]:
        """The rules that turn the breakable prefill graph off, by the names it prints, in order."""
        return list(self.data.get("graph_rules", []))

    @property
    def aliases(self) -> dict[str, str]:
        """Deprecated backend names and the ones they stand for."""
        return dict(self.data.get("aliases", {}))

    def place(self, key: str) -> str:
        """The release's function that says the message, empty where there is none."""
        return str(self.data["texts"].get(key, {}).get("in", ""))

    def architectures(self, name: str) -> list[str]:
        """A list of architectures, empty where the release has none by that name."""
        return list(self.data["architectures"].get(name, []))

    def among(self, name: str, architecture: str) -> bool:
        """Whether the architecture stands in one of the release's lists."""
        return architecture in self.data["architectures"].get(name, ())

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
        found: dict[str, Any] = {}
        for row in self.data["hooks"].get(architecture, ()):
            if row["set"] == was_set and major in row["majors"]:
                found |= row["gives"]
        return found

    def option(self, name: str) -> dict[str, Any]:
        """One command line option by destination or by spelling.

        Raises InputError naming the nearest ones where the release has no such option.
        """
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
