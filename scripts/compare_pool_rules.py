"""Say what of a vLLM release's pool changed: KV specs, groups, pages, admission.

    python scripts/compare_pool_rules.py 0.32.0 0.33.0 [--diff]

Backends, gates and flags of a release are read by read_vllm_release.py. How it lays out its pool is
code in kvgate/kvcache/, so a person has to look; this says where. Both releases' files are read as
syntax trees (nothing is imported), and each class, method and function that is new, gone or does
something else is named with the module of kvgate that knows its rule. Comments, docstrings and
annotations don't count. Exit status 1 where anything changed.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.read_vllm_release import unpack

__all__ = ["Change", "changes", "definitions", "rules"]

# The files of the release that make its pool, and where kvgate has what they say.
FILES = {
    "v1/kv_cache_interface.py": "kvgate/kvcache/vllm_pages.py (bytes of a page)",
    "v1/core/kv_cache_utils.py": "kvgate/kvcache/grouping.py and packing.py (groups, blocks)",
    "v1/core/kv_cache_planning.py": "kvgate/kvcache/grouping.py and packing.py (groups, blocks)",
    "v1/core/kv_cache_config_builder.py": "kvgate/kvcache/grouping.py (groups)",
    "v1/core/single_type_kv_cache_manager.py": "kvgate/kvcache/admission.py (blocks of a request)",
}


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """What happened to a definition: ``new``, ``gone`` or ``changed``; ``diff`` shows how."""

    file: str
    name: str
    kind: str
    diff: str = ""


class _Bare(ast.NodeTransformer):
    """Without what has no effect on an answer: docstrings and annotations."""

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        return node


def definitions(source: str) -> dict[str, str]:
    """Each function, and each class with its fields, by name: its bare text. Methods stand alone.

    Raises SyntaxError where the source is no Python.
    """
    return dict(_within(ast.parse(source).body, ""))


def _within(body: list[ast.stmt], above: str) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{above}{node.name}", ast.unparse(_Bare().visit(node))
        elif isinstance(node, ast.ClassDef):
            inner = [n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
            yield from _within([*inner], f"{above}{node.name}.")
            node.body = [n for n in node.body if n not in inner] or [ast.Pass()]
            yield f"{above}{node.name}", ast.unparse(_Bare().visit(node))


def rules(folder: Path) -> dict[str, dict[str, str]]:
    """The definitions of a release by file; a file that it hasn't is left out."""
    return {
        name: definitions((folder / "vllm" / name).read_text(encoding="utf-8"))
        for name in FILES
        if (folder / "vllm" / name).is_file()
    }


def changes(
    older: Mapping[str, Mapping[str, str]], newer: Mapping[str, Mapping[str, str]]
) -> list[Change]:
    """What a newer release has otherwise than an older one, by file and name."""
    found = []
    # What went from one file to another as it was is no change of a rule.
    moved = _only(older, newer) & _only(newer, older)
    for file in FILES:
        old = {n: text for n, text in older.get(file, {}).items() if (n, text) not in moved}
        new = {n: text for n, text in newer.get(file, {}).items() if (n, text) not in moved}
        for name in sorted({*old, *new}):
            before, now = old.get(name, ""), new.get(name, "")
            if before == now:
                continue
            kind = "changed" if before and now else "new" if now else "gone"
            lines = difflib.unified_diff(
                before.splitlines(), now.splitlines(), "older", "newer", lineterm="", n=1
            )
            found.append(Change(file, name, kind, "\n".join(list(lines)[2:])))
    return found


def _only(
    these: Mapping[str, Mapping[str, str]], those: Mapping[str, Mapping[str, str]]
) -> set[tuple[str, str]]:
    """Name and text of what a file of these has and the same file of those hasn't."""
    return {
        (name, text)
        for file, own in these.items()
        for name, text in own.items()
        if those.get(file, {}).get(name) != text
    }


def main(arguments: list[str] | None = None) -> int:
    """Compare two releases; 1 where anything changed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("older", metavar="OLDER")
    parser.add_argument("newer", metavar="NEWER")
    parser.add_argument("--diff", action="store_true", help="show how each changed")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "vllm-src")
    options = parser.parse_args(arguments)
    options.cache.mkdir(parents=True, exist_ok=True)
    two = [rules(unpack(version, options.cache)) for version in (options.older, options.newer)]
    found = changes(*two)
    for file, where in FILES.items():
        here = [change for change in found if change.file == file]
        if here:
            print(f"\nvllm/{file}: look at {where}")
        for change in here:
            print(f"  {change.kind:8} {change.name}")
            if options.diff and change.kind == "changed":
                print("\n".join(f"      {line}" for line in change.diff.splitlines()))
    print(f"\n{len(found)} definitions differ between {options.older} and {options.newer}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
