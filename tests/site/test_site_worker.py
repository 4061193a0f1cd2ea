"""What the web worker loads is in the site where Pyodide is there, and said to be missing else."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import packaging
import pytest
from lxml import html

from kvgate.errors import InputError
from kvgate.site.wheel import wheel
from kvgate.site.worker import _FILES, Pyodide

GUIDE = "# Guide\n\n<!-- kvgate: planner -->\n"
Build = Callable[..., "subprocess.CompletedProcess[str]"]


def pyodide(folder: Path) -> Path:
    """A ``node_modules`` with files of Pyodide's names."""
    home = folder / "node_modules" / "pyodide"
    home.mkdir(parents=True)
    for name in _FILES:
        (home / name).write_text('{"version": "1.2.3"}', encoding="utf-8")
    return folder / "node_modules"


@pytest.fixture
def built(base: Callable[..., Path], text: Callable[..., str], mkdocs: Build) -> Build:
    """Build a base whose guide asks for the planner, with or without Pyodide."""

    def made(*, there: bool) -> tuple[Path, subprocess.CompletedProcess[str]]:
        folder = base({"a-record.md": text("a-record")}, guide=GUIDE)
        if there:
            pyodide(folder)
        config = (folder / "mkdocs.yml").read_text("utf-8")
        config = config.replace("records: records", "records: records, worker: node_modules")
        (folder / "mkdocs.yml").write_text(config, encoding="utf-8")
        done = mkdocs(folder, "--strict")
        assert done.returncode == 0, done.stderr
        return folder / "site", done

    return made  # type: ignore[return-value]


def page(site: Path, path: str) -> Any:
    """A page as a tree."""
    return html.fromstring((site / path / "index.html").read_bytes())


@pytest.mark.slow
def test_a_build_without_pyodide_is_strict_says_so_and_has_a_page_that_says_so(
    built: Callable[..., tuple[Path, subprocess.CompletedProcess[str]]],
) -> None:
    site, done = built(there=False)
    assert "the planner is left out of the site" in done.stderr
    assert "npm ci" in done.stderr
    assert not (site / "assets" / "worker").exists()
    guide = page(site, "guide")
    assert "has no planner" in guide.text_content()
    assert "kvgate check" in guide.text_content()
    assert guide.xpath("//svg")
    assert not guide.xpath("//*[@data-kv-planner]")
    assert not page(site, "find").xpath("//*[@data-kv-log]")
    assert not page(site, "gotchas/a-record").xpath("//*[@data-kv-run]")


@pytest.mark.slow
def test_a_build_with_pyodide_brings_all_that_the_worker_loads(
    built: Callable[..., tuple[Path, subprocess.CompletedProcess[str]]],
) -> None:
    site, done = built(there=True)
    assert "planner" not in done.stderr
    folder = site / "assets" / "worker"
    manifest = json.loads((folder / "worker.json").read_text("utf-8"))
    assert manifest["pyodide"] == "pyodide-1.2.3/"
    for name in _FILES:
        assert (folder / manifest["pyodide"] / name).is_file()
    for name in (*manifest["wheels"], manifest["records"]):
        file, mark = name.split("?")
        assert hashlib.sha256((folder / file).read_bytes()).hexdigest().startswith(mark)
    records = json.loads((folder / "records.json").read_text("utf-8"))
    assert [head["id"] for head in json.loads(records["heads"])["heads"]] == ["a-record"]
    assert records["paths"] == {"a-record": "gotchas/a-record/"}
    guide = page(site, "guide")
    assert guide.xpath("//form[.//input[@name='model']]")
    choices = json.loads(guide.xpath("//@data-kv-choices")[0])
    assert choices["versions"]["vllm"][0] == "0.33.0"
    assert {"fp8", "nvfp4"} <= set(choices["dtypes"]["vllm"])
    assert {"fp8_e5m2"} <= set(choices["dtypes"]["sglang"])
    assert {"q8_0"} <= set(choices["dtypes"]["llama.cpp"])
    assert all("auto" not in names and names for names in choices["dtypes"].values())
    assert page(site, "find").xpath("//*[@data-kv-log]")
    assert page(site, "gotchas/a-record").xpath("//*[@data-kv-run]")


def test_every_control_of_the_form_has_a_name_that_is_seen() -> None:
    from kvgate.site.book import read_book
    from kvgate.site.planner import planner_block

    folder = Path(__file__).resolve().parents[2] / "gotchas"
    made: Any = html.fromstring(planner_block(read_book(folder), lambda path: path, worker=True))
    controls = made.xpath(".//input | .//select | .//textarea")
    assert len(controls) > 12
    for control in controls:
        (label,) = control.xpath("ancestor::label")
        assert label.text_content().strip()


def test_pyodide_that_isn_t_whole_is_refused_with_what_to_do(tmp_path: Path) -> None:
    modules = pyodide(tmp_path)
    assert Pyodide.found(modules).version == "1.2.3"
    (modules / "pyodide" / "pyodide.asm.wasm").unlink()
    with pytest.raises(InputError, match=r"no pyodide\.asm\.wasm") as refused:
        Pyodide.found(modules)
    assert "npm ci" in refused.value.hint


def test_what_is_carried_along_brings_its_licence() -> None:
    import yaml

    made = wheel(Path(yaml.__file__).parent, dist="pyyaml")
    assert made.name.startswith("pyyaml-")
    with zipfile.ZipFile(BytesIO(made.data)) as archive:
        names = archive.namelist()
        (text,) = (n for n in names if n.endswith(".dist-info/licenses/LICENSE"))
        assert b"Kirill Simonov" in archive.read(text)
    assert "yaml/scanner.py" in names
    assert not [n for n in names if n.endswith((".so", ".pyd"))]


def test_a_wheel_is_the_same_each_time_and_its_record_is_true() -> None:
    made = wheel(Path(packaging.__file__).parent)
    assert made == wheel(Path(packaging.__file__).parent)
    assert made.name == f"packaging-{packaging.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(BytesIO(made.data)) as archive:
        info = f"packaging-{packaging.__version__}.dist-info"
        rows = archive.read(f"{info}/RECORD").decode().splitlines()
        assert {row.split(",")[0] for row in rows} == set(archive.namelist())
        for row in rows:
            path, digest, size = row.split(",")
            if path.endswith("/RECORD"):
                continue
            data = archive.read(path)
            hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
            assert (digest, size) == (f"sha256={hashed.decode()}", str(len(data)))
