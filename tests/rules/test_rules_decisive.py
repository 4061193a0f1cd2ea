"""What parts a hit from a miss is found, is the rule's condition, and is never guessed."""

from __future__ import annotations

import pytest

from kvgate.errors import InputError
from kvgate.manifests import read_deployments
from kvgate.plan import Plan, plan
from kvgate.rules.decisive import decisive

QWEN, V3 = "vllm serve Qwen/Qwen3-8B", "vllm serve deepseek-ai/DeepSeek-V3"


def made(run: str, gpu: str = "H100", engine: str = "vllm==0.33.0") -> Plan:
    (one,) = read_deployments(run, "<command line>", engine=engine)
    return plan(one, gpu=gpu or None)


@pytest.mark.parametrize(
    ("hit", "miss", "fails"),
    [
        (made(f"{QWEN} --block-size 64"), made(QWEN), 'plan.get("block_size") != 64'),
        (made(f"{QWEN} --enforce-eager"), made(QWEN), 'plan.get("enforce_eager") is not True'),
        (made(QWEN), made(f"{QWEN} --block-size 64"), 'plan.given("block_size")'),
        (made(f"{QWEN} --max-model-len 32768"), made(f"{QWEN} --max-model-len 8192"),
         '(plan.get("max_model_len") or 0) < 32768'),
        (made(f"{QWEN} --max-model-len 8192"), made(f"{QWEN} --max-model-len 32768"),
         '(plan.get("max_model_len") or 8193) > 8192'),
        (made(QWEN), made(QWEN, "A100 80GB"),
         'plan.gpu is not None and plan.gpu.capability != "9.0"'),
        (made(V3), made(QWEN), "plan.arch is not None and not is_latent(plan.arch)"),
        (made(QWEN), made(V3), "plan.arch is not None and is_latent(plan.arch)"),
        (made("vllm serve google/gemma-4-31B-it"), made("vllm serve google/gemma-3-27b-it"),
         "plan.arch is not None and 256 not in plan.arch.head_sizes()"),
        (made(QWEN), made("python -m sglang.launch_server --model-path Qwen/Qwen3-8B",
                          engine="sglang==0.5.23"), 'not plan.runs("vllm")'),
    ],
)  # fmt: skip
def test_the_condition_is_what_differs(hit: Plan, miss: Plan, fails: str) -> None:
    conditions, (parts,) = decisive([hit], [miss])
    assert fails in [c.fails for c in parts]
    for condition in conditions:
        assert condition.holds(hit) is True
    assert not all(c.holds(miss) for c in conditions)
    assert all(c.otherwise(miss) for c in parts)


def test_the_expression_says_what_the_condition_does() -> None:
    """What is written as Python is evaluated beside what found it, on hits, misses and others."""
    from kvgate.rules import facts

    hits = [made(f"{V3} --max-model-len 32768 -tp 8", "B200")]
    misses = [
        made(f"{QWEN} --max-model-len 32768 -tp 8", "B200"),
        made(f"{V3} --max-model-len 4096 -tp 8", "B200"),
        made(f"{V3} --max-model-len 32768 -tp 8", "H100"),
        made(f"{V3} --max-model-len 32768 -tp 8", "B200", "vllm==0.20.0"),
    ]
    conditions, _ = decisive(hits, misses, introduced="0.25.0")
    others = [made(V3, ""), made("vllm serve a/model-nobody-knows", "B200")]
    for case in (*hits, *misses, *others):
        for condition in conditions:
            fails = eval(condition.fails, {**vars(facts)}, {"plan": case})
            assert (condition.holds(case) is False) is bool(fails), condition.fails
            is_open = bool(condition.open) and eval(condition.open, {**vars(facts)}, {"plan": case})
            assert (condition.holds(case) is None) is is_open, condition.open


def test_the_versions_of_a_range_are_a_condition() -> None:
    hit, miss = made(QWEN, engine="vllm==0.22.0"), made(QWEN, engine="vllm==0.26.0")
    conditions, (parts,) = decisive([hit], [miss], introduced="0.20.0", fixed="0.26.0")
    assert [c.fails for c in parts] == ['between(plan, "0.20.0", "0.26.0") is False']
    assert conditions[-1].needs == ("between",)


def test_of_several_hits_only_what_they_share_is_a_condition() -> None:
    hits = [made(f"{QWEN} --block-size 64", "H100"), made(f"{QWEN} --block-size 64", "B200")]
    conditions, _ = decisive(hits, [made(QWEN, "A100 80GB")])
    assert [c.fails for c in conditions if c.setting == "gpu"] == [
        'plan.gpu is not None and plan.gpu.capability not in ("10.0", "9.0")'
    ]
    hits = [made(f"{QWEN} --block-size 64"), made(f"{QWEN} --block-size 32")]
    with pytest.raises(InputError, match="parts miss 1"):
        decisive(hits, [made(QWEN)])


def test_a_miss_that_differs_in_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="nothing that kvgate can see parts miss 2"):
        decisive([made(f"{QWEN} --block-size 64")], [made(QWEN), made(f"{QWEN} --block-size 64")])


def test_hits_of_two_engines_are_refused() -> None:
    other = made(
        "python -m sglang.launch_server --model-path Qwen/Qwen3-8B", engine="sglang==0.5.23"
    )
    with pytest.raises(InputError, match="sglang, vllm"):
        decisive([made(QWEN), other], [])
