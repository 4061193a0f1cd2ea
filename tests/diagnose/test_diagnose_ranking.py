"""What a log says decides between records: notices, the card, the engine that it names."""

from __future__ import annotations

import pytest

from kvgate.diagnose import Answer, diagnose
from kvgate.records.heads import known

NOTICE = (
    "llama_context: n_ctx_per_seq (8192) < n_ctx_train (131072) -- the full capacity of the model "
    "will not be utilized\n"
)
CUDA = (
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 16384.00 MiB on device 0: "
    "cudaMalloc failed: out of memory\n"
)
NO_IMAGE = (
    "RuntimeError: CUDA error: no kernel image is available for execution on the device (vllm)\n"
)
FREE = (
    "ValueError: Free memory on device cuda:0 (60.11/%s GiB) on startup is less than desired GPU "
    "memory utilization (0.9, 71.27 GiB). Decrease GPU memory utilization\n"
)


def ask(log: str) -> Answer:
    records = known()
    return diagnose([log], records.signatures, records.texts, records.suspects)


def ids(log: str) -> list[str]:
    return [m.id for m in ask(log).matches]


def test_a_notice_of_a_healthy_log_is_a_weak_match_and_says_so() -> None:
    (match,) = ask(f"build: 6000 (abc)\n{NOTICE}main: server is listening\n").matches
    assert match.score < 0.5
    assert "logs of engines that run well" in match.grounds


@pytest.mark.parametrize("log", [NOTICE + CUDA, CUDA + NOTICE])
def test_a_notice_ranks_below_an_error(log: str) -> None:
    assert ids(log) == ["lcpp-cache-buffer-not-allocated", "lcpp-ctx-size-split-across-slots"]


def test_notices_alone_leave_room_for_guesses_at_an_error() -> None:
    error = "ERROR --fit stopped at the trained length for slots together, with memory free\n"
    answer = ask(NOTICE + error)
    assert answer.matches
    assert answer.guesses


@pytest.mark.parametrize(
    ("card", "found"),
    [
        ("Using NVIDIA Tesla V100-SXM2-32GB (7.0)", False),
        ("Tesla T4 with CUDA capability sm_75 is not compatible with this PyTorch", False),
        ("NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible", True),
        ("", True),
    ],
)
def test_a_record_of_one_generation_is_left_out_where_the_log_names_another(
    card: str, found: bool
) -> None:
    log = f"{card}\n{NO_IMAGE}"
    assert ("attn-no-kernel-image-sm120" in ids(log)) is found
    if not found:
        assert "attn-no-kernel-image-sm120" not in [i for i, _ in ask(log).guesses]


def test_the_card_s_memory_tells_which_card_it_isnt() -> None:
    assert ids(FREE % "79.19") == ["busy-gpu-below-utilization"]
    assert "gb10-utilization-above-free-memory" in ids(FREE % "119.64")


def test_no_record_is_guessed_of_an_engine_that_the_log_doesnt_name() -> None:
    oom = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
        "total capacity of 79.19 GiB of which 1.00 GiB is free.\n"
    )
    assert not ask(oom).guesses
    engines = {h.id: h.engines for h in known().heads}
    guessed = [i for i, _ in ask(f"INFO vllm worker 0 starts\n{oom}").guesses]
    assert guessed
    assert all("vllm" in engines[i] for i in guessed)


@pytest.mark.parametrize(
    "line",
    [
        "<p>ValueError: No available memory for the cache blocks.</p>",
        'level=fatal msg="ValueError: No available memory for the cache blocks" pod=vllm-0',
        f"{'x ' * 40_000} ValueError: No available memory for the cache blocks. Try increasing it",
    ],
)
def test_text_around_an_error_doesnt_hide_it(line: str) -> None:
    assert ids(line) == ["kv-no-memory-for-cache-blocks"]
