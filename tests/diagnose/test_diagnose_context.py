"""A log says what runs: engine, version, model, GPU, settings; and that settles ambiguous texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.diagnose import diagnose, redact
from kvgate.diagnose.context import context
from kvgate.diagnose.suspect import Suspect

VLLM = """\
(APIServer pid=1) INFO 11-30 12:00:00 [api_server.py:1] vLLM API server version 0.19.1
(APIServer pid=1) INFO 11-30 12:00:01 [utils.py:280] non-default args: {'model': \
'google/gemma-4-31B-it', 'tensor_parallel_size': 2, 'attention_backend': 'FLASHINFER'}
(EngineCore pid=2) INFO 11-30 12:00:02 [core.py:105] Initializing a V1 LLM engine (v0.19.1) with \
config: model='google/gemma-4-31B-it', dtype=torch.bfloat16, max_seq_len=131072, kv_cache_dtype=auto
NVIDIA RTX PRO 6000 Blackwell Server Edition, 97887 MiB
ValueError: the made up reason of layer 3
"""
SGLANG = (
    "[2026-11-30 12:00:00] server_args=ServerArgs(model_path='Qwen/Qwen3-8B', tp_size=2, "
    "page_size=64, context_length=None)\n"
)


def test_a_vllm_log_names_its_deployment() -> None:
    said = context(VLLM)
    assert (said.engine, said.version) == ("vllm", "0.19.1")
    assert said.model == "google/gemma-4-31B-it"
    assert said.gpu.startswith("RTX PRO 6000")
    assert dict(said.settings)["tensor_parallel_size"] == "2"
    assert dict(said.settings)["max_model_len"] == "131072"
    assert "kv_cache_dtype" not in dict(said.settings)
    assert said.line.startswith("vllm serve google/gemma-4-31B-it")


def test_an_sglang_log_names_its_deployment() -> None:
    said = context(SGLANG)
    assert said.engine == "sglang"
    assert said.line == (
        "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp-size 2 --page-size 64"
    )


def test_what_was_switched_on_or_off_is_in_the_command() -> None:
    args = "{'model': 'Qwen/Qwen3-8B', 'enable_prefix_caching': False, 'enforce_eager': True}"
    said = context(f"vLLM API server version 0.33.0\nnon-default args: {args}\n")
    assert said.line == "vllm serve Qwen/Qwen3-8B --no-enable-prefix-caching --enforce-eager"
    said = context(
        "server_args=ServerArgs(model_path='Qwen/Qwen3-8B', enable_hierarchical_cache=True, "
        "disable_radix_cache=True, enable_dp_attention=False)"
    )
    assert said.line == (
        "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --enable-hierarchical-cache "
        "--disable-radix-cache"
    )


def test_an_object_among_the_settings_is_one_argument() -> None:
    args = "{'model': 'a/b', 'hf_overrides': {'max_position_embeddings': 4096}, 'seed': 0}"
    said = context(f"vLLM API server version 0.33.0\nnon-default args: {args}\n")
    assert said.line == (
        "vllm serve a/b --hf-overrides '{\"max_position_embeddings\": 4096}' --seed 0"
    )
    odd = context("vLLM API server version 0.33.0\nnon-default args: {'model': 'a/b', 'x': <a b>}")
    assert odd.line == "vllm serve a/b"


def test_a_log_without_settings_gives_no_command() -> None:
    assert context("RuntimeError: out of memory\n").line == ""


def test_a_text_of_two_records_is_settled_by_what_the_log_says_of_itself() -> None:
    text = "the made up reason of layer {int}"
    suspects = {
        "forced": Suspect("forced_backend_refuses_head_size", frozenset({"vllm"})),
        "latent": Suspect("mla_backend_missing", frozenset({"vllm"})),
        "other": Suspect("", frozenset({"sglang"})),
    }
    answer = diagnose([VLLM], [(name, text) for name in suspects], None, suspects)
    assert answer.matches[0].id == "forced"
    assert "google/gemma-4-31B-it" in answer.matches[0].grounds
    assert "the log is of vllm" in {m.id: m.grounds for m in answer.matches}["other"]


def test_where_the_log_says_nothing_nothing_moves() -> None:
    text = "refused for the made up reason of layer {int}"
    suspects = {n: Suspect("mla_backend_missing", frozenset({"vllm"})) for n in ("a", "b")}
    answer = diagnose(
        ["refused for the made up reason of layer 3"], [(n, text) for n in suspects], None, suspects
    )
    assert {m.grounds for m in answer.matches} == {""}
    assert len({m.score for m in answer.matches}) == 1


def test_a_second_signature_of_a_record_counts_for_it() -> None:
    both = [("one", "pool of {int} tokens is full"), ("two", "pool of {int} tokens is full")]
    extra = [*both, ("two", "window layers hold {int} tokens in this pool")]
    log = "window layers hold 7 tokens in this pool\npool of 9 tokens is full\n"
    assert diagnose([log], extra).matches[0].id == "two"


def test_without_a_match_the_nearest_by_words_is_a_guess() -> None:
    texts = {"mla": "latent attention finds no sparse backend", "rope": "yarn factor applied twice"}
    answer = diagnose(["ERROR latent sparse backend broke\n"], [("x", "never seen here")], texts)
    assert answer.matches == ()
    assert answer.guesses[0][0] == "mla"


def test_what_is_shown_names_no_host_path_token_or_user() -> None:
    text = (
        "Bearer abcdef from 10.1.2.3:8000 user=ada /home/ada/models hf_abcdefghij "
        "https://internal.example/x ada@example.org node7.cluster.local"
    )
    shown = redact(text)
    for secret in ("abcdef", "10.1.2.3", "ada", "hf_", "internal", "node7"):
        assert secret not in shown, shown


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m --api-key s3cret --port 1",
        "'--api-key', 's3cret', '--port'",
        "non-default args: {'api_key': ['s3cret'], 'port': 1}",
        "api_key='s3cret', port=1",
        '{"password": "s3cret"}',
        "HUGGING_FACE_HUB_TOKEN=s3cret",
        "AWS_SECRET_ACCESS_KEY=s3cret/x",
        "Authorization: Basic s3cret",
        "'authorization': 'Bearer s3cret'",
        "https://ada:s3cret@example.org/v2",
        "github_pat_11s3cret99",
        "a worker at 2001:db8::3e77 and fe80::3e77",
    ],
)
def test_a_secret_is_masked_in_the_form_in_which_a_log_has_it(text: str) -> None:
    shown = redact(text)
    assert "s3cret" not in shown
    assert "3e77" not in shown
    assert "<" in shown


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m --hf-overrides x --max-num-batched-tokens 8192",
        "KV cache bytes per token: 147456, tokens: 30, token=5",
        "0.04.120.007 W llama_context: n_ctx",
        "api_key=None, 'api_key': None",
        "c10::Error at 12:00:01 in std::vector",
        "authorization failed",
    ],
)
def test_what_is_no_secret_is_left_as_it_is(text: str) -> None:
    assert redact(text) == text


def test_the_grounds_of_an_answer_hold_no_secret() -> None:
    args = "{'model': '/home/ada/x', 'api_key': 's3cret', 'host': 'a.corp', 'tp': 8}"
    said = context(f"INFO non-default args: {args}").grounds()
    assert "tp=8" in said
    for secret in ("s3cret", "ada", "a.corp"):
        assert secret not in said


@pytest.mark.parametrize("far", [6, 20, 39, 60, 200])
def test_a_secret_that_the_shown_text_begins_in_is_masked(far: int) -> None:
    line = f"x=hf_{'s3cret' * far} ValueError: one two three four"
    (found,) = diagnose([line], [("a", "one two three four")]).matches
    assert "s3cret" not in found.text
    assert found.text.endswith("<token> ValueError: one two three four")


def test_the_shown_text_begins_with_a_whole_word() -> None:
    line = f"{'word ' * 30}a.long.name.of.an.exception.in.a.package: one two three four"
    (found,) = diagnose([line], [("a", "one two three four")]).matches
    assert found.text.startswith("a.long.name")


@given(st.text(max_size=400))
def test_any_log_is_read_without_an_error(text: str) -> None:
    context(text)
    redact(text)
    diagnose([text], [("a", "one two three four")], {"a": "one"}, {"a": Suspect("", frozenset())})
