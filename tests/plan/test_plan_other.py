"""Plans of engines without gates in the catalogue: what the flags make of the need."""

from __future__ import annotations

import pytest

from kvgate.deployment import deployments
from kvgate.plan import plan


@pytest.mark.parametrize("spelled", ["--tp_size 4", "--tensor_parallel_size 4"])
def test_the_ranks_of_trtllm_serve_share_the_heads(spelled: str) -> None:
    (asked,) = deployments(f"trtllm-serve meta-llama/Llama-3.1-70B-Instruct {spelled}")
    sizing = plan(asked).sizing
    assert sizing is not None
    assert sizing.needs.bytes_per_token == 327_680
    assert sizing.needs.bytes_per_token_per_rank == 327_680 / 4


def test_the_stages_of_trtllm_serve_share_the_layers() -> None:
    (asked,) = deployments("trtllm-serve meta-llama/Llama-3.1-70B-Instruct --pp_size 2")
    sizing = plan(asked).sizing
    assert sizing is not None
    assert sizing.needs.bytes_per_token_per_rank == 327_680 / 2
