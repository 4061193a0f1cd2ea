"""Which model types an installed transformers and a vLLM release have that kvgate refuses.

    python scripts/ask_families.py [--vllm FOLDER] [--dump FOLDER] [--json]

Runs where transformers is installed (torch is not needed). Makes the default configuration of each
class that transformers lists for causal or multimodal generation, and hands it to kvgate as if it
were a ``config.json``. ``--vllm`` is the ``vllm`` folder of a release (unpacked, not installed):
its registry says which of these classes it serves, its own configuration classes are asked too, and
the architectures that have no class in either are listed, because nothing here can ask about them.
``--dump`` writes the configurations that were asked, one file a type.

Exits with 1 where a type that can be served is refused other than by name, or reading one crashes.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import json
import logging
import sys
import types
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvgate.architecture import parse
from kvgate.architecture.table import UNSIZED
from kvgate.errors import InputError

# What transformers calls its tables of classes that generate text.
_TABLES = (
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES",
)
# vLLM's own: only these generate; the others embed, rank or classify.
_SERVED = ("_TEXT_GENERATION_MODELS", "_MULTIMODAL_MODELS", "_TRANSFORMERS_SUPPORTED_MODELS")


@dataclass(frozen=True)
class Asked:
    """One type: who has it, the classes that run it, and what kvgate answered.

    ``answer`` is ``read``, ``named`` (refused, with the reason), ``unknown``, ``refused`` (known,
    but this configuration is not read) or ``crashed``.
    """

    model_type: str
    origin: str
    classes: tuple[str, ...]
    served: bool
    answer: str
    said: str


def ask(config: Mapping[str, Any], model_type: str) -> tuple[str, str]:
    """kvgate's answer to one configuration, and its words."""
    try:
        found = parse(config, id=model_type)
    except InputError as error:
        said = str(error)
        if any(f"{name!r} is not supported" in said for name in UNSIZED):
            return "named", said
        return ("unknown" if "unknown " in said and "model_type" in said else "refused"), said
    except Exception as error:
        return "crashed", repr(error)
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.kinds().items())
    return "read", kinds


def main(arguments: list[str] | None = None) -> int:
    """Ask, print, and say by the exit code whether something was refused that should not be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--vllm", type=Path, help="the vllm folder of a release")
    parser.add_argument("--dump", type=Path, help="write the configurations into this folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object a type")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    served = served_by(options.vllm) if options.vllm else {}
    asked: list[Asked] = []
    seen: set[str] = set()
    sources = [configurations()]
    if options.vllm:
        sources.append(vllm_configurations(options.vllm))
    for source in sources:
        for origin, model_type, config in source:
            names = tuple(config.get("architectures") or ())
            seen.update(names)
            answer, said = ask(config, model_type)
            known = any(name in served for name in names) or origin == "vllm"
            asked.append(Asked(model_type, origin, names, known, answer, said))
            if options.dump:
                options.dump.mkdir(parents=True, exist_ok=True)
                text = json.dumps(config, default=str)
                (options.dump / f"{origin}--{model_type}.json").write_text(text, encoding="utf-8")
    _print(asked, sorted(set(served) - seen), as_json=options.json)
    bad = ("unknown", "refused", "crashed")
    return int(any(one.answer == "crashed" or (one.served and one.answer in bad) for one in asked))


def _print(asked: list[Asked], classless: list[str], *, as_json: bool) -> None:
    if as_json:
        for one in asked:
            print(json.dumps(one.__dict__))
        return
    for served in (True, False):
        who = "vLLM serves" if served else "only transformers has"
        for answer in ("crashed", "refused", "unknown", "named", "read"):
            rows = [one for one in asked if one.served is served and one.answer == answer]
            print(f"{who}, {answer}: {len(rows)}")
            for one in rows if answer != "read" else ():
                print(f"  {one.model_type}: {one.said}")
    if classless:
        print(f"served, and without a configuration class to ask: {len(classless)}")
        print("  " + " ".join(classless))


def configurations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(``transformers``, type, configuration) of each class that generates text."""
    transformers = importlib.import_module("transformers")
    auto = importlib.import_module("transformers.models.auto.modeling_auto")
    classes: dict[str, Any] = {}
    for table in reversed(_TABLES):
        classes.update(getattr(auto, table, {}))
    for model_type, names in sorted(classes.items()):
        try:
            config = transformers.CONFIG_MAPPING[model_type]().to_dict()
        except Exception as error:
            print(f"{model_type}: transformers makes no default: {error!r:.120}", file=sys.stderr)
            continue
        config["architectures"] = [names] if isinstance(names, str) else list(names)
        yield "transformers", model_type, config


def served_by(vllm: Path) -> dict[str, str]:
    """Architecture -> module, of the tables of a release that generate text."""
    path = vllm / "model_executor" / "models" / "registry.py"
    found: dict[str, str] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Dict):
            continue
        if getattr(node.targets[0], "id", "") not in _SERVED:
            continue
        for key, value in zip(node.value.keys, node.value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(value, ast.Tuple):
                found[str(key.value)] = str(getattr(value.elts[0], "value", ""))
    return found


def vllm_configurations(vllm: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(``vllm``, type, configuration) of a release's own classes that have layers."""
    sys.meta_path.insert(0, _Hollow(vllm))
    package = importlib.import_module("vllm.transformers_utils.configs")
    done: set[str] = set()
    for name in sorted(getattr(package, "_CLASS_TO_MODULE", {})):
        try:
            made = getattr(package, name)()
            config = made.to_dict()
        except Exception as error:
            print(f"{name}: vLLM's class makes no default: {error!r:.120}", file=sys.stderr)
            continue
        model_type = str(config.get("model_type") or getattr(made, "model_type", "") or "")
        text = any(config.get(key) for key in ("text_config", "llm_config", "language_config"))
        if not model_type or model_type in done or not (text or "num_key_value_heads" in config):
            continue
        done.add(model_type)
        yield "vllm", model_type, config


class _Hollow(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a release's configuration modules without running the packages around them.

    A package's ``__init__`` would import torch and the engine; the classes need neither. ``torch``
    itself and the two helpers that they name are stood in for by empty modules.
    """

    def __init__(self, vllm: Path) -> None:
        self._folder = vllm
        self._hollow = {"vllm", "vllm.transformers_utils", "vllm.models"}
        self._empty = {"torch", "vllm.logger", "vllm.transformers_utils.utils"}

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Ours, or None for what Python finds by itself."""
        parent = fullname.rpartition(".")[0]
        model = parent == "vllm.models"
        if fullname in self._hollow or model:
            spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
            spec.submodule_search_locations = [str(self._folder.joinpath(*fullname.split(".")[1:]))]
            return spec
        if fullname in self._empty:
            return importlib.machinery.ModuleSpec(fullname, self)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        """An empty one that answers to every name."""
        return _Anything(spec.name) if spec.name in self._empty else None

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing runs."""


class _Anything(types.ModuleType):
    """A module whose every name is a logger: it can be called, and what it says is not heard."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: logging.getLogger("unheard")


if __name__ == "__main__":
    sys.exit(main())
