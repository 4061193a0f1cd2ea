"""The examples of a page, and a folder to run them in."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(
    r"^(?P<pad> *)(?P<mark>`{3,})(?P<kind>\w+)?(?P<rest>[^\n`]*)\n(?P<text>.*?)^ *(?P=mark)`*$",
    re.MULTILINE | re.DOTALL,
)
_TITLE = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True)
class Fence:
    """A fence of a page: its language, its title (a file's name), its text and its first line."""

    kind: str
    title: str
    text: str
    line: int


@dataclass
class Step:
    """One command of a console fence, and what the page shows that it prints."""

    command: str
    line: int
    shown: list[str] = field(default_factory=list)


def fences(page: Path) -> Iterator[Fence]:
    """Every fence of a page, those inside longer fences left out."""
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        title = _TITLE.search(found["rest"])
        pad = len(found["pad"])
        body = "".join(f"{line[pad:]}\n" for line in found["text"].splitlines())
        line = text.count("\n", 0, found.start()) + 1
        yield Fence(found["kind"] or "", title[1] if title else "", body, line)


def steps(fence: Fence) -> list[Step]:
    """The commands of a console fence: a line that begins with $, continued after a backslash."""
    found: list[Step] = []
    lines = iter(enumerate(fence.text.splitlines(), fence.line + 1))
    for number, line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command += "\n" + next(lines)[1]
            found.append(Step(command, number))
        else:
            assert found, f"line {number}: output before any command"
            found[-1].shown.append(line)
    return found


def same(shown: list[str], printed: list[str]) -> bool:
    """Whether a text is what a page shows; a line of three dots stands for any lines."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(same(shown[1:], printed[at:]) for at in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0].rstrip() and same(shown[1:], printed[1:])


@dataclass
class Shell:
    """Runs the steps of a page in a folder of their own, with kvgate on the path or beside."""

    folder: Path
    path: str
    status: int = 0

    def run(self, command: str) -> list[str]:
        """The lines that a command prints, errors among them."""
        if command == "echo $?":
            return [str(self.status)]
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={
                "PATH": self.path,
                "HOME": str(self.folder),
                "COLUMNS": "80",
                "LC_ALL": "C.UTF-8",
                "PYTHONPATH": str(self.folder),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False,
        )  # fmt: skip
        self.status = done.returncode
        return done.stdout.rstrip("\n").split("\n") if done.stdout.strip() else []


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[bool], Shell]:
    """A folder to run a page's examples in: empty, or with what of a checkout they touch."""

    def make(checkout: bool) -> Shell:
        folder = tmp_path / "page"
        programs = folder / ".venv" / "bin"
        programs.mkdir(parents=True)
        python, kvgate = programs / "python", programs / "kvgate"
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
        # As pip writes it: the program knows by what name it was called.
        kvgate.write_text(
            f"#!{sys.executable} -P\nfrom kvgate.cli import main\n\nmain()\n", encoding="utf-8"
        )
        for program in (python, kvgate):
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
        if checkout:
            skip = shutil.ignore_patterns("__pycache__")
            for name in ("kvgate", "scripts"):
                shutil.copytree(ROOT / name, folder / name, ignore=skip)
            for name in ("tests/rules/conftest.py", "pyproject.toml", "changes/README.md",
                         "gotchas/concepts.toml"):  # fmt: skip
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
            (folder / "gotchas" / "ids.txt").write_text("", encoding="utf-8")
        path = [] if checkout else [str(programs)]
        return Shell(folder, os.pathsep.join([*path, "/usr/local/bin", "/usr/bin", "/bin"]))

    return make
