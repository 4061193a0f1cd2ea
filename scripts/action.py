"""What the GitHub Action runs: `lint` or `check` over several paths, with annotations on the lines.

The inputs come as KVGATE_RUN, KVGATE_PATHS (one a line), KVGATE_GPU, KVGATE_ENGINE, KVGATE_WAIVERS
and KVGATE_FAIL. Exit status: 0 nothing found, 1 findings, 2 unusable input.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath

import click

from kvgate.cli.commands import cli
from kvgate.cli.findings import as_github
from kvgate.cli.visible import uncommanding, visible
from kvgate.errors import Diagnostic, InputError, Place

__all__ = ["main"]

_PATTERN = re.compile(r"[*?\[]")
# A file that names none of these starts no engine: it isn't worth parsing, and no finding.
_ENGINES = re.compile(r"vllm|sglang|trtllm|tensorrt.?llm|llama[-_.]?(?:server|cpp)|ollama|dynamo")
_SKIPPED = {".git", ".github", "node_modules", ".venv"}
_LARGEST = 16 * 2**20


def main(inputs: Mapping[str, str], root: Path) -> int:
    """Run what the inputs ask for, below ``root``, the folder of the repository."""
    words = [w.strip() for w in inputs.get("KVGATE_PATHS", "").split("\n") if w.strip()]
    try:
        if not words:
            raise InputError("the input paths is empty", hint="name folders, files or patterns")
        match inputs.get("KVGATE_RUN", ""):
            case "lint":
                status, found = _lint(words)
            case "check":
                status, found = _check(words, root, inputs)
            case other:
                raise InputError(f"the input run is {other!r}", hint="run: lint, or run: check")
    except InputError as error:
        _say(error)
        return 2
    _output(inputs.get("GITHUB_OUTPUT", ""), f"findings={found}\n")
    print(f"{found} findings")
    if status == 1 and inputs.get("KVGATE_FAIL", "true") == "false":
        return 0
    return status


def _lint(paths: list[str]) -> tuple[int, int]:
    status, lines = _kvgate(["lint", *paths, "--format", "github"])
    more, claims = _kvgate(["claims", "--allow-none", *paths, "--format", "github"])
    # Both say what is wrong with a front matter.
    both = list(dict.fromkeys([*lines, *claims]))
    print("\n".join(both))
    return max(status, more), len(both)


def _check(words: list[str], root: Path, inputs: Mapping[str, str]) -> tuple[int, int]:
    options = ["--format", "github"]
    for name in ("gpu", "engine", "waivers"):
        value = inputs.get(f"KVGATE_{name.upper()}", "").strip()
        options += [f"--{name}", value] if value else []
    worst, found, checked, left = 0, 0, 0, 0
    for path, named in _files(words, root):
        if not named and not _starts_something(root / path):
            left += 1
            continue
        try:
            status, lines = _kvgate(["check", path.as_posix(), *options])
        except InputError as error:
            _say(error, path, level="error" if named else "notice")
            worst, left = (2, left) if named else (worst, left + 1)
            continue
        print("\n".join(lines))
        worst, found, checked = max(worst, status), found + len(lines), checked + 1
    print(f"files checked: {checked}; left out, as they start no engine that kvgate knows: {left}")
    if not checked and not worst:
        raise InputError(
            f"no file of {', '.join(words)} starts an engine that kvgate knows",
            hint="name the files that do: a pattern such as deploy/**/*.yaml looks below a folder",
        )
    return worst, found


def _files(words: list[str], root: Path) -> Iterator[tuple[PurePath, bool]]:
    """Each file once, below the repository, and whether it was named in full."""
    seen: set[PurePath] = set()
    for word in words:
        named = not _PATTERN.search(word)
        if named:
            paths = [root / word]
        else:
            try:
                paths = sorted(p for p in root.glob(word) if p.is_file())
            except (ValueError, NotImplementedError) as error:
                raise InputError(f"{word!r} is no pattern: {error}") from None
        for path in paths:
            # A pattern such as ../* or a symbolic link must not lead out of the repository.
            if not path.resolve().is_relative_to(root.resolve()):
                if named:
                    raise InputError("lies outside the repository", place=Place(word))
                continue
            short = path.relative_to(root) if path.is_relative_to(root) else PurePath(word)
            if short in seen or (not named and _SKIPPED.intersection(short.parts)):
                continue
            seen.add(short)
            yield short, named


def _starts_something(path: Path) -> bool:
    try:
        if path.stat().st_size > _LARGEST:
            return False
        return bool(_ENGINES.search(path.read_text("utf-8", errors="replace").casefold()))
    except OSError:
        return False


def _kvgate(arguments: list[str]) -> tuple[int, list[str]]:
    """A command's exit status and the lines it printed. Raises InputError as the command does."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        try:
            code = cli.main(arguments, prog_name="kvgate", standalone_mode=False)
        except SystemExit as exit_:
            code = exit_.code
        except click.ClickException as error:
            raise InputError(error.format_message()) from None
    # Not splitlines: what a stranger wrote may hold other ends of lines than a runner knows, and
    # what comes after one would be a workflow command of theirs.
    lines = uncommanding(visible(text.getvalue())).split("\n")
    return code if isinstance(code, int) else 0, [line for line in lines if line]


def _say(error: InputError, path: PurePath | None = None, *, level: str = "error") -> None:
    """Annotate the place of an error; without one it stands in the run's summary."""
    place = error.place or (Place(path.as_posix()) if path else None)
    found = Diagnostic(error.code, place or Place("-"), error.message, error.hint)
    line = as_github([found]).removeprefix("::error ")
    print(visible(f"::{level} {line if place else line[line.index('title=') :]}"))


def _output(path: str, text: str) -> None:
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    sys.exit(main(os.environ, Path.cwd()))
