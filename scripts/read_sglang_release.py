"""Write the catalogue entry of one SGLang release from the release's own Python files.

    python scripts/read_sglang_release.py 0.5.23 --source FOLDER_OR_WHEEL

``--source`` is a wheel of the release, or a folder that holds its ``sglang`` package; without it
the wheel is downloaded with pip (nothing is installed, built or imported). The files are read as
syntax trees. A second run changes nothing.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.sglang_reader.flags import options
from scripts.sglang_reader.hooks import SMS, hook, registered
from scripts.sglang_reader.source import Text, Tree, constant, load, name_of, texts
from scripts.sglang_reader.texts import ANCHORS, FEATURES, MAJORS, MEMBERS, OLDER, SETS, SETTINGS

ENTRIES = Path(__file__).resolve().parents[1] / "kvgate" / "catalog" / "engines" / "sglang"
_FILES = (
    "arg_groups/choices.py",
    "configs/model_config.py",
    "server_args.py",
    "arg_groups/",
    "layers/attention/attention_registry.py",
    "mem_cache/kv_cache_dtype.py",
    "model_executor/model_runner.py",
    *(f"layers/attention/{name}_backend.py" for name in (
        "dsa", "nsa", "deepseek_v4", "flashattention", "flashinfer", "trtllm_mha", "hpc_ops",
    )),
    "layers/attention/minicpm/backend.py",
    "speculative/draft_utils.py",
)  # fmt: skip
# Module-level lists of architectures and of backends: our name, and the release's (newest first).
_LISTS = {
    "multimodal": ("multimodal_model_archs",),
    "multimodal_graph": ("multimodal_breakable_cuda_graph_supported_model_archs",),
    "multimodal_piecewise": ("multimodal_piecewise_cuda_graph_supported_model_archs",),
    "mamba_radix": ("_MAMBA_RADIX_CACHE_ARCHS",),
    "mamba_extra_buffer": ("_MAMBA_EXTRA_BUFFER_ARCHS",),
    "deepseek": ("_DEEPSEEK_FAMILY_ARCHS",),
    "sinks": ("SWA_SINK_ARCHS",),
    "mimo_v2": ("MIMO_V2_MODEL_ARCHS",),
}
_CHOICES = {
    "attention_backend": "ATTENTION_BACKEND_CHOICES",
    "deterministic": "DETERMINISTIC_ATTENTION_BACKEND_CHOICES",
    "deterministic_radix": "RADIX_SUPPORTED_DETERMINISTIC_ATTENTION_BACKEND",
    "draft_attention_backend": "DRAFT_ATTENTION_BACKEND_CHOICES",
}
_DRAFT = {"create_decode_backend": "draft_decode", "create_draft_extend_backend": "draft_extend"}
_BREAKABLE = "disable_breakable_cudagraph_if_incompatible"
# Lists inside a function: our name, the functions that may hold it, the name bound to it there.
_LOCAL = {
    "multimodal_off": (("__init__",), "mm_disabled_models"),
    "hybrid_swa": (("is_hybrid_swa_model",), "hybrid_swa_archs"),
    "encoder_decoder": (("is_encoder_decoder_model",), "models"),
}


def main() -> int:
    """Read one release and write its entry; prints what it could not find."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("version")
    parser.add_argument("--source", type=Path)
    parser.add_argument("--output", type=Path, default=ENTRIES)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = _package(asked.version, asked.source, Path(scratch))
        entry, missing = read(asked.version, root)
    target = asked.output / f"{asked.version}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(_dump(entry), encoding="utf-8")
    print(f"{target}: {len(entry['flags'])} options, {len(entry['texts'])} texts, "
          f"{len(entry['hooks'])} hooked architectures; texts not in this release: "
          f"{', '.join(missing) or 'none'}")  # fmt: skip
    return 0


def read(version: str, root: Path) -> tuple[dict[str, Any], list[str]]:
    """The entry of a release whose ``sglang/srt`` is ``root``, and the texts it doesn't have."""
    names: dict[str, Any] = {}
    trees = [load(root, path, names) for path in _paths(root)]
    # Again, now that every file's constants are known to all.
    trees = [load(root, tree.path, names) for tree in trees]
    said = [text for tree in trees for text in texts(tree, names)]
    found = {key: picked for key, anchor in ANCHORS.items() if (picked := _pick(anchor, said))}
    entry = {
        "engine": "sglang",
        "version": version,
        "source": f"sglang {version}, Python files of the release read as syntax trees",
        "aliases": _aliases(trees),
        "graph_rules": _graph_rules(trees),
        "features": _features(trees),
        "choices": _choices(trees, names),
        "architectures": _architectures(trees, names),
        "hooks": _hooks(trees, names),
        "texts": {key: _as_data(key, text) for key, text in sorted(found.items())},
        "flags": options([t.module for t in trees if _declares(t)], names),
    }
    return entry, sorted(set(ANCHORS) - set(found))


