"""The one door: every answer is JSON, every refusal says what to do, no text becomes HTML."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lxml import html

from kvgate.answers.asking import Desk
from kvgate.answers.known import Known
from kvgate.answers.markup import Html, element, joined
from kvgate.errors import InputError
from kvgate.records.heads import known

PATHS = {head.id: f"gotchas/{head.id}/" for head in known().heads}
PATHS["KV401"] = "reference/codes/kv401/"
NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def desk() -> Desk:
    return Desk(json.dumps(known().to_json()), PATHS)


def ask(desk: Desk, question: str, **given: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(desk.answer(question, json.dumps(given)))
    return answer


def verdict(desk: Desk, form: dict[str, str]) -> str:
    """The first sentence of a plan."""
    answer = ask(desk, "plan", form=form, root="../")["answer"]
    page = html.fragment_fromstring(answer["html"], create_parent="div")
    return str(page.find_class("kv-verdict")[0].text_content())


def test_the_heads_survive_the_way_to_the_browser() -> None:
    assert Known.from_json(json.dumps(known().to_json())) == known()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"heads": [{"id": "a"}]}', '{"heads": [1]}'])
def test_a_text_that_holds_no_heads_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no heads"):
        Known.from_json(text)


def test_a_plan_shows_both_answers_the_chart_the_backend_and_what_bites(desk: Desk) -> None:
    form = {"line": "vllm serve deepseek-ai/DeepSeek-V3 --kv-cache-dtype fp8 -tp 8", "gpu": "A100"}
    form["gpu"] = "A100 80GB SXM"
    answer = ask(desk, "plan", form=form, root="../")["answer"]
    page = html.fragment_fromstring(answer["html"], create_parent="div")
    text = page.text_content()
    assert "34.31 KiB" in text
    assert "What the model needs" in text
    assert "reserves, per GPU" in text
    assert page.xpath(".//svg//polyline")
    assert page.xpath(".//th/code[text()='TRITON_MLA']/../../td[contains(., 'then fails')]")
    found = [f["id"] for f in answer["check"]["findings"]]
    assert page.xpath(".//a/@data-kv-id")[: len(found)] == found
    assert page.xpath(".//a/@href")[0] == f"../gotchas/{found[0]}/"
    assert answer["engine"] == "vllm"


def test_the_first_sentence_says_that_more_memory_alone_would_not_help(desk: Desk) -> None:
    form = {"line": "vllm serve deepseek-ai/DeepSeek-V3.2 -tp 8", "gpu": "A100 80GB SXM"}
    assert "does not fit; nor does an attention backend run for it" in verdict(desk, form)
    form["line"] = "vllm serve deepseek-ai/DeepSeek-V3.1 -tp 2"
    form["gpu"] = "H200"
    said = verdict(desk, form)
    assert "does not fit" in said
    assert "backend" not in said


def test_the_first_sentence_says_why_a_memory_could_not_be_sized(desk: Desk) -> None:
    form = {"line": "vllm serve Qwen/Qwen3-8BB", "gpu": "A100 80GB SXM"}
    said = verdict(desk, form)
    assert "could not be sized: 'Qwen/Qwen3-8BB' is not in the catalogue" in said
    assert "'Qwen/Qwen3-8B'" in said


def test_a_pasted_manifest_is_planned_and_its_command_names_a_file() -> None:
    from kvgate.manifests import read_pasted

    desk = Desk(json.dumps(known().to_json()), PATHS, read_pasted)
    text = "services:\n  llm:\n    image: vllm/vllm-openai:v0.33.0\n    command: [Qwen/Qwen3-8B]\n"
    answer = ask(desk, "plan", form={"line": text, "gpu": "H100 SXM"})["answer"]
    assert answer["engine"] == "vllm"
    assert answer["size"]["model"]["id"] == "Qwen/Qwen3-8B"
    said = html.fragment_fromstring(answer["html"], create_parent="div").text_content()
    assert "kvgate check deployment.yaml --gpu 'H100 SXM'" in said
    assert "services:" not in said
    # Without a reader of YAML nothing is guessed.
    blind = Desk(json.dumps(known().to_json()), PATHS)
    assert "starts no engine" in ask(blind, "plan", form={"line": text})["refusal"]["message"]


@pytest.mark.parametrize("explained", [True, False])
def test_a_finding_without_a_record_leads_to_its_code_where_the_site_has_a_page_of_it(
    explained: bool,
) -> None:
    paths = {k: v for k, v in PATHS.items() if explained or not k.startswith("KV")}
    desk = Desk(json.dumps(known().to_json()), paths)
    form = {"line": "vllm serve Qwen/Qwen3-8B --nope 3", "gpu": "H100 SXM"}
    answer = ask(desk, "plan", form=form, root="../")["answer"]
    assert [f["id"] for f in answer["check"]["findings"]] == ["KV401"]
    page = html.fragment_fromstring(answer["html"], create_parent="div")
    (link,) = page.xpath(".//ul[@class='kv-list']//a")
    assert link.get("href") == ("../reference/codes/kv401/" if explained else None)
    assert link.get("data-kv-id") is None


def test_a_plan_without_a_gpu_says_what_the_model_needs_and_what_is_missing(desk: Desk) -> None:
    answer = ask(desk, "plan", form={"model": "Qwen/Qwen3-8B"})["answer"]
    text = html.fragment_fromstring(answer["html"], create_parent="div").text_content()
    assert "one sequence of 40,960 tokens needs 5.62 GiB" in text
    assert "unknown gpu: the GPU (--gpu)" in text
    assert answer["size"]["pool"]["tokens"] is None


@pytest.mark.parametrize("engine", ["llama.cpp", "tensorrt-llm"])
def test_engines_without_gates_get_their_pool_all_the_same(desk: Desk, engine: str) -> None:
    form = {"model": "Qwen/Qwen3-8B", "gpu": "H100 SXM", "engine": engine, "context": "32K"}
    answer = ask(desk, "plan", form=form)["answer"]
    assert answer["size"]["pool"]["tokens"] > 0
    assert "==0" not in answer["html"]


def test_several_deployments_of_one_line_are_all_shown(desk: Desk) -> None:
    line = "vllm serve Qwen/Qwen3-8B & vllm serve Qwen/Qwen3-0.6B"
    answer = ask(desk, "plan", form={"line": line})["answer"]
    assert answer["html"].count("kv-verdict") == 2


def test_a_version_is_answered_for_only_where_the_line_starts_that_engine(desk: Desk) -> None:
    form = {"line": "vllm serve Qwen/Qwen3-8B", "engine": "vllm", "version": "0.30.0"}
    named = ask(desk, "plan", form=form)["answer"]["check"]["deployments"][0]["engine"]
    assert named == "vllm==0.30.0"
    form |= {"line": "python -m sglang.launch_server --model-path Qwen/Qwen3-8B"}
    named = ask(desk, "plan", form=form)["answer"]["check"]["deployments"][0]["engine"]
    assert named.startswith("sglang")


@pytest.mark.parametrize(
    "form",
    [
        {"line": f"vllm serve '{NASTY}' --kv-cache-dtype '{NASTY}' --served-model-name '{NASTY}'"},
        {"model": "Qwen/Qwen3-8B", "more": f"--nope '{NASTY}' {NASTY}"},
        {"model": "Qwen/Qwen3-8B", "kv": NASTY, "gpu": "H100 SXM"},
    ],
)
def test_what_a_link_brings_along_never_becomes_an_element(
    desk: Desk, form: dict[str, str]
) -> None:
    answer = ask(desk, "plan", form=form)
    shown = answer.get("answer", {}).get("html", "")
    assert shown or answer["refusal"]
    page = html.fragment_fromstring(shown, create_parent="div")
    assert not page.xpath(".//img | .//script | .//@*[starts-with(name(), 'on')]")
    if shown:
        assert NASTY in page.text_content()


def test_a_log_names_its_record_and_shows_its_line_as_text(desk: Desk) -> None:
    log = f"{NASTY}\nFlashMLA Dense is only supported on Hopper devices. {NASTY}\n"
    answer = ask(desk, "log", log=log, root="../")["answer"]
    assert answer["ids"][0] == "ctx-gotcha-long-context-kernel-gate-by-sm-generation"
    page = html.fragment_fromstring(answer["html"], create_parent="div")
    assert not page.xpath(".//img")
    assert "line 2 of the log" in page.text_content()


def test_a_log_that_fits_nothing_says_so(desk: Desk) -> None:
    answer = ask(desk, "log", log="the weather is fine")["answer"]
    assert answer["ids"] == []
    assert "none is near" in answer["html"]


def test_statements_give_values_and_refusals_line_by_line(desk: Desk) -> None:
    source = 'x = model("google/gemma-4-31B-it")\nx.head_sizes()\n[\n  1,\n]\n1 / 0\nmodel("zz")'
    lines = ask(desk, "claim", source=source)["answer"]
    assert [line["line"] for line in lines] == [1, 2, 3, 6, 7]
    assert [line["value"] for line in lines] == ["", "{256: 50, 512: 10}", "[1]", "", ""]
    assert "division by zero" in lines[3]["refusal"]
    assert "not in the catalogue" in lines[4]["refusal"]


@pytest.mark.parametrize(
    ("source", "says", "line"),
    [
        ("import os", "import is not allowed", 1),
        ("1\nopen('x')", "open", 2),
        ("x.__class__", "", 1),
        ("a = (", "no Python", 1),
        ("", "nothing to evaluate", 1),
        ("```\nimport os", "no Python", 1),
        ("1 " * 20_000, "too long", 1),
    ],
)
def test_what_the_evaluator_doesn_t_allow_is_refused_at_its_line(
    desk: Desk, source: str, says: str, line: int
) -> None:
    refusal = ask(desk, "claim", source=source)["refusal"]
    assert says in refusal["message"]
    assert refusal["line"] == line


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("nothing", "{}"),
        ("plan", "[]"),
        ("plan", "{"),
        ("plan", "{}"),
        ("check", "{}"),
        ("size", '{"model": "Qwen/Qwen3-8B", "foo": 1}'),
        ("size", '{"model": "Qwen/Qwen9"}'),
        ("backends", '{"model": "Qwen/Qwen3-8B"}'),
        ("plan", '{"form": {"line": "services:\\n  a:\\n    image: vllm/vllm-openai:v0.20.0"}}'),
    ],
)
def test_no_question_raises(desk: Desk, question: str, text: str) -> None:
    refusal = json.loads(desk.answer(question, text))["refusal"]
    assert refusal["message"]
    assert refusal["code"].startswith("KV")


def test_elements_escape_their_children_and_attributes() -> None:
    made = element("p", NASTY, Html("<b>b</b>"), None, title='"<', data_kv_id="a", hidden=False)
    assert made == (
        '<p title="&quot;&lt;" data-kv-id="a">&lt;img src=x onerror=alert(1)&gt;<b>b</b></p>'
    )
    assert joined("a < b", Html("<i></i>")) == "a &lt; b<i></i>"
