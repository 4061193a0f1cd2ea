"""What the commands print as JSON is what its published schema says, key for key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import jsonschema
import pytest
from click.testing import CliRunner

from kvgate.cli.commands import COMMANDS, cli

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "schema" / "cli.schema.json").read_text(encoding="utf-8"))
FORCED = "vllm serve google/gemma-4-31B-it --attention-backend FLASHINFER"
LOG = "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig()"
SGLANG = "python -m sglang.launch_server --model-path "

CASES: dict[str, list[list[str]]] = {
    "size": [
        ["size", "Qwen/Qwen3-8B"],
        ["size", "google/gemma-4-31B-it", "--gpu", "H100"],
        ["size", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "H200", "--tp", "8"],
        ["size", "deepseek-ai/DeepSeek-V3.2", "--kv-cache-memory", "40"],
        ["size", "deepseek-ai/DeepSeek-V4-Flash", "--gpu", "H200", "--tp", "8",
         "--engine", "sglang==0.5.23"],
        ["size", "Zyphra/Zamba2-7B", "--kv-cache-memory", "40"],
        ["size", "MiniMaxAI/MiniMax-M1-80k", "--kv-cache-memory", "40"],
        ["size", "moonshotai/Kimi-Linear-48B-A3B"],
        ["size", "ai21labs/AI21-Jamba-1.5-Mini"],
        ["size", "LiquidAI/LFM2.5-VL-1.6B"],
        ["size", "google/gemma-4-E2B-it"],
        ["size", "openai/gpt-oss-20b", "--gpu", "H100", "--engine", "sglang==0.5.23"],
        ["size", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "H200", "--tp", "4",
         "--engine", "sglang==0.5.23"],
        ["size", "Qwen/Qwen3-8B", "--gpu", "H100", "--engine", "llama.cpp"],
        ["size", "Qwen/Qwen3-8B", "--gpu", "H100", "--engine", "tensorrt-llm"],
    ],
    "backends": [
        ["backends", "google/gemma-4-31B-it", "--gpu", "RTX PRO 6000"],
        ["backends", "openai/gpt-oss-20b", "--gpu", "A100 80GB"],
        ["backends", "deepseek-ai/DeepSeek-V3", "--gpu", "H100", "--kv-cache-dtype", "fp8",
         "--attention-backend", "TRITON_MLA", "--engine", "vllm==0.17.0"],
        ["backends", "Qwen/Qwen3-8B", "--gpu", "A100 80GB", "--kv-cache-dtype", "fp8_e4m3",
         "--attention-backend", "TRITON_ATTN"],
        ["backends", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "H100"],
        ["backends", "Qwen/Qwen3-8B", "--gpu", "H100", "--engine", "sglang==0.5.23"],
    ],
    "check": [
        ["check", FORCED, "--gpu", "RTX PRO 6000", "--engine", "vllm==0.19.1"],
        ["check", "vllm serve Qwen/Qwen3-8B", "--gpu", "H100"],
        ["check", "vllm serve a/model-nobody-knows"],
        ["check", f"{SGLANG}Qwen/Qwen3-8B", "--gpu", "H100", "--engine", "sglang==0.5.23"],
    ],
    "diagnose": [["diagnose", "-"]],
    "search": [["search", "sm120 mla"]],
    "show": [["show", "flashinfer-rejects-large-head-dim"]],
    "graph": [["graph", "--format", "json"]],
    "findings": [["lint", "--format", "json"], ["stale", "--format", "json"],
                 ["claims", "--format", "json", "flashinfer-rejects-large-head-dim"]],
}  # fmt: skip


@cache
def output(*arguments: str) -> Any:
    plain = arguments[0] in ("graph", "lint", "stale", "claims")
    command = [*arguments, *([] if plain else ["--json"])]
    done = CliRunner().invoke(cli, command, input=LOG, prog_name="kvgate")
    assert done.exit_code in (0, 1), done.output
    return json.loads(done.stdout)


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})


def objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, list):
        for item in node:
            yield from objects(item)
    elif isinstance(node, dict):
        if "properties" in node:
            yield node
        for item in node.values():
            yield from objects(item)


@pytest.mark.parametrize(
    ("name", "arguments"), [(n, a) for n, cases in CASES.items() for a in cases], ids=str
)
def test_a_command_prints_what_the_schema_says(name: str, arguments: list[str]) -> None:
    found = [
        f"{list(e.path)}: {e.message}" for e in validator(name).iter_errors(output(*arguments))
    ]
    assert not found, "\n".join(found)


def test_it_is_a_schema_and_each_key_of_it_is_described() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for node in objects(SCHEMA["$defs"]):
        assert node["description"].endswith("."), node["description"]
        for key, value in node["properties"].items():
            assert value.get("description", "").strip().endswith("."), key


def test_every_command_that_prints_json_is_in_it() -> None:
    import click

    printing = {
        name
        for name in COMMANDS
        if (command := cli.get_command(click.Context(cli), name)) is not None
        and {"--json", "--format"} & {o for p in command.params for o in p.opts}
    }
    assert printing == (set(CASES) - {"findings"}) | {"lint", "claims", "stale"}
    assert {r["$ref"].rpartition("/")[2] for r in SCHEMA["oneOf"]} == set(CASES)


# Keys of layers and pools that no released model or engine of the cases above shows.
RARE = {"shares_indexer", "state_dtype", "chunk", "heads", "inner", "width", "kernel", "version",
        "row", "hidden"}  # fmt: skip


def test_every_field_of_every_kind_of_layer_is_in_it() -> None:
    from kvgate.architecture import layers

    known = SCHEMA["$defs"]["layer"]["properties"]
    kinds = [k for k in get_args(layers.Layer) if k is not layers.LayerGroup]
    assert kinds
    lost = {f.name for kind in kinds for f in fields(kind)} - set(known)
    assert not lost
    told = known["kind"]["description"]
    for kind in kinds:
        names = (
            get_args(get_type_hints(kind)["kind"])
            if "kind" in {f.name for f in fields(kind)}
            else (kind.kind,)
        )
        assert all(f"`{name}`" in told for name in names), names


@pytest.mark.parametrize("name", [n for n in CASES if n != "show"])
def test_no_key_of_it_is_one_that_no_command_prints(name: str) -> None:
    def keys(node: Any) -> set[str]:
        if isinstance(node, list):
            return {k for item in node for k in keys(item)}
        if isinstance(node, dict):
            return set(node) | {k for item in node.values() for k in keys(item)}
        return set()

    def promised(part: dict[str, Any]) -> set[str]:
        found = {k for node in objects(part) for k in node["properties"]}
        text = json.dumps(part)
        for other in SCHEMA["$defs"]:
            if f"#/$defs/{other}" in text and other not in CASES:
                found |= promised(SCHEMA["$defs"][other])
        return found

    printed = {k for arguments in CASES[name] for k in keys(output(*arguments))}
    lost = promised(SCHEMA["$defs"][name]) - printed
    assert not lost - RARE