def _paths(root: Path) -> list[str]:
    found: list[str] = []
    for name in _FILES:
        inside = sorted((root / name).glob("**/*.py")) if name.endswith("/") else [root / name]
        found += [str(p.relative_to(root)) for p in inside if p.is_file()]
    return list(dict.fromkeys(found))


def _declares(tree: Tree) -> bool:
    return tree.path == "server_args.py" or tree.path.startswith("arg_groups/fields/")


def _pick(anchor: tuple[str, str], said: list[Text]) -> Text | None:
    kind, words = anchor
    return next(
        (t for t in said if words in t.text and (t.kind == "warning") == (kind == "warning")), None
    )


def _as_data(key: str, text: Text) -> dict[str, Any]:
    """The message, and what of its condition kvgate's rules read: nothing is written unread."""
    data: dict[str, Any] = {"kind": text.kind, "text": text.text, "lists": text.lists}
    if key.startswith(MEMBERS):
        data["members"] = text.members
    if key in MAJORS:
        data["majors"] = text.majors
    if key.startswith(SETS):
        data["sets"] = {k: v for k, v in (text.sets or {}).items() if k in SETTINGS}
    data["in"] = text.function
    return {name: value for name, value in data.items() if value not in (None, {}, [])}


def _aliases(trees: list[Tree]) -> dict[str, str]:
    """Deprecated backend names that the release renames, with what they become."""
    for tree in trees:
        for node in ast.walk(tree.module):
            if isinstance(node, ast.FunctionDef) and node.name.endswith("handle_deprecated_args"):
                for item in ast.walk(node):
                    if isinstance(item, ast.Assign) and name_of(item.targets[0]) == "aliases":
                        return dict(sorted(ast.literal_eval(item.value).items()))
    return {}


def _graph_rules(trees: list[Tree]) -> list[str]:
    """The names of the rules that turn the breakable prefill graph off, in the release's order."""
    for tree in trees:
        for node in ast.walk(tree.module):
            if isinstance(node, ast.FunctionDef) and node.name.lstrip("_") == _BREAKABLE:
                for item in ast.walk(node):
                    if isinstance(item, ast.Assign) and isinstance(item.value, ast.List):
                        pairs = [p.elts[0] for p in item.value.elts if isinstance(p, ast.Tuple)]
                        return [
                            str(p.value) for p in pairs if isinstance(p, ast.Constant) and p.value
                        ]
    return []


def _choices(trees: list[Tree], names: dict[str, Any]) -> dict[str, list[str]]:
    """Lists of backends: the module's own, and what a gated delta net hybrid takes on Blackwell."""
    found = {ours: list(names[theirs]) for ours, theirs in _CHOICES.items() if theirs in names}
    branches = (
        node
        for tree in trees
        for wrapper in ast.walk(tree.module)
        if isinstance(wrapper, ast.FunctionDef) and wrapper.name == "attn_backend_wrapper"
        for node in ast.walk(wrapper)
        if isinstance(node, ast.If) and "sm120" in ast.unparse(node.test)
    )
    found |= _draft(trees)
    for node in branches:
        for ours, body in (("hybrid_gdn_sm120", node.body), ("hybrid_gdn", node.orelse)):
            for item in body:
                if isinstance(item, ast.Assign) and name_of(item.targets[0]) == "allowed":
                    found[ours] = sorted(constant(item.value, names) or ())
    return dict(sorted(found.items()))


def _draft(trees: list[Tree]) -> dict[str, list[str]]:
    """The backends that a draft model decodes and prefills with, by the names of their table."""
    found = {}
    for tree in trees:
        for node in ast.walk(tree.module):
            ours = _DRAFT.get(node.name) if isinstance(node, ast.FunctionDef) else None
            for item in ast.walk(node) if ours else ():
                if isinstance(item, ast.Assign) and name_of(item.targets[0]) == "backend_map":
                    assert isinstance(item.value, ast.Dict)
                    keys = [k.value for k in item.value.keys if isinstance(k, ast.Constant)]
                    found[str(ours)] = [str(key) for key in keys]
    return found


def _features(trees: list[Tree]) -> list[str]:
    """Which turns of a rule, told by words of a function's code, the release has."""
    code = [
        (node.name, ast.unparse(node))
        for tree in trees
        for node in ast.walk(tree.module)
        if isinstance(node, ast.FunctionDef)
    ]
    return sorted(
        {
            key
            for key, (function, words) in [*FEATURES.items(), *OLDER.items()]
            if any(function in name and words in text for name, text in code)
        }
    )


def _architectures(trees: list[Tree], names: dict[str, Any]) -> dict[str, list[str]]:
    found = {
        ours: sorted(set(names[theirs]))
        for ours, spelled in _LISTS.items()
        for theirs in spelled
        if theirs in names
    }
    for tree in trees:
        for node in ast.walk(tree.module):
            if isinstance(node, ast.FunctionDef):
                _from_function(node, names | tree.constants, found)
    return dict(sorted(found.items()))


