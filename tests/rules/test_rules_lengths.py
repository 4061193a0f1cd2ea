"""The rules of context lengths: the value that decides, and the same command with it changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvgate.rules import Finding, Undecided, Verdict

Ask = Callable[..., Verdict]
QWEN = "vllm serve Qwen/Qwen3-8B"
PHI = "vllm serve microsoft/Phi-3-mini-128k-instruct"


def _override(kind: str, key: str = "rope_type", more: str = "") -> str:
    rope = f'{{"{key}": "{kind}", "factor": 4.0, "original_max_position_embeddings": 32768}}'
    return f"--hf-overrides '{{{more}\"rope_scaling\": {rope}}}'"


LONGER = '"max_position_embeddings": 131072, '

# rule, (command, version) that fires, and the same with one decisive thing changed.
FLIPS: list[tuple[str, tuple[str, str], tuple[str, str]]] = [
    ("max_model_len_above_the_derived",
     (f"{QWEN} --max-model-len 40961", "0.33.0"), (f"{QWEN} --max-model-len 40960", "0.33.0")),
    ("max_model_len_above_the_derived",
     (f"{QWEN} --max-model-len 131072 {_override('yarn')}", "0.30.0"),
     (f"{QWEN} --max-model-len 131072 {_override('yarn')}", "0.29.0")),
    ("max_model_len_above_the_derived",
     (f"VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 {QWEN} --max-model-len 131072", "0.33.0"),
     (f"VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 {QWEN} --max-model-len 131072 {_override('yarn')}",
      "0.33.0")),
    ("rope_flag_is_gone",
     (f"{QWEN} --rope-theta 1000000", "0.11.1"), (f"{QWEN} --rope-theta 1000000", "0.11.0")),
    ("yarn_factor_counted_twice",
     (f"{QWEN} {_override('deepseek_yarn', more=LONGER)}", "0.29.0"),
     (f"{QWEN} {_override('deepseek_yarn', more=LONGER)}", "0.30.0")),
    ("yarn_factor_counted_twice",
     (f"{QWEN} {_override('telechat3-yarn', more=LONGER)}", "0.20.2"),
     (f"{QWEN} --max-model-len 131072 {_override('telechat3-yarn', more=LONGER)}", "0.20.2")),
    ("longrope_chooses_by_the_limit",
     (f"{PHI} --max-model-len 4097", "0.20.2"), (f"{PHI} --max-model-len 4096", "0.20.2")),
    ("longrope_chooses_by_the_limit", (PHI, "0.11.2"), (PHI, "0.11.0")),
    ("dual_chunk_has_no_backend",
     ("vllm serve Qwen/Qwen2.5-7B-Instruct-1M", "0.20.2"),
     ("vllm serve Qwen/Qwen2.5-7B-Instruct", "0.20.2")),
    ("legacy_rope_key_in_an_override",
     (f"{QWEN} {_override('yarn', key='type')}", "0.9.2"),
     (f"{QWEN} {_override('yarn')}", "0.9.2")),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "fires", "silent"), FLIPS)
def test_changing_the_decisive_value_flips_the_verdict(
    ask: Ask, rule: str, fires: tuple[str, str], silent: tuple[str, str]
) -> None:
    assert isinstance(ask(rule, fires[0], f"vllm=={fires[1]}", gpu="H100"), Finding)
    assert ask(rule, silent[0], f"vllm=={silent[1]}", gpu="H100") is None


def test_a_model_nobody_knows_leaves_its_length_open(ask: Ask) -> None:
    command = "vllm serve somebody/something-new --max-model-len 131072"
    rule = "max_model_len_above_the_derived"
    assert isinstance(ask(rule, command, "vllm==0.33.0", gpu="H100"), Undecided)


def test_gemma_3_is_not_stretched_once_more(ask: Ask) -> None:
    command = "vllm serve google/gemma-3-27b-it --max-model-len 262144"
    verdict = ask("max_model_len_above_the_derived", command, "vllm==0.33.0", gpu="H200")
    assert isinstance(verdict, Finding)
    assert "131,072" in verdict.message


def test_the_flag_is_reported_for_a_model_nobody_knows(
    rules_of_case: Callable[[str, str | None, str | None], dict[str, Verdict]],
) -> None:
    verdicts = rules_of_case("cmd-qwen38-yarn-old-flag", "vllm==0.27.0", "H100")
    assert isinstance(verdicts["rope_flag_is_gone"], Finding)
