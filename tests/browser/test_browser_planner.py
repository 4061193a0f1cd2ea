"""The planner, the log page and claims in a real browser: one worker, as readers have it."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from kvgate.errors import InputError
from kvgate.site.worker import Pyodide
from tests.browser.grid import commanded, grid
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

COLD = 120_000  # milliseconds that a crowded machine may need to load Python
TOOK = "document.querySelector('[data-kv-planner]').dataset.kvTook"
"""Where the page says how long its last answer took, in milliseconds."""
LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096,
    "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _pyodide() -> None:
    try:
        Pyodide.found(ROOT / "node_modules")
    except InputError as error:
        pytest.skip(f"{error.message}; {error.hint}")


@pytest.fixture(scope="module")
def said() -> list[str]:
    """What the shared page complains about."""
    return []


@pytest.fixture(scope="module")
def warm(browser: Browser, site_url: str, said: list[str]) -> Iterator[Page]:
    """A page whose worker has answered once."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
    page.on("request", lambda r: said.append(r.url) if not r.url.startswith(site_url) else None)
    page.goto(f"{site_url}planner/#model=Qwen/Qwen3-8B&gpu=H100 SXM")
    answered(page)
    yield page
    context.close()


def answered(page: Page) -> None:
    """Wait for the planner's answer. The page's policy forbids scripts made of strings."""
    took = page.locator("[data-kv-planner][data-kv-took]")
    try:
        took.wait_for(state="attached", timeout=COLD)
    except PlaywrightTimeout:
        pytest.fail(f"{page.url} says {page.locator('[role=status]').all_inner_texts()}")


def plan(page: Page, **fields: str) -> None:
    """Open the planner with these fields, as a link does, and wait for its answer."""
    page.evaluate(f"delete {TOOK}")
    words = "&".join(f"{name}={quote(value)}" for name, value in fields.items())
    # The address may be this one already, of which a browser says nothing.
    page.evaluate("(w) => { location.hash = ''; location.hash = w; }", words)
    answered(page)


def field(page: Page, name: str, value: str) -> None:
    """Change one field as a reader does, and wait for the answer."""
    page.evaluate(f"delete {TOOK}")
    control = page.locator(f"[name={name}]")
    if control.evaluate("(one) => one.localName") == "select":
        control.select_option(value)
    else:
        control.fill(value)
    answered(page)


def test_a_pasted_manifest_is_answered_and_travels_in_the_address(warm: Page) -> None:
    from tests.browser.grid import COMPOSE

    warm.goto(warm.url.partition("#")[0])
    warm.locator("[name=way][value=line]").check()
    field(warm, "gpu", "H100 SXM")
    field(warm, "line", COMPOSE)
    verdict = warm.locator(".kv-verdict")
    expect(verdict).to_contain_text("google/gemma-4-31B-it")
    expect(verdict).to_contain_text("vllm 0.19.1 on H100 SXM")
    expect(warm.locator("[data-kv-answer] .kv-command")).to_have_text(
        "kvgate check deployment.yaml --gpu 'H100 SXM'"
    )
    warm.wait_for_function("() => location.hash.includes('lines=')")
    assert "services" not in warm.url
    address = warm.url
    told = verdict.text_content()
    warm.goto("about:blank")
    warm.goto(address)
    answered(warm)
    expect(verdict).to_have_text(told or "?")
    assert warm.locator("[name=line]").input_value().strip() == COMPOSE.strip()


