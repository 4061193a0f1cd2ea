"""Text from anybody: nothing but kvgate's own error, nothing run, within bounds."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvgate.deployment import Deployment, deployments, node_of
from kvgate.errors import InputError
from kvgate.manifests import documents, read_deployments

PIECES = (
    "vllm serve", "org/m", "sglang serve", "trtllm-serve", "llama-server", "docker run", "-it",
    "vllm/vllm-openai:v0.20.2", "python3 -m sglang.launch_server", "--tp", "4", "-tp=4", "-ac.a",
    "-ac.", "--", "-", "--=", "--a.b.c+", "-O", "--config", "c.yaml", "--hf-overrides", "{", "}",
    "'{\"a\":1}'", "[1,2]", "$(x)", "`x`", "${A:-b}", "${A[@]}", "$A", "A=1", "A+=x", "A=(", ")",
    "'", '"', "\\", "\\\n", "^\n", "\n", "\r\n", "\0", "\t", "<<E\n", "E\n", "<<<", ">", "|", "&&",
    ";", "&", "#", "if", "then", "fi", "for", "do", "done", "export", "env", "sh -c", "eval",
    "FROM x\n", "CMD [\"", "ENTRYPOINT", "ENV A=$A", "services:\n", " a:\n", "  image: x\n",
    "  command: ", "- ", "kind: Pod\n", "spec:\n", "containers:\n", "args: ", "&a ", "*a", "<<: ",
    "!!str ", "|\n", ">-\n", "---\n", "{{ .x }}", "%A%", "–tp", "\ud7ff", "é", "\x1b[0m", "1e9999",
    "9" * 60, "-1", "-.5", "128K", "1.5k", "!", "*", "?", "[", "]", "~", "@", "[Service]\n",
    "ExecStart=vllm serve m\n", "Environment=A=1\n",
)  # fmt: skip
TEXT = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ("image", "args", "command", "containers", "services", "spec", "kind", "env",
                 "name", "value", "resources", "limits", "nvidia.com/gpu", "modelSpec", "decode",
                 "servingEngineSpec", "vllmConfig", "modelArtifacts", "metadata", "items",
                 "entrypoint", "environment", "deploy", "reservations", "devices", "predictor",
                 "model", "template", "prefill", "leaderWorkerTemplate", "size", "extraPodSpec",
                 "mainContainer", "parallelism", "tensor", "lmcacheConfig", "enabled")
            ) | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)  # fmt: skip
KINDS = st.sampled_from(
    ("Pod", "LeaderWorkerSet", "DynamoGraphDeployment", "InferenceService", "ServingRuntime",
     "LLMInferenceService", "VLLMRuntime", "List", "ConfigMap")
)  # fmt: skip
slow_machine = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def check(read: Callable[[], tuple[Deployment, ...]]) -> None:
    """The deployments hold together, or the text is refused with kvgate's own error."""
    try:
        found = read()
    except InputError:
        return
    for deployment in found:
        assert deployment.engine in ("vllm", "sglang", "tensorrt-llm", "llama.cpp")
        assert deployment.role in ("prefill", "decode", "both")
        for problem in deployment.problems:
            assert problem.place.line >= 1
            assert problem.place.column >= 1
            assert problem.message


@slow_machine
@given(TEXT)
def test_any_text_gives_deployments_or_an_input_error(text: str) -> None:
    check(lambda: read_deployments(text, "<command line>"))


@slow_machine
@given(
    st.sampled_from(("vllm serve m ", "sglang serve m ", "llama-server ", "trtllm-serve m ")), TEXT
)
def test_any_arguments_give_a_deployment_or_an_input_error(start: str, text: str) -> None:
    check(lambda: deployments(start + text))


@slow_machine
@given(TEXT)
def test_any_yaml_gives_nodes_or_an_input_error(text: str) -> None:
    def read() -> tuple[Deployment, ...]:
        documents(text, "f.yaml")
        return ()

    check(read)


@slow_machine
@given(PLAIN, KINDS)
def test_any_values_give_deployments_or_an_input_error(value: object, kind: str) -> None:
    plain = {**value, "kind": kind} if isinstance(value, dict) else value
    check(lambda: deployments("", documents=[node_of(plain)]))


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m --x $(touch {0})",
        "vllm serve m --x `touch {0}`; touch {0}",
        "touch {0} && vllm serve m; echo > {0}",
        "cat > {0} <<E\nx\nE\nvllm serve m --config {0}",
        "services:\n  a:\n    image: vllm/vllm-openai:v0.20.2\n    command: --x $(touch {0})\n",
        "a: !!python/object/apply:os.system ['touch {0}']\nimage: vllm/vllm-openai\nargs: [-x]\n",
        "FROM vllm/vllm-openai:v0.20.2\nRUN touch {0}\nCMD touch {0}; vllm serve m\n",
    ],
)
def test_nothing_is_ever_run(text: str, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    check(lambda: read_deployments(text.replace("{0}", str(marker)), "<command line>"))
    assert not marker.exists()


LARGE = (
    "vllm serve m " + "--x 1 " * 100_000,
    "vllm serve m " + "".join(f"--x{i} " for i in range(50_000)),
    "vllm serve m " + "-ac.a.b 1 " * 20_000,
    "vllm serve m --served-model-name " + "a " * 100_000,
    "A=1\n" * 100_000 + "vllm serve m",
    "".join(f"export A{i}=1\n" for i in range(20_000)) + "vllm serve m",
    "if x; then\n" * 40_000 + "vllm serve m",
    "$(" * 300_000,
    "${" * 300_000,
    "\\a" * 300_000 + "vllm",
    "'a'" * 200_000 + "vllm",
    '"$A"' * 100_000,
    "env " * 200_000 + "vllm",
    "docker run " * 80_000 + "vllm",
    "sh -c " * 100_000 + "vllm",
    "sh -c 'vllm " * 1000,
    "vllm serve {" + "a," * 300_000,
    "<<A " * 100_000 + "vllm",
    "FROM a\n" * 100_000,
    "FROM vllm/vllm-openai\n" + "ENV A=1\n" * 50_000,
    "FROM vllm/vllm-openai\nENV " + "a" * 500_000,
    "services: " + "[" * 900_000,
    "a:\n " + "{a: " * 200_000,
    "- " * 400_000,
    "a: &a [" + "*a, " * 100_000,
    "a:\n" + "? " * 200_000,
    "[Service]\n" + "Environment=A=1 B=2\n" * 20_000,
    "vllm serve m --hf-overrides '" + "[" * 500_000 + "'",
    "vllm serve m --max-model-len " + "9" * 900_000,
)


@pytest.mark.parametrize("text", LARGE, ids=[repr(text[:24]) for text in LARGE])
def test_large_input_is_read_or_refused_in_bounded_time(text: str) -> None:
    started = time.perf_counter()
    check(lambda: read_deployments(text, "<command line>"))
    # A quarter of this on an idle machine; what isn't linear takes hours.
    assert time.perf_counter() - started < 40


def test_what_is_too_large_is_refused_at_once_and_costs_no_memory() -> None:
    compose = "services:\n" + "".join(f"  s{i}:\n    image: a\n" for i in range(450_000))
    bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    bomb += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]
    script = "vllm serve m " * 800_000
    assert len(compose) > 10_000_000
    assert len(script) > 10_000_000
    for text in (compose, "\n".join(bomb), script):
        tracemalloc.start()
        with pytest.raises(InputError):
            read_deployments(text, "<command line>")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 100 * 2**20
