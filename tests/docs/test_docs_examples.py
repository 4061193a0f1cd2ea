"""Every example of the pages, run: what a page shows is what the program prints.

A `console` fence is run, line by line, and compared; a line of three dots stands for any lines. A
fence with a `title` is a file that the page's commands find. In an `sh` fence commands are read,
not run: each must be one that there is, with options that there are.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from ruamel.yaml import YAML

from kvgate.cli.commands import cli
from tests.docs.conftest import ROOT, Shell, fences, same, steps

GENERATED = {"cli.md", "json.md"}
PAGES = [
    p for p in (*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")))
    if p.name not in GENERATED and p.parent.name != "codes"
]  # fmt: skip
CHECKOUT = re.compile(r"<!-- examples: in a checkout(?:, without (\S+))? -->")
# Programs that a reader has, or whose call is no matter of ours.
ELSEWHERE = {"git", "cd", "$EDITOR", "nvidia-smi", "pre-commit"}


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(f.kind == "console" for f in fences(p))], ids=name
)
def test_a_page_shows_what_its_commands_print(page: Path, shell: Callable[[bool], Shell]) -> None:
    checkout = CHECKOUT.search(page.read_text(encoding="utf-8"))
    if checkout and checkout[1] and (ROOT / checkout[1]).exists():
        pytest.skip("somebody followed this page here, so what it makes is there already")
    runner = shell(checkout is not None)
    for fence in fences(page):
        if fence.title and fence.kind != "console":
            path = runner.folder / fence.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(fence.text, encoding="utf-8")
        if fence.kind != "console":
            continue
        for step in steps(fence):
            printed = runner.run(step.command)
            assert same(step.shown, printed), (
                f"{name(page)}:{step.line}: {step.command}\nprints\n" + "\n".join(printed)
            )
            assert runner.status in (0, 1) or "KV0" in "".join(printed), step.command


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_command_that_a_page_names_is_one_that_there_is(page: Path) -> None:
    for fence in fences(page):
        if fence.kind == "sh":
            for line in fence.text.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words:
                    check(words, f"{name(page)}:{fence.line}: {line}")


def check(words: list[str], where: str) -> None:
    program = Path(words[0]).name
    if program == "kvgate":
        above = click.Context(cli, **cli.context_settings)
        command = cli.get_command(above, words[1])
        assert command is not None, where
        try:
            command.make_context(words[1], list(words[2:]), parent=above)
        except click.UsageError as error:
            pytest.fail(f"{where}: {error.message}")
        except click.exceptions.Exit:
            pass
    elif program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        for word in (w for w in words[1:] if "=" not in w):
            assert re.search(rf"^{re.escape(word)}:", makefile, re.MULTILINE), where
    elif program == "python" and words[1].startswith("scripts/"):
        script = (ROOT / words[1]).read_text(encoding="utf-8")
        for word in words[2:]:
            if word.startswith("--"):
                assert f'"{word.partition("=")[0]}"' in script, where
    elif program == "python" and words[1] == "-m":
        assert (ROOT / f"{words[2].replace('.', '/')}.py").is_file(), where
    elif program == "pip":
        extras = re.findall(r"\[([\w,]+)\]", " ".join(words))
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        for extra in (e for group in extras for e in group.split(",")):
            assert extra in project["optional-dependencies"], where
    else:
        assert program in ELSEWHERE, where


def test_an_example_of_the_action_gives_it_inputs_that_it_has() -> None:
    action = YAML(typ="safe", pure=True).load((ROOT / "action.yml").read_text("utf-8"))
    seen = 0
    for page in PAGES:
        for fence in fences(page):
            if fence.kind == "yaml" and "kvgate/kvgate@" in fence.text:
                workflow: Any = YAML(typ="safe", pure=True).load(fence.text)
                for job in workflow["jobs"].values():
                    for step in job["steps"]:
                        if step["uses"].startswith("kvgate/kvgate@"):
                            seen += 1
                            assert set(step["with"]) <= set(action["inputs"])
    assert seen


def test_every_json_and_toml_example_is_readable() -> None:
    for page in PAGES:
        for fence in fences(page):
            if fence.kind == "json":
                json.loads(fence.text)
            elif fence.kind == "toml":
                tomllib.loads(fence.text)


def test_three_dots_stand_for_any_lines_and_nothing_else() -> None:
    assert same(["a", "...", "d"], ["a", "b", "c", "d"])
    assert same(["..."], [])
    assert not same(["a", "...", "d"], ["a", "b", "c"])
    assert not same(["a"], ["a", "b"])
    assert not same(["a b"], ["a  b"])
    assert not same([], ["a"])
