"""Other SGLang releases answer as their own argument resolution did."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from kvgate.attention.sglang import Model, Outcome, Query, resolve
from kvgate.catalog.engines import releases
from kvgate.errors import InputError

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
LLAMA = Model("LlamaForCausalLM", "llama", dtype="bfloat16")
NEXT = Model("Qwen3NextForCausalLM", "qwen3_next", state="gdn", dtype="bfloat16")
V32 = Model(
    "DeepseekV32ForCausalLM", "deepseek_v32", latent=True, index_topk=2048, quantization="fp8",
    dtype="bfloat16",
)  # fmt: skip


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _told(outcome: Outcome) -> dict[str, Any]:
    warnings = [_short(text) for text in outcome.warnings]
    if outcome.error is not None:
        told: dict[str, Any] = {"error": _short(outcome.error), "warn": warnings}
    else:
        kernels = outcome.sparse or (None, None)
        told = {
            "prefill": outcome.prefill,
            "decode": outcome.decode if outcome.decode != outcome.prefill else None,
            "page": outcome.page_size, "kv": outcome.kv_dtype, "warn": warnings,
            "rad": outcome.radix_off, "ov": outcome.overlap_off, "swa": outcome.hybrid_swa_off,
            "draft": outcome.draft, "moe": outcome.moe_runner, "lin": outcome.linear_decode,
            "mamba": outcome.mamba_strategy, "p": kernels[0], "d": kernels[1],
        }  # fmt: skip
    kept = {"kv"} if told.get("kv") == "auto" else set()
    return {k: v for k, v in told.items() if v not in (None, False, []) and k not in kept}


def test_sampled_rows_of_every_other_release_are_ours() -> None:
    lines = (GOLDEN / "sglang-releases.jsonl").read_text(encoding="utf-8").splitlines()
    header = json.loads(lines[0])
    models = {name: Model(**facts) for name, facts in header["models"].items()}
    asked: set[str] = set()
    for line in lines[1:]:
        version, name, sm, flags, came = json.loads(line)
        major, minor = map(int, sm.split("."))
        query = Query(
            models[name], (major, minor), f"sglang=={version}", flags, header["gpu_mib"][sm]
        )
        assert _told(resolve(query)) == came, (version, name, sm, flags)
        asked.add(version)
    assert asked == {str(v) for v in releases("sglang")}


def test_the_entries_are_what_the_script_wrote() -> None:
    folder = Path(__file__).resolve().parents[2] / "kvgate" / "catalog" / "engines" / "sglang"
    written = {
        path.stem: hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in folder.glob("*.json")
    }
    known = json.loads((GOLDEN / "sglang-entries.json").read_text(encoding="utf-8"))
    assert written == known, "run scripts/read_sglang_release.py and look at what changed"


def test_a_release_between_two_entries_is_answered_by_the_older_and_says_so() -> None:
    from kvgate.attention.sglang.release import rules

    assert "answered from 0.5.10" in rules("sglang==0.5.10.post1").note
    assert "newer than the newest" in rules("sglang==0.6.0").note
    assert rules("sglang==0.5.23").note == ""


@pytest.mark.parametrize("engine", ["sglang==0.4.9", "sglang==one", "sglong", "vllm-sglang"])
def test_a_release_that_is_not_known_is_refused(engine: str) -> None:
    with pytest.raises(InputError):
        resolve(Query(LLAMA, (9, 0), engine))


def test_sparse_mla_starts_in_bf16_on_hopper_and_fp8_on_blackwell() -> None:
    for version in ("0.5.10", "0.5.17", "0.5.23"):
        hopper = resolve(Query(V32, (9, 0), f"sglang=={version}"))
        blackwell = resolve(Query(V32, (10, 0), f"sglang=={version}"))
        assert hopper.kv_dtype in ("bf16", "bfloat16")
        assert blackwell.kv_dtype == "fp8_e4m3"
        assert hopper.page_size == blackwell.page_size == 64


def test_which_backends_a_gated_delta_net_takes_on_blackwell_moved_with_the_releases() -> None:
    def taken(version: str, sm: tuple[int, int], **flags: object) -> bool:
        return resolve(Query(NEXT, sm, f"sglang=={version}", flags)).stage != "registry"

    for version, expected in (("0.5.15", True), ("0.5.17", False), ("0.5.21", True)):
        assert taken(version, (10, 0), attention_backend="flashinfer") is expected
    for version, expected in (("0.5.15", True), ("0.5.17", False), ("0.5.23", False)):
        assert taken(version, (12, 0), attention_backend="fa4") is expected


def test_a_refusal_for_a_gated_delta_net_comes_only_after_the_weights() -> None:
    flags = {"attention_backend": "fa4"}
    outcome = resolve(Query(NEXT, (12, 0), "sglang==0.5.23", flags))
    assert outcome.error is not None
    assert "hybrid GDN models" in outcome.error
    assert "after the weights are loaded" in outcome.when


def test_a_release_without_moss_vl_s_rule_refuses_nothing_of_it() -> None:
    moss = Model("MossVLForConditionalGeneration", "moss_vl", dtype="bfloat16", multimodal=True)
    flags = {"attention_backend": "triton"}
    assert resolve(Query(moss, (9, 0), "sglang==0.5.10", flags)).error is None
    assert resolve(Query(moss, (9, 0), "sglang==0.5.11", flags)).error is not None
