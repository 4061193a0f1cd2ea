"""Command lines and manifests of the shared cases for vLLM and AMD, and their control."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvgate.records.loader import load
from kvgate.rules import Finding, Verdict

OfCase = Callable[..., dict[str, Verdict]]

# case, engine and GPU that its facts name (an A40 for its sibling of the same die), a model of the
# same heads where the catalogue hasn't the model itself, and the record that it must lead to.
CASES = [
    ("cmd-dsv4-offload-k8s-args", None, "RTX PRO 6000", None,
     "kv-connector-disables-hybrid-manager"),
    ("cmd-dynamo-qwen35-kv-events", "vllm==0.20.1", "H100", None,
     "kv-events-turn-hybrid-manager-off"),
    ("cmd-env-backend-ignored", None, "A40", None, "attn-backend-env-var-silently-ignored"),
    ("cmd-glm46-dcp-tp8", "vllm==0.12.0", "H200", "zai-org/GLM-4.5",
     "par-dcp-needs-tp-above-kv-heads"),
    ("cmd-glm52-h200-fp8-e4m3", None, "H200", None, "kv-sparse-mla-needs-fp8-ds-mla"),
    ("cmd-gptoss-4090-compose", None, "RTX 4090", None, "attn-sinks-need-fa3-triton-or-trtllm"),
    ("cmd-kimi-k2-tp8-aiter", "sglang==0.4.9", "MI355X", None, "attn-aiter-mla-head-count"),
    ("cmd-qwen2-7b-tp8-helm", None, "A100 80GB SXM", "Qwen/Qwen2.5-7B-Instruct",
     "par-heads-not-divisible-by-tp"),
    ("cmd-r1-dcp-lmcache", "vllm==0.10.2", "H200", None, "pd-lmcache-dcp-slot-mapping"),
    ("cmd-scout-10m", "vllm==0.8.5", "H100", None, "ctx-kv-cache-gib-at-claimed-context"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "engine", "gpu", "model", "record"), CASES)
def test_a_shared_case_leads_to_its_record(
    rules_of_case: OfCase,
    name: str, engine: str | None, gpu: str, model: str | None, record: str,
) -> None:  # fmt: skip
    verdicts = rules_of_case(name, engine, gpu, model)
    assert isinstance(verdicts.get(load().records[record].front.rule or ""), Finding)


def test_the_shared_control_on_sm120_has_no_finding_that_stops_it(rules_of_case: OfCase) -> None:
    name = "cmd-qwen36-nvfp4-fp8kv-sm120-ok-on-triton"
    verdicts = rules_of_case(name, "vllm==0.27.1", "RTX PRO 6000")
    found = {rule for rule, verdict in verdicts.items() if isinstance(verdict, Finding)}
    severities = {r.front.severity for r in load().records.values() if r.front.rule in found}
    assert not severities & {"blocks-start", "fails-later", "silently-wrong"}
