"""Say which names each vLLM release knows: model architectures and quantisation methods.

    python scripts/read_vllm_names.py 0.32.0 0.33.0 [--cache FOLDER]

Give all releases that count, oldest first or not: the catalogue entry says for each name the first
and the last of them that has it, so that a release in between that isn't named counts as one that
wasn't read. The files are read as syntax trees; nothing is imported.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from packaging.version import Version

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.read_vllm_release import unpack

__all__ = ["architectures", "entry", "methods"]

ENTRY = Path(__file__).resolve().parents[1] / "kvgate" / "catalog" / "vllm_names.json"
MODELS = "vllm/model_executor/models/registry.py"
METHODS = "vllm/model_executor/layers/quantization/__init__.py"


def main(arguments: list[str]) -> int:
    """Read the releases and write the entry."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="+", help="releases, such as 0.33.0")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "vllm-src")
    options = parser.parse_args(arguments)
    options.cache.mkdir(parents=True, exist_ok=True)
    read = {}
    for version in sorted(set(options.versions), key=Version):
        folder = unpack(version, options.cache)
        read[version] = {
            "architectures": set(architectures((folder / MODELS).read_text(encoding="utf-8"))),
            "methods": set(methods((folder / METHODS).read_text(encoding="utf-8"))),
        }
        print(version, *(f"{len(names)} {kind}" for kind, names in read[version].items()))
    ENTRY.write_text(json.dumps(entry(read), indent=1) + "\n", encoding="utf-8")
    return 0


def entry(read: Mapping[str, Mapping[str, set[str]]]) -> dict[str, object]:
    """The catalogue entry: for each name, ``first`` or ``first last`` where it went again."""
    versions = list(read)
    found: dict[str, object] = {
        "schema_version": 1,
        "source": f"{MODELS} and {METHODS} of the wheels of these releases",
        "releases": versions,
    }
    for kind in ("architectures", "methods"):
        spans = {}
        for name in sorted(set().union(*(names[kind] for names in read.values()))):
            having = [v for v in versions if name in read[v][kind]]
            spans[name] = having[0] if having[-1] == versions[-1] else f"{having[0]} {having[-1]}"
        found[kind] = spans
    return found


def architectures(text: str) -> Iterator[str]:
    """The keys of the registry's tables: each maps an architecture to its module and class."""
    for statement in ast.parse(text).body:
        table = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if not isinstance(table, ast.Dict):
            continue
        for key, value in zip(table.keys, table.values, strict=True):
            # Tables of models that went map to a version, not to a pair.
            if isinstance(key, ast.Constant) and isinstance(value, ast.Tuple):
                yield str(key.value)


def methods(text: str) -> Iterator[str]:
    """The members of ``QuantizationMethods``, which the flag is checked against."""
    for statement in ast.parse(text).body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if [ast.unparse(t) for t in targets] == ["QuantizationMethods"] and statement.value:
            yield from (
                str(node.value)
                for node in ast.walk(statement.value)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
