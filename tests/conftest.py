"""The repository's own site, built once for all that look at it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
_PATIENCE = 600
"""Seconds that a test process waits for the one that builds the site."""


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
