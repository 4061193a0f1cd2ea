"""The repository's own site below a path, and Debian's Chromium to look at it.

Tests here are skipped, with the reason, where there is no Chromium; none is downloaded.
"""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_PATIENCE = 600
"""Seconds that a test process waits for the one that builds the site."""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Static files as a plain server gives them, without a line for each request."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


def _build(target: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(target)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=env, timeout=_PATIENCE
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def site_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of the built site; test processes that run side by side share one."""
    own = tmp_path_factory.getbasetemp()
    shared = own if worker_id == "master" else own.parent
    root, ready, failed = shared / "browser", shared / "browser.ready", shared / "browser.failed"
    try:
        root.mkdir()
    except FileExistsError:  # another process builds it
        end = time.monotonic() + _PATIENCE
        while not ready.exists():
            assert not failed.exists(), "the site could not be built; another process says why"
            assert time.monotonic() < end, "the site took too long to build"
            time.sleep(0.2)
    else:
        try:
            _build(root / "kvgate")
        except BaseException:
            failed.touch()
            raise
        ready.touch()
    return root / "kvgate"


@pytest.fixture(scope="session")
def site_url(site_folder: Path) -> Iterator[str]:
    """The address of the built site, below ``/kvgate/`` of a server on this machine."""
    handler = functools.partial(_Quiet, directory=str(site_folder.parent))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/kvgate/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium. One a module: while it is open, no other event loop runs here."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        # As root, as CI often is, Chromium has no sandbox; what it opens is ours.
        opened = playwright.chromium.launch(executable_path=CHROMIUM, chromium_sandbox=False)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page in a context of its own: no cache, no storage of another test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()
