"""The worker's kvgate, in Node's Pyodide: its answers are those of the commands."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kvgate.errors import InputError
from kvgate.records.heads import known
from kvgate.site.worker import FOLDER, Pyodide, write_worker
from tests.browser.grid import Question, commanded, grid

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "kvgate" / "site" / "theme" / "assets" / "kvgate"
NODE = shutil.which("node")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder ``assets`` of a site: its scripts, and what the worker loads."""
    if NODE is None:
        pytest.skip("Node is not installed (Debian: apt-get install nodejs npm)")
    try:
        pyodide = Pyodide.found(ROOT / "node_modules")
    except InputError as error:
        pytest.skip(f"{error.message}; {error.hint}")
    site = tmp_path_factory.mktemp("site")
    paths = {head.id: f"gotchas/{head.id}/" for head in known().heads}
    write_worker(site, pyodide, known().to_json(), paths)
    shutil.copytree(SCRIPTS, (site / FOLDER).parent / "kvgate")
    return (site / FOLDER).parent


def in_node(assets: Path, questions: list[Question]) -> list[dict[str, Any]]:
    assert NODE
    done = subprocess.run(
        [NODE, str(Path(__file__).with_name("in_node.mjs")), str(assets)],
        input=json.dumps([[q.name, json.dumps(q.given)] for q in questions]),
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(text) for text in json.loads(done.stdout)]


def test_the_worker_answers_as_the_commands_do_over_a_grid(assets: Path) -> None:
    questions = grid()
    assert len(questions) > 450
    refused = 0
    for question, answer in zip(questions, in_node(assets, questions), strict=True):
        expected = commanded(question)
        if "refusal" in expected:
            refused += 1
            got = answer["refusal"]
            assert (got["message"], got["code"]) == expected["refusal"], question
        else:
            assert answer == expected, question
    assert 4 <= refused < len(questions) / 3


def test_the_worker_s_wheel_holds_nothing_that_needs_more_than_it_brings(assets: Path) -> None:
    import zipfile

    (path,) = (assets / "worker").glob("kvgate-*.whl")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    tops = {name.split("/")[1] for name in names if name.startswith("kvgate/")}
    assert {"answers", "catalog", "plan", "rules", "__init__.py"} <= tops
    assert "manifests.py" in tops
    assert not tops & {"records", "site", "cli", "gotchas", "__pycache__"}
