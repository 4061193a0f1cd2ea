"""The longest sequence: what the blocks hold, whatever a start-up check lets pass, or no limit."""

from __future__ import annotations

import pytest

from kvgate.deployment import deployments
from kvgate.kvcache import Sizing, size
from kvgate.kvcache.answer import PoolAnswer
from kvgate.kvcache.lines import sizing as lines
from kvgate.kvcache.longest import longest
from kvgate.plan import plan
from kvgate.rules import Judged, judge
from kvgate.units import GiB

_GEMMA = "google/gemma-3-27b-it"


def _pool(sizing: Sizing) -> PoolAnswer:
    assert sizing.pool is not None
    return sizing.pool


def _text(sizing: Sizing) -> str:
    return "\n".join(text for _, text, _ in lines(sizing))


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 1023, 1024, 1025, 16_777_216, 29_991_936])
def test_the_search_finds_the_limit_wherever_it_is(limit: int) -> None:
    assert longest(lambda tokens: tokens <= limit) == limit
    assert longest(lambda tokens: tokens <= limit, 1024) == min(limit, 1024)


def test_what_never_stops_fitting_has_no_longest() -> None:
    assert longest(lambda tokens: True) is None
    assert longest(lambda tokens: True, 4096) == 4096


@pytest.mark.parametrize("version", ["0.14.0", "0.16.0", "0.18.0"])
def test_an_engine_that_counts_one_group_starts_with_what_does_not_fit(version: str) -> None:
    sizing = size(
        _GEMMA, gpu="H100", engine=f"vllm=={version}", kv_cache_memory=GiB, max_model_len=131_072
    )
    pool = _pool(sizing)
    assert pool.max_concurrency == pytest.approx(819 / 11_654)
    assert pool.refusal is None
    assert sizing.fits is False
    assert sizing.to_json()["fits"] is False
    assert (
        f"vllm {version} starts, because its check counts the first group only; a sequence of "
        "131,072 tokens does not fit (0.07 at once)"
    ) in _text(sizing)


def test_the_longest_that_is_told_is_one_that_the_blocks_hold() -> None:
    def asked(length: int) -> PoolAnswer:
        return _pool(size(_GEMMA, engine="vllm==0.16.0", kv_cache_memory=GiB, max_model_len=length))

    most = asked(131_072).longest
    assert most is not None
    assert asked(most).fits
    assert not asked(most + 1).fits


def test_a_release_that_counts_all_groups_refuses_the_same() -> None:
    pool = _pool(size(_GEMMA, engine="vllm==0.20.0", kv_cache_memory=GiB, max_model_len=131_072))
    assert pool.refusal is not None
    assert pool.starts_anyway is None


def _found(version: str) -> tuple[Judged, ...]:
    line = f"vllm serve {_GEMMA} --max-model-len 131072 --kv-cache-memory-bytes 1073741824"
    (asked,) = deployments(line, engine=f"vllm=={version}")
    found, _ = judge(plan(asked, gpu="H100"), ())
    return tuple(one for one in found if one.id == "KV432")


def test_check_says_that_it_fails_later_where_the_engine_starts() -> None:
    (later,) = _found("0.16.0")
    assert later.severity == "fails-later"
    assert "does not fit (0.07 at once)" in later.finding.message
    assert "--max-model-len 1856" in later.finding.fix
    (stops,) = _found("0.20.0")
    assert stops.severity == "blocks-start"


def test_a_longest_beyond_sixteen_million_tokens_is_the_real_one() -> None:
    model = "deepseek-ai/DeepSeek-V4-Flash"

    def asked(length: int) -> PoolAnswer:
        return _pool(
            size(model, gpu="B200", tp=4, engine="vllm==0.33.0", kv_cache_memory=120 * GiB,
                 max_model_len=length)
        )  # fmt: skip

    most = asked(1_048_576).longest
    assert most is not None
    assert most > 1 << 24
    assert asked(most).fits
    assert not asked(most + 1).fits


@pytest.mark.parametrize("engine", ["vllm==0.33.0", "sglang==0.5.23", "llama.cpp"])
def test_states_alone_set_no_limit_to_a_sequence(engine: str) -> None:
    sizing = size("tiiuae/falcon-mamba-7b", gpu="H100", engine=engine, max_model_len=4096)
    assert sizing.fits
    assert sizing.to_json()["pool"]["max_model_len_that_fits"] is None
    assert "no limit: nothing grows with the sequence" in _text(sizing)
    assert "4,611,686" not in _text(sizing)
    assert "16,777,216" not in _text(sizing)


def test_one_is_said_in_the_singular() -> None:
    text = _text(
        size("meta-llama/Llama-3.1-8B-Instruct", gpu="H100", engine="vllm==0.33.0", max_model_len=1)
    )
    assert "a sequence of 1 token fits" in text
    assert "1 block a request" in text
    assert "1 tokens" not in text
