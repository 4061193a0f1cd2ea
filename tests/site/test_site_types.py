"""The site's scripts are typed, by comments, and TypeScript finds nothing wrong with them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TSC = ROOT / "node_modules" / "typescript" / "bin" / "tsc"
SCRIPTS = ROOT / "kvgate" / "site" / "theme" / "assets" / "kvgate"


@pytest.mark.skipif(
    shutil.which("node") is None or not TSC.is_file(), reason="TypeScript is not there (npm ci)"
)
def test_typescript_finds_nothing_wrong_with_the_site_s_scripts() -> None:
    done = subprocess.run(
        ["node", str(TSC), "--noEmit"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_every_script_asks_to_be_checked() -> None:
    unchecked = [
        path.name
        for path in SCRIPTS.glob("*.js")
        if not path.read_text("utf-8").startswith("// @ts-check\n")
    ]
    assert not unchecked
