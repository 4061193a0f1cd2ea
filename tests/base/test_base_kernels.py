"""Kernel families: closed sets that don't nest."""

from __future__ import annotations

import pytest

from kvgate.catalog.gpus import gpus
from kvgate.catalog.kernels import kernel, kernels, kernels_on
from kvgate.errors import InputError


def test_what_a_family_reads_is_a_subset_of_where_it_runs() -> None:
    known = {g.capability for g in gpus() if g.vendor == "nvidia"}
    for family in kernels():
        assert set(family.fp8_kv) <= set(family.sm) <= known, family.id
        assert set(family.paged_kv) <= set(family.sm), family.id
        assert family.sources, family.id


def test_families_do_not_nest_by_generation() -> None:
    assert kernel("fa3").runs_on("H100")
    assert not kernel("fa3").runs_on("B200")
    assert not kernel("trtllm-gen").runs_on("RTX 5090")
    assert not kernel("trtllm-gen").runs_on("Jetson AGX Thor")
    assert kernel("flashmla-vllm").runs_on("H100")
    assert not kernel("flashmla-upstream").runs_on("H100")


def test_a_paged_engine_cannot_use_upstream_fa4_on_consumer_blackwell() -> None:
    assert "fa4" in kernels_on("RTX 5090", paged=False)
    assert "fa4" not in kernels_on("RTX 5090")


def test_an_unknown_family_names_the_nearest() -> None:
    with pytest.raises(InputError, match="fa3"):
        kernel("fa5")