def _from_function(
    node: ast.FunctionDef, names: dict[str, Any], found: dict[str, list[str]]
) -> None:
    if node.name in ("is_deepseek_dsa", "is_deepseek_nsa"):
        found["sparse_mla"] = sorted(s for s in _strings(node) if s[:1].isupper())
    elif node.name == "_support_mamba_cache_extra_buffer" and "mamba_extra_buffer" not in found:
        found["mamba_extra_buffer"] = sorted(s for s in _strings(node) if s[:1].isupper())
    elif node.name == "_derive_model_shapes":
        found["mla"] = sorted(
            {s for branch in ast.walk(node) if isinstance(branch, ast.If)
             if _assigns_mla(branch.body) for s in _strings(branch.test) if s[:1].isupper()}
        )  # fmt: skip
    elif node.name in ("_handle_deterministic_inference", "_deterministic_is_deepseek_model"):
        found["deterministic_mla"] = sorted(
            s for s in _strings(node) if s[:1].isupper() and "For" in s and " " not in s
        )
    elif node.name == "_handle_model_specific_adjustments" and "deepseek" not in found:
        family = next(
            (v for n in ast.walk(node) if isinstance(n, ast.List)
             if (v := constant(n, names)) and "DeepseekV3ForCausalLM" in v), None,
        )  # fmt: skip
        if family:
            found["deepseek"] = sorted(family)
    for ours, (functions, bound) in _LOCAL.items():
        if node.name not in functions:
            continue
        for item in ast.walk(node):
            if isinstance(item, ast.Assign) and name_of(item.targets[0]) == bound:
                value = constant(item.value, names)
                if isinstance(value, (list, tuple)):
                    found[ours] = sorted(set(value))


def _assigns_mla(body: list[ast.stmt]) -> bool:
    return any("AttentionArch.MLA" in ast.unparse(n) for n in body if isinstance(n, ast.Assign))


def _strings(node: ast.AST) -> set[str]:
    return {
        n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }


def _hooks(trees: list[Tree], names: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    functions: list[tuple[tuple[str, ...], ast.FunctionDef]] = []
    helpers = _defaults(trees)
    for tree in trees:
        functions += registered(tree.module)
        for node in ast.walk(tree.module):
            if (
                isinstance(node, ast.FunctionDef)
                and node.name == "_handle_model_specific_adjustments"
            ):
                named = {
                    s for s in _strings(node) if s[:1].isupper() and "For" in s and s.isidentifier()
                }
                functions.append((tuple(sorted(named | {"Llama4ForConditionalGeneration"})), node))
    found: dict[str, dict[str, dict[int, dict[str, Any]]]] = {}
    for architectures, function in functions:
        for architecture in architectures:
            for was_set in ("nothing", "split", "base"):
                for sm in SMS:
                    gives = hook(function, architecture, sm, was_set, names, helpers)
                    if gives:
                        into = found.setdefault(architecture, {}).setdefault(was_set, {})
                        into[sm[0]] = into.get(sm[0], {}) | gives
    return {name: _grouped(by) for name, by in sorted(found.items())}


def _defaults(trees: list[Tree]) -> dict[str, ast.FunctionDef]:
    """Functions in files of their own that set one architecture's defaults."""
    return {
        node.name: node
        for tree in trees
        for node in tree.module.body
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("apply_")
        and node.name.endswith("_defaults")
    }


def _grouped(by: dict[str, dict[int, dict[str, Any]]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for was_set, majors in by.items():
        for major, gives in majors.items():
            for row in rows:
                if row["set"] == was_set and row["gives"] == gives:
                    row["majors"].append(major)
                    break
            else:
                rows.append({"set": was_set, "majors": [major], "gives": gives})
    return rows


def _package(version: str, source: Path | None, scratch: Path) -> Path:
    if source is None:
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", str(scratch)]
        subprocess.run([*pip, f"sglang=={version}"], check=True)
        source = next(scratch.glob("sglang-*.whl"))
    if source.is_dir():
        return source / "sglang" / "srt"
    with zipfile.ZipFile(source) as wheel:
        wheel.extractall(scratch / "wheel", [n for n in wheel.namelist() if n.endswith(".py")])
    return scratch / "wheel" / "sglang" / "srt"


def _dump(entry: dict[str, Any]) -> str:
    """JSON, one item a line in the long tables, so that two releases can be compared by eye."""
    lines = ["{"]
    keys = list(entry)
    for key in keys:
        value, end = entry[key], "," if key != keys[-1] else ""
        if isinstance(value, dict):
            rows = [
                f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items()
            ]
            lines += [f" {json.dumps(key)}: {{", ",\n".join(rows), f" }}{end}"]
        elif isinstance(value, list):
            rows = [f"  {json.dumps(v, ensure_ascii=False)}" for v in value]
            lines += [f" {json.dumps(key)}: [", ",\n".join(rows), f" ]{end}"]
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}{end}")
    return "\n".join([*lines, "}"]) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
