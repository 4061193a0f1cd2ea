"""What a reader waits for, in a headless Chromium: a part of ``make bench``.

The site is built into a folder of its own and served below ``/kvgate/`` on this machine. Wall time
says little while others use the machine, so the worker's own work is told in processor time too.
"""

from __future__ import annotations

import gzip
import http.server
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page, Request, sync_playwright

from scripts.generated_records import CONFIG, write

__all__ = ["browser"]

ROOT = Path(__file__).resolve().parents[1]
RECORD = "gotchas/flashinfer-rejects-large-head-dim/"
_ANSWERED = "[data-kv-planner][data-kv-took]"
_PATIENCE = 300_000  # milliseconds

Row = Callable[[str, str, str, str], None]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


def browser(row: Row) -> None:
    """Pages' weight, the planner's first answer and its further ones; says what is missing."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None or not (ROOT / "node_modules" / "pyodide").is_dir():
        row("in the browser", "not measured", "Chromium or npm ci is missing", "")
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "mkdocs", "build", "-q", "-d", f"{folder}/kvgate"]
        subprocess.run(
            command, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
        )
        handler = partial(_Quiet, directory=folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        site = f"http://127.0.0.1:{server.server_address[1]}/kvgate/"
        _build_generated(Path(folder))
        with sync_playwright() as playwright:
            opened = playwright.chromium.launch(executable_path=chromium, chromium_sandbox=False)
            _weights(opened, site, row)
            _planner(opened, site, row)
            _map(opened, f"{site}../generated/", row)
            opened.close()
        _node(Path(folder) / "kvgate", row)
        server.shutdown()


def _weights(opened: Browser, site: str, row: Row) -> None:
    """Bytes of a first visit, as a host compresses them, and the worker's among them."""
    for what, path in (("front page", ""), ("a record", RECORD), ("the planner", "planner/")):
        page = opened.new_page()
        loaded: list[Request] = []
        page.on("requestfinished", partial(_noted, loaded))
        page.goto(site + path)
        page.wait_for_load_state("networkidle")
        sizes = {r.url: _sent(r) for r in loaded if r.url.startswith(site)}
        worker = sum(size for url, size in sizes.items() if "/assets/worker/" in url)
        row(f"first visit: {what}", f"{sum(sizes.values()) / 1000:.0f} kB", "gzip", "< 300 kB")
        row("  of that, Pyodide and kvgate", f"{worker} B", "", "0 B")
        page.close()


def _noted(loaded: list[Request], request: Request) -> None:
    loaded.append(request)


def _sent(request: Request) -> int:
    answer = request.response()
    return len(gzip.compress(answer.body())) if answer is not None else 0


def _node(folder: Path, row: Row) -> None:
    """The worker's own work until its first answer, in processor time: waiting isn't counted."""
    node = shutil.which("node")
    if node is None:
        return
    form = {"model": "Qwen/Qwen3-Next-80B-A3B-Instruct", "gpu": "H200", "tp": "4"}
    questions = json.dumps([["plan", json.dumps({"form": form})]])
    script = ROOT / "tests" / "browser" / "in_node.mjs"
    spent = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [node, str(script), str(folder / "assets")],
            input=questions, capture_output=True, text=True, check=True,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    row("  in Node, seconds of one processor", f"{min(spent):.1f} s", _all(spent), "")


def _planner(opened: Browser, site: str, row: Row) -> None:
    """From the first touch of the form to the answer, then from change to answer."""
    cold = []
    for _ in range(3):
        context = opened.new_context()
        page = context.new_page()
        page.goto(f"{site}planner/")
        page.wait_for_load_state("networkidle")
        start = time.perf_counter()
        page.select_option("[name=gpu]", "H200")
        _answered(page)
        cold.append(time.perf_counter() - start)
        if len(cold) < 3:
            context.close()
    row("planner: first answer, nothing cached", f"{min(cold):.1f} s", _all(cold), "< 10 s")
    took = []
    for context_length in range(16, 256, 8):
        page.evaluate("delete document.querySelector('[data-kv-planner]').dataset.kvTook")
        page.fill("[name=context]", f"{context_length}K")
        _answered(page)
        took.append(int(page.get_attribute(_ANSWERED, "data-kv-took") or 0))
    spread = f"{min(took)} to {max(took)} ms"
    row("planner: a change", f"{statistics.median(took):.0f} ms", spread, "< 100 ms")
    took.clear()
    for model in ("google/gemma-4-31B-it", "openai/gpt-oss-120b", "deepseek-ai/DeepSeek-V3"):
        page.evaluate("delete document.querySelector('[data-kv-planner]').dataset.kvTook")
        page.fill("[name=model]", model)
        _answered(page)
        took.append(int(page.get_attribute(_ANSWERED, "data-kv-took") or 0))
    row("planner: another model, seen first", f"{max(took)} ms", "the slowest of 3", "< 100 ms")


