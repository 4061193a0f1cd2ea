"""Every reader of strangers' text, fed with what nobody would write."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvgate.catalog.engines import release
from kvgate.deployment.images import read_image
from kvgate.deployment.read import engine_option
from kvgate.errors import InputError
from kvgate.kvcache.request import engine_version
from kvgate.manifests import read_deployments
from kvgate.records.versions import parse_version
from scripts.fuzzing.targets import TARGETS, Target, run

# What breaks readers of any kind: numbers that Python won't read, digits that are none, depth.
NASTY = (
    "9" * 5000, "1" + "0" * 400, "²", "٣", "1e999", "-0", "NaN", "0x", "\x00", "\ufeff", "\u2028",
    "\ud7ff", "\U0010ffff", "\r", "\x1b[2J", "[" * 2000, "{" * 2000, "((((" * 200, "a.b" * 300,
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, target: Target) -> bytes:
    """A seed with pieces cut out, doubled, or replaced by words of the grammar and by nastiness."""
    text = draw(st.sampled_from(target.seeds))
    words = st.sampled_from((*target.words, *NASTY, "\n", " ", ""))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        to = min(len(text), at + draw(st.integers(0, 30)))
        piece = draw(words | st.text(max_size=6) | st.just(text[at:to] * 2))
        text = text[:at] + piece + text[to:]
    data = text.encode("utf-8", "surrogatepass")
    return data if draw(st.booleans()) else data + draw(st.binary(max_size=8))


@pytest.mark.parametrize("name", TARGETS)
def test_every_seed_of_a_fuzz_target_is_read(name: str) -> None:
    for seed in TARGETS[name].seeds:
        TARGETS[name].read(seed)  # a seed that is refused would start nothing


@pytest.mark.parametrize("name", TARGETS)
def test_a_damaged_text_is_answered_or_refused(name: str) -> None:
    target = TARGETS[name]
    slow = name in ("record", "log", "config.json", "page")

    @settings(
        max_examples=25 if slow else 80, deadline=None, database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip
    @given(damaged(target))
    def feed(data: bytes) -> None:
        started = time.process_time()
        run(target, data)
        assert time.process_time() - started < 10

    feed()


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("nasty", NASTY, ids=[f"{n[:6]!a}*{len(n)}" for n in NASTY])
def test_nastiness_in_each_place_of_a_text_is_answered_or_refused(name: str, nasty: str) -> None:
    target = TARGETS[name]
    seed = target.seeds[0]
    step = max(1, len(seed) // (4 if name in ("record", "page", "log") else 25))
    for at in range(0, len(seed) + 1, step):
        run(target, (seed[:at] + nasty + seed[at:]).encode("utf-8", "surrogatepass"))
    run(target, nasty.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("number", ["²", "①", "9" * 5000])
def test_a_count_that_is_no_number_is_not_counted(number: str) -> None:
    """A superscript two is a digit by Python's ``isdigit`` and no number to ``int``."""
    pod = (
        "kind: Pod\nspec:\n  containers:\n    - image: vllm/vllm-openai:v0.20.2\n"
        f"      args: [--model, m]\n      resources: {{limits: {{nvidia.com/gpu: '{number}'}}}}\n"
    )
    compose = (
        "services:\n  a:\n    image: vllm/vllm-openai:v0.20.2\n    command: --model m\n"
        f"    deploy: {{resources: {{reservations: {{devices: [{{count: '{number}'}}]}}}}}}\n"
    )
    run_line = f"docker run --gpus {number} vllm/vllm-openai:v0.20.2 --model m"
    for text in (pod, compose, run_line):
        (found,) = read_deployments(text, "<command line>")
        assert found.gpu_count is None


@pytest.mark.parametrize(
    "spec", ["vllm==0." + "9" * 5000, "llama.cpp==b" + "9" * 5000, "sglang==" + "9" * 5000]
)
def test_a_version_of_more_digits_than_python_reads_is_no_version(spec: str) -> None:
    version = spec.partition("==")[2]
    for read in (release, engine_option, engine_version):
        with pytest.raises(InputError, match="is not a version"):
            read(spec)
    with pytest.raises(InputError, match="is not a version"):
        parse_version(version)
    image = read_image(f"vllm/vllm-openai:v0.{'9' * 5000}")
    assert image.version is None
    assert "names no version" in image.why_not
