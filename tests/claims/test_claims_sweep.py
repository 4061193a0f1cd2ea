"""All that a claim can call, asked with numbers that no deployment has: each call must end soon.

A call of a function of kvgate is paid for before it works, whatever its arguments are; so none may
take longer for a larger number.
"""

from __future__ import annotations

import inspect
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from kvgate.claims import default_namespace, evaluate
from kvgate.errors import InputError

NAMES = default_namespace()
EXTREMES = (
    "10 ** 18", "2 ** 4090", "-1", "0", "10 ** 18 + 0.5", "1e308", "float('inf')", "float('nan')",
    "[10 ** 18] * 1000", "'a' * 8000", "()", "{}",
)  # fmt: skip
# Calls whose values have between them every public type that has methods.
VALUES = (
    "model('Qwen/Qwen3-Next-80B-A3B-Instruct')",
    "size('openai/gpt-oss-20b', engine='vllm', gpu='H100')",
    "backends('Qwen/Qwen3-8B', gpu='H100', engine='vllm')",
    "weights(model('Qwen/Qwen3-8B'))",
    "kernel('flashinfer-fa2')",
    "kv_format('fp8')",
    "releases('vllm')",
)
SECONDS = 5


class TooLongError(BaseException):
    """Not an Exception: nothing on the way may take it for a failure of the example."""


@contextmanager
def soon() -> Iterator[None]:
    """No longer than a few seconds; where there is no alarm clock, nobody looks."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def late(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def ask(source: str) -> None:
    """An answer or a finding; nothing else, and soon."""
    try:
        with soon(), suppress(InputError):
            evaluate(source, NAMES)
    except TooLongError:
        pytest.fail(f"{source} takes longer than {SECONDS} s")


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "llama.cpp"])
def test_no_setting_of_a_size_makes_it_long(engine: str) -> None:
    settings = set(inspect.signature(NAMES["size"]).parameters)  # type: ignore[arg-type]
    for setting in sorted(settings - {"model", "engine", "kv_cache_memory"}):
        for extreme in EXTREMES:
            ask(
                f"size('Qwen/Qwen3-Next-80B-A3B-Instruct', engine='{engine}', "
                f"kv_cache_memory=8 * GiB, {setting}={extreme}).tokens"
            )


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"size", "KiB", "MiB", "GiB"}))
def test_no_argument_of_a_function_makes_it_long(name: str) -> None:
    function = NAMES[name]
    fitting = {
        "model": "'Qwen/Qwen3-8B'", "architecture": "model('Qwen/Qwen3-8B')", "engine": "'vllm'",
        "gpu": "'H100'", "backend": "'FLASH_ATTN'",
    }  # fmt: skip
    named = [
        p for p in inspect.signature(function).parameters.values()  # type: ignore[arg-type]
        if p.kind is not p.VAR_KEYWORD
    ]  # fmt: skip
    for changed in named:
        for extreme in EXTREMES:
            given = [
                f"{p.name}={extreme if p is changed else fitting.get(p.name, '1')}"
                for p in named
                if p is changed or p.default is p.empty
            ]
            ask(f"{name}({', '.join(given)})")


def _methods() -> Iterator[tuple[str, list[str]]]:
    """An expression for each public method that claims reach, and how arguments are given."""
    seen: set[type] = set()
    todo: list[tuple[str, object]] = [
        (text, eval(text, {name: NAMES[name] for name in NAMES})) for text in VALUES
    ]
    while todo:
        text, value = todo.pop()
        if isinstance(value, tuple | list):
            todo += [(f"{text}[{index}]", item) for index, item in enumerate(value[:9])]
        if type(value) in seen or not type(value).__module__.startswith(("kvgate.", "packaging.")):
            continue
        seen.add(type(value))
        for name in (n for n in dir(value) if not n.startswith("_")):
            part = getattr(value, name)
            if not callable(part):
                todo.append((f"{text}.{name}", part))
                continue
            parameters = inspect.signature(part).parameters.values()
            yield (
                f"{text}.{name}",
                [f"{p.name}=" if p.kind is p.KEYWORD_ONLY else "" for p in parameters],
            )


def test_no_argument_of_a_method_makes_it_long() -> None:
    count = 0
    for text, places in _methods():
        for changed in range(len(places)):
            for extreme in EXTREMES:
                given = [f"{p}{extreme if i == changed else 4096}" for i, p in enumerate(places)]
                ask(f"{text}({', '.join(given)})")
                count += 1
    assert count > 100


@pytest.mark.parametrize("points", ["0", "4097", "10 ** 9"])
def test_a_plot_has_no_more_points_than_a_picture(points: str) -> None:
    asked = "size('Qwen/Qwen3-8B', engine='vllm', max_model_len=131072).plot(points={})"
    assert len(evaluate(asked.format(65), NAMES)[0]) == 65  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"a plot has from 1 to 4,096 points"):
        evaluate(asked.format(points), NAMES)