def _build_generated(folder: Path) -> None:
    """The site of 1,000 generated records, in ``folder/generated``."""
    write(folder / "source" / "gotchas", 1000)
    (folder / "source" / "docs").mkdir()
    (folder / "source" / "docs" / "index.md").write_text("# Home\n", encoding="utf-8")
    places = {"docs": folder / "source" / "docs", "site": folder / "generated"}
    config = CONFIG.format(**places, plugin="{kvgate: {records: gotchas}}")
    (folder / "source" / "mkdocs.yml").write_text(config, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q"],
        cwd=folder / "source", check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip


_CHANGE = """async ([name, value]) => {
  const control = document.querySelector("[data-kv-map] form").elements.namedItem(name);
  const start = performance.now();
  control.value = value;
  control.dispatchEvent(new Event("input", {bubbles: true}));
  await new Promise((go) => requestAnimationFrame(() => setTimeout(go, 0)));
  return performance.now() - start;
}"""


def _map(opened: Browser, site: str, row: Row) -> None:
    """The map of 1,000 records: its weight, its first sight, and each way to narrow it down."""
    for width in (1280, 390):
        context = opened.new_context(viewport={"width": width, "height": 844})
        page = context.new_page()
        page.goto(f"{site}map/")
        page.locator(".kv-map[data-kv-ready]").wait_for()
        if width == 1280:
            text = page.request.get(f"{site}map/").body()
            sent = f"{len(gzip.compress(text)) / 1000:.0f} kB gzip"
            elements = page.evaluate("document.querySelectorAll('*').length")
            row("map of 1,000 records: HTML", f"{len(text) / 1000:.0f} kB", sent, "")
            row("  elements on the page", f"{elements:,}", "", "")
        paint, load = page.evaluate(
            "[performance.getEntriesByName('first-contentful-paint')[0].startTime,"
            " performance.getEntriesByType('navigation')[0].loadEventEnd]"
        )
        row(f"  at {width} px: usable after", f"{load:.0f} ms", f"first paint {paint:.0f} ms", "")
        height = page.evaluate("document.documentElement.scrollHeight / innerHeight")
        row(f"  at {width} px: screens high", f"{height:.1f}", "", "")
        tools = context.new_cdp_session(page)
        tools.send("Performance.enable", {"timeDomain": "threadTicks"})
        for what, changes in (
            ("a filter", [("severity", "slower"), ("concept", "kv-sizing"), ("severity", "")]),
            ("typing", [("words", "n"), ("words", "number 7"), ("words", "")]),
        ):
            before = _busy(tools)
            took = [page.evaluate(_CHANGE, change) for change in changes]
            spent = (_busy(tools) - before) / len(changes)
            waited = f"{statistics.median(took):.0f} ms waited"
            row(f"  at {width} px: {what}, processor", f"{spent:.0f} ms", waited, "< 100 ms")
        context.close()


def _busy(tools: CDPSession) -> float:
    """Milliseconds of processor time that the page's thread has spent."""
    values = {m["name"]: m["value"] for m in tools.send("Performance.getMetrics")["metrics"]}
    return float(values["TaskDuration"]) * 1000


def _answered(page: Page) -> None:
    page.locator(_ANSWERED).wait_for(state="attached", timeout=_PATIENCE)


def _all(seconds: list[float]) -> str:
    return "of " + ", ".join(f"{s:.1f}" for s in seconds)