def test_a_dropped_manifest_is_what_is_asked_about(warm: Page) -> None:
    from tests.browser.grid import DOCKERFILE

    plan(warm, model="Qwen/Qwen3-8B", gpu="H100 SXM")
    warm.evaluate(f"delete {TOOK}")
    warm.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "Dockerfile"));
          document.querySelector("[data-kv-planner]")
            .dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
        }""",
        DOCKERFILE,
    )
    answered(warm)
    assert warm.locator("[name=way][value=line]").is_checked()
    assert warm.locator("[name=line]").input_value().strip() == DOCKERFILE.strip()
    expect(warm.locator(".kv-answer")).to_contain_text("--nope")


def test_nothing_of_python_is_fetched_before_it_is_asked_for(page: Page, site_url: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path in ("planner/", "find/", "gotchas/flashinfer-rejects-large-head-dim/"):
        page.goto(site_url + path)
        page.wait_for_load_state("networkidle")
    assert any("planning.js" in url for url in asked)
    assert [url for url in asked if "/assets/worker/" in url or "kvgate/worker.js" in url] == []


def test_the_worker_answers_as_the_commands_do(warm: Page) -> None:
    questions = grid(every=6)
    assert len(questions) > 70
    answers = warm.evaluate(
        """async (questions) => {
          const { ask } = await import(new URL("../assets/kvgate/asking.js", location.href));
          return Promise.all(questions.map(([name, given]) => ask(name, given)));
        }""",
        [[q.name, q.given] for q in questions],
    )
    for question, answer in zip(questions, answers, strict=True):
        expected = commanded(question)
        if "refusal" in expected:
            got = answer["refusal"]
            assert (got["message"], got["code"]) == expected["refusal"], question
        else:
            # The way through the browser makes 1.0 of JSON the number 1, which are equal.
            assert answer == expected, question


def test_a_change_is_answered_within_a_tenth_of_a_second(warm: Page) -> None:
    plan(warm, model="Qwen/Qwen3-Next-80B-A3B-Instruct", gpu="H100 SXM", tp="4")
    took = []
    for context in range(32, 224, 16):
        field(warm, "context", f"{context}K")
        took.append(int(warm.evaluate(TOOK)))
    assert statistics.median(took) < 100, took


def test_the_address_holds_the_plan_and_a_link_restores_it(warm: Page, site_url: str) -> None:
    plan(warm, model="Qwen/Qwen3-8B")
    field(warm, "gpu", "B200")
    field(warm, "engine", "sglang")
    field(warm, "kv", "fp8_e5m2")
    warm.wait_for_url("**/planner/#*fp8_e5m2*")
    before = warm.locator("[data-kv-answer]").inner_text()
    assert "SGLang" in warm.locator("[name=engine] option:checked").inner_text()
    assert "python -m sglang.launch_server --model-path Qwen/Qwen3-8B" in before
    words = warm.url.partition("#")[2]
    plan(warm, model="openai/gpt-oss-20b")
    assert warm.locator("[data-kv-answer]").inner_text() != before
    plan(warm, **dict(parse_qsl(words)))
    assert warm.locator("[data-kv-answer]").inner_text() == before
    assert warm.input_value("[name=kv]") == "fp8_e5m2"


def test_a_link_followed_while_the_page_still_scrolls_keeps_its_plan(
    page: Page, site_url: str
) -> None:
    def late(route: Route) -> None:
        time.sleep(0.8)
        route.continue_()

    # What watches the scrolling waits until it rests, and may then speak of another page.
    page.route("**/planning.js", late)
    page.goto(f"{site_url}gotchas/flashinfer-rejects-large-head-dim/", wait_until="networkidle")
    page.mouse.wheel(0, 60)
    page.get_by_role("link", name="in the planner").click()
    answered(page)
    assert "#line=vllm" in page.url


def test_a_command_line_brings_its_findings_and_its_engine(warm: Page) -> None:
    plan(
        warm,
        line="vllm serve deepseek-ai/DeepSeek-V3 --kv-cache-dtype fp8 -tp 8",
        gpu="A100 80GB SXM",
    )
    assert warm.is_checked("[name=way][value=line]")
    assert not warm.is_visible("[name=model]")
    expect(warm.locator(".kv-verdict")).to_contain_text("does not fit")
    first = warm.locator(".kv-list a").first
    assert (first.get_attribute("href") or "").endswith(
        f"/gotchas/{first.get_attribute('data-kv-id')}/"
    )
    field(warm, "line", "python -m sglang.launch_server --model-path Qwen/Qwen3-8B")
    assert warm.input_value("[name=engine]") == "sglang"


def test_what_can_t_be_used_is_refused_in_words_and_the_last_answer_pales(warm: Page) -> None:
    plan(warm, model="Qwen/Qwen3-8B", gpu="H100 SXM")
    field(warm, "model", "Qwen/Qwen9")
    status = warm.locator("[role=status]")
    expect(status).to_contain_text("not in the catalogue of models")
    expect(status).to_contain_text("did you mean")
    expect(warm.locator("[data-kv-answer]")).to_have_class("kv-answer kv-stale")
    field(warm, "model", "Qwen/Qwen3-8B")
    expect(warm.locator("[data-kv-answer]")).to_have_class("kv-answer")


def test_a_name_that_no_list_has_is_asked_all_the_same(warm: Page) -> None:
    plan(warm, model="Qwen/Qwen3-8B", gpu="H100", version="0.33.0", engine="vllm")
    assert warm.input_value("[name=gpu]") == "H100"
    expect(warm.locator(".kv-verdict")).to_contain_text("H100 SXM")
    plan(warm, model="Qwen/Qwen3-8B", gpu="H1000")
    expect(warm.locator("[role=status]")).to_contain_text("H1000")


def test_a_configuration_is_pasted_or_dropped_and_travels_in_the_link(warm: Page) -> None:
    plan(warm, gpu="H100 SXM", engine="vllm")
    warm.locator(".kv-own summary").click()
    field(warm, "config", json.dumps(LLAMA))
    expect(warm.locator(".kv-verdict")).to_contain_text("my-model")
    expect(warm.locator(".kv-figures dd").first).to_have_text("128.00 KiB")
    warm.wait_for_url("**/planner/#*config=*")
    link = warm.url
    assert "llama" not in link  # squeezed
    warm.evaluate(f"delete {TOOK}")
    warm.set_input_files(
        ".kv-own input[type=file]",
        {"name": "config.json", "mimeType": "application/json",
         "buffer": json.dumps({**LLAMA, "num_hidden_layers": 16}).encode()},
    )  # fmt: skip
    answered(warm)
    expect(warm.locator(".kv-figures dd").first).to_have_text("64.00 KiB")
    warm.evaluate(f"delete {TOOK}")
    warm.evaluate("(hash) => { location.hash = hash; }", link.partition("#")[2])
    answered(warm)
    expect(warm.locator(".kv-figures dd").first).to_have_text("128.00 KiB")
    assert json.loads(warm.input_value("[name=config]")) == LLAMA


def test_what_a_link_brings_along_does_not_run(warm: Page, said: list[str]) -> None:
    plan(warm, line="vllm serve '<img src=x onerror=document.title=1>' --nope '<b>'")
    assert warm.title() != "1"
    assert warm.locator("[data-kv-answer] img").count() == 0
    assert said == []


@pytest.mark.parametrize("scheme", ["default", "slate"])
def test_an_answer_has_no_serious_fault_for_those_who_see_or_move_otherwise(
    warm: Page, scheme: str
) -> None:
    axe = ROOT / "node_modules" / "axe-core" / "axe.min.js"
    if not axe.is_file():
        pytest.skip("axe-core is not installed (npm ci)")
    line = "vllm serve deepseek-ai/DeepSeek-V3 --kv-cache-dtype fp8 -tp 8 --nope"
    plan(warm, line=line, gpu="A100 80GB SXM")
    warm.evaluate("(s) => document.body.setAttribute('data-md-color-scheme', s)", scheme)
    warm.wait_for_timeout(1000)  # the theme changes its colours step by step
    for details in warm.locator("[data-kv-answer] details:not([open]) summary").all():
        details.click()
    warm.evaluate(axe.read_text("utf-8"))
    answer = warm.evaluate("axe.run(document, {resultTypes: ['violations']})")
    bad = [
        (fault["id"], fault["nodes"][0]["html"][:200])
        for fault in answer["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
    warm.evaluate("document.body.setAttribute('data-md-color-scheme', 'default')")
    assert bad == []


def test_the_form_can_be_used_with_the_keyboard_alone(warm: Page) -> None:
    plan(warm, model="Qwen/Qwen3-8B", engine="vllm")
    warm.focus("[name=way][value=fields]")
    met = []
    for _ in range(12):
        warm.keyboard.press("Tab")
        met.append(warm.evaluate("document.activeElement.name || document.activeElement.localName"))
    assert met[:10] == [
        "model", "gpu", "engine", "version", "context", "kv", "tp", "pp", "util", "more"
    ]  # fmt: skip
    assert met[10] == "summary"
    warm.focus("[name=context]")
    warm.evaluate(f"delete {TOOK}")
    warm.keyboard.type("32K")
    answered(warm)
    expect(warm.locator("[role=status]")).to_contain_text("32,768 tokens")


def test_instant_navigation_keeps_the_worker_and_brings_the_form_to_life(
    page: Page, site_url: str
) -> None:
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{site_url}reference/gpus/")
    page.wait_for_load_state("networkidle")
    page.evaluate("window.kvMark = 'the same document'")

    def go(tab: str, path: str) -> None:
        page.locator(".md-tabs__link", has_text=tab).click()
        page.wait_for_url(f"**/{path}/")
        page.locator("form:visible, table:visible").first.wait_for()

    go("Planner", "planner")
    field(page, "gpu", "B200")
    expect(page.locator(".kv-verdict")).to_contain_text("B200")
    go("Models", "reference/models")
    loaded = sum("/assets/worker/" in url for url in asked)
    go("Planner", "planner")
    field(page, "gpu", "H200")
    expect(page.locator(".kv-verdict")).to_contain_text("H200")
    assert sum("/assets/worker/" in url for url in asked) == loaded
    assert page.evaluate("window.kvMark") == "the same document"
    assert said == []


def test_a_log_is_diagnosed_whole_and_goes_nowhere(warm: Page, site_url: str) -> None:
    sent: list[str] = []
    warm.on("request", lambda r: sent.append(r.method) if r.method != "GET" else None)
    warm.goto(f"{site_url}find/")
    log = "INFO all is well\n" * 500 + "FlashMLA Dense is only supported on Hopper devices.\n"
    warm.fill("textarea", log)
    warm.get_by_role("button", name="Diagnose").click()
    link = warm.locator("[data-kv-answer] li a").first
    link.wait_for(timeout=COLD)
    assert link.get_attribute("data-kv-id") == (
        "ctx-gotcha-long-context-kernel-gate-by-sm-generation"
    )
    expect(warm.locator("[data-kv-answer] li").first).to_contain_text("line 501 of the log")
    warm.set_input_files(
        "input[type=file]",
        {"name": "x.log", "mimeType": "text/plain", "buffer": b"the weather is fine"},
    )
    expect(warm.locator("[data-kv-answer]")).to_contain_text("none is near")
    assert sent == []


def test_a_claim_is_changed_and_evaluated_where_it_stands(warm: Page, site_url: str) -> None:
    warm.goto(f"{site_url}gotchas/flashinfer-rejects-large-head-dim/")
    bar = warm.locator(".kv-rerun")
    bar.get_by_role("button", name="gemma4-heads").click()
    box = warm.get_by_label("The claim's statements")
    assert box.input_value() == 'gemma = model("google/gemma-4-31B-it")\ngemma.head_sizes()'
    box.fill('gemma = model("google/gemma-2-9b-it")\ngemma.head_sizes()')
    box.press("Control+Enter")
    values = warm.locator(".kv-values")
    values.locator("pre").wait_for(timeout=COLD)
    expect(values.locator("pre")).to_have_text("{256: 42}")
    box.fill("gemma.head_sizes()\n__import__('os')")
    warm.get_by_role("button", name="Evaluate").click()
    expect(values).to_contain_text("Line")
    assert values.locator("pre").count() == 0
    warm.get_by_role("button", name="Close").click()
    assert warm.locator(".kv-change").count() == 0
    expect(bar.get_by_role("button", name="gemma4-heads")).to_be_focused()


def test_a_record_s_hit_opens_in_the_planner(warm: Page, site_url: str) -> None:
    warm.goto(f"{site_url}gotchas/flashinfer-rejects-large-head-dim/")
    warm.get_by_role("link", name="in the planner").click()
    answered(warm)
    link = warm.locator('[data-kv-answer] a[data-kv-id="flashinfer-rejects-large-head-dim"]')
    expect(link.first).to_be_visible()


def test_without_a_script_the_planner_shows_an_answer_and_names_the_command(
    browser: Browser, site_url: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site_url}planner/")
    assert not page.is_visible("form[hidden]")
    text = page.locator(".kv-planner").inner_text()
    assert 'kvgate check "vllm serve' in text
    assert "24.00 KiB" in text
    assert page.locator(".kv-chart svg").is_visible()
    context.close()


def test_nothing_of_all_this_complained_or_left_the_site(warm: Page, said: list[str]) -> None:
    assert said == []


def test_a_failed_download_is_said_and_the_next_question_begins_anew(
    page: Page, site_url: str
) -> None:
    page.route("**/*.wasm", lambda route: route.abort())
    page.goto(f"{site_url}planner/#model=Qwen/Qwen3-8B&gpu=H100 SXM")
    status = page.locator("[data-kv-planner] [role=status]")
    expect(status).to_contain_text("could not be loaded", timeout=COLD)
    # The example that the page was built with would be taken for the answer to the link.
    expect(page.locator(".kv-verdict")).to_have_count(0)
    page.unroute("**/*.wasm")
    page.locator("[name=context]").fill("8K")
    answered(page)
    expect(page.locator(".kv-verdict")).to_contain_text("8,192 tokens fits")


def test_a_large_paste_travels_in_the_address_too(warm: Page, said: list[str]) -> None:
    import random

    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    noise = "".join(random.Random(1).choices(letters, k=400_000))
    warm.goto(warm.url.partition("#")[0])
    warm.locator("[name=way][value=line]").check()
    field(warm, "line", f"vllm serve Qwen/Qwen3-8B\n# {noise}")
    warm.wait_for_function("() => location.hash.length > 200000")
    assert not said


def test_an_address_that_no_browser_could_have_made_is_no_error(
    warm: Page, said: list[str]
) -> None:
    plan(warm, model="Qwen/Qwen3-8B")
    warm.evaluate("location.hash = 'model=Qwen/Qwen3-8B&context=%E0%A4'")
    warm.wait_for_timeout(300)
    assert not said
