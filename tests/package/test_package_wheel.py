"""The wheel: built from the checkout, installed into an empty environment, run elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("kvgate-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kvgate command of an environment that holds the wheel and what it depends on.

    The dependencies are this environment's own, by a path file: a test needs no network.
    """
    folder = tmp_path_factory.mktemp("empty") / "venv"
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel)],
        check=True,
        capture_output=True,
    )
    (site,) = folder.glob("lib/python*/site-packages")
    ours = Path(sys.prefix).glob("lib/python*/site-packages")
    # Behind the environment's own packages, and without this checkout's editable install.
    (site / "dependencies.pth").write_text("\n".join(str(p) for p in ours) + "\n", encoding="utf-8")
    return folder / "bin" / "kvgate"


def run(command: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd)}
    return subprocess.run(
        [str(command), *arguments], cwd=cwd, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def test_catalogue_templates_and_records_travel_in_the_wheel(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in (
        "kvgate/catalog/gpus.toml",
        "kvgate/catalog/kv_formats.toml",
        "kvgate/catalog/engines/vllm/0.33.0.json",
        "kvgate/catalog/engines/sglang/0.5.23.json",
        "kvgate/records/codes.toml",
        "kvgate/site/templates/record_head.html.j2",
        "kvgate/gotchas/flashinfer-rejects-large-head-dim.md",
        "kvgate/gotchas/concepts.toml",
        "kvgate/py.typed",
    ):
        assert wanted in names, wanted
    assert sum(n.startswith("kvgate/catalog/models/") for n in names) > 80
    assert not any(n.startswith(("tests/", "scripts/", "docs/")) for n in names)


def test_the_installed_command_answers_outside_the_checkout(
    installed: Path, tmp_path: Path
) -> None:
    done = run(installed, "size", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kv"]["bytes_per_token"] == 24576


def test_the_installed_command_has_the_records(installed: Path, tmp_path: Path) -> None:
    done = run(installed, "show", "flashinfer-rejects-large-head-dim", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "512" in done.stdout
    module = run(installed, "lint", cwd=tmp_path)
    assert module.returncode == 0, module.stdout + module.stderr
    assert str(ROOT) not in module.stdout + module.stderr


def test_the_installed_claims_hold(installed: Path, tmp_path: Path) -> None:
    done = run(installed, "claims", "flashinfer-rejects-large-head-dim", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
