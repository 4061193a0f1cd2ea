"""Every command, argument and option says what it is, and the reference pages say the same."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import click
import pytest

from kvgate.cli.commands import COMMANDS, cli

ROOT = Path(__file__).resolve().parents[2]


def command(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli, **cli.context_settings), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_sentence_and_each_of_its_options_too(name: str) -> None:
    found = command(name)
    assert COMMANDS[name].endswith(".")
    assert found.help
    assert len(found.help.split()) > 5
    silent = [
        parameter.opts[0]
        for parameter in found.params
        if isinstance(parameter, click.Option) and not (parameter.help or "").strip()
    ]
    assert not silent, f"kvgate {name}: these options have no help: {', '.join(silent)}"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_s_help_names_its_arguments(name: str) -> None:
    found = command(name)
    # A command keeps the help option of the first context that asks for it, so it's the real one.
    context = click.Context(found, parent=click.Context(cli, **cli.context_settings))
    for parameter in found.params:
        if isinstance(parameter, click.Argument):
            shown = parameter.make_metavar(context).strip("[].").removesuffix("...")
            assert shown in (found.help or ""), shown


def test_no_test_calls_a_command_without_the_program_that_it_belongs_to() -> None:
    # click keeps a command's --help as it was first asked for: without the group it lacks -h, and
    # the pages that are written from it after such a test would too.
    alone = re.compile(r"from kvgate\.cli\.\w+ import .*\bcommand\b")
    found = [p.name for p in (ROOT / "tests").rglob("*.py") if alone.search(p.read_text("utf-8"))]
    assert not found


def test_the_generated_pages_are_what_the_code_says(
    program: Callable[[str], ModuleType],
) -> None:
    for path, text in program("write_reference").pages():
        assert path.is_file(), f"run scripts/write_reference.py: {path.name} is missing"
        written = path.read_text(encoding="utf-8")
        assert written == text, f"run scripts/write_reference.py: {path.name} is out of date"


def test_the_readme_lists_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [name for name in COMMANDS if f"`{name}`" not in readme]
    assert not missing


def test_help_of_every_command_comes_without_an_error() -> None:
    kvgate = str(Path(sys.executable).parent / "kvgate")
    for name in COMMANDS:
        done = subprocess.run([kvgate, name, "--help"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert not done.stderr


def test_every_code_has_a_page_and_no_page_is_of_a_code_that_went() -> None:
    from kvgate.records.codes import codes

    folder = ROOT / "docs" / "reference" / "codes"
    pages = {path.name for path in folder.iterdir()} - {"index.md"}
    assert pages == {f"{name.lower()}.md" for name in codes()}


def test_a_code_leads_to_its_page_from_explain_and_from_sarif() -> None:
    import json

    from click.testing import CliRunner

    from kvgate.cli.findings import as_sarif
    from kvgate.errors import Diagnostic, Place
    from kvgate.records.address import SITE

    assert f"site_url: {SITE}\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    page = f"{SITE}reference/codes/kv305/"
    assert page in CliRunner().invoke(cli, ["explain", "kv305"], prog_name="kvgate").output
    found = [Diagnostic("KV305", Place("a.md"), "x"), Diagnostic("a-record", Place("b.md"), "y")]
    rules = json.loads(as_sarif(found))["runs"][0]["tool"]["driver"]["rules"]
    assert [r["helpUri"] for r in rules] == [page, f"{SITE}gotchas/a-record/"]
