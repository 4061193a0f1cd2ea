"""``kill -9`` at each step of every command that writes, and two runs of it at once.

Whatever happens, a file is the old one or the new one, whole; and the command can be run again.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from kvgate.records.lint import lint
from kvgate.records.register import FILE, read_register

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX")

ROOT = Path(__file__).resolve().parents[2]
RECORD = "flashinfer-rejects-large-head-dim"
# Each is called once a write, in this order. All commands write by the same function, so that one
# of them goes through all steps, and the others show that they do use it.
STEPS = {"lint": ("fdopen", "fsync", "chmod", "replace")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Records of which one has what lint and claims mend, and two files that are written over."""
    folder = tmp_path / "gotchas"
    folder.mkdir()
    text = (ROOT / "gotchas" / f"{RECORD}.md").read_text(encoding="utf-8")
    (folder / f"{RECORD}.md").write_text(
        text.replace("{256: 50, 512: 10}", "{256: 51}"), encoding="utf-8"
    )
    # What lint mends is a front matter that claims would refuse to look beyond.
    (folder / "unversioned.md").write_text(
        text.replace("schema_version: 1\n", "").replace(f"id: {RECORD}", "id: unversioned"),
        encoding="utf-8",
    )
    shutil.copy(ROOT / "gotchas" / "concepts.toml", folder)
    (folder / FILE).write_text(f"{RECORD}\n", encoding="utf-8")
    for name in ("graph.json", "plot.svg"):
        (tmp_path / name).write_text("old\n", encoding="utf-8")
    return folder


COMMANDS = {
    "lint": (["lint", "gotchas/unversioned.md", "--fix", "--write"], "gotchas/unversioned.md"),
    "claims": (["claims", f"gotchas/{RECORD}.md", "--fix", "--write"], f"gotchas/{RECORD}.md"),
    "graph": (["graph", "gotchas", "--output", "graph.json"], "graph.json"),
    "plot": (["size", "Qwen/Qwen3-8B", "--plot", "plot.svg"], "plot.svg"),
}


def run(command: list[str], where: Path, *, kill: str = "", at: int = 1) -> int:
    """Run a command in a process of its own, which dies by SIGKILL at a step's ``at``-th call."""
    script = textwrap.dedent(f"""
        import os, signal, sys
        kill, left = {kill!r}, [{at}]
        if kill:
            before = getattr(os, kill)
            def dies(*given, **named):
                left[0] -= 1
                if not left[0]:
                    if kill == "fdopen":  # with half of a text in the new file
                        os.write(given[0], b"half")
                    os.kill(os.getpid(), signal.SIGKILL)
                return before(*given, **named)
            setattr(os, kill, dies)
        sys.argv = ["kvgate", *sys.argv[1:]]
        from kvgate.cli import main
        main()
    """)
    done = subprocess.run(
        [sys.executable, "-B", "-c", script, *command],
        cwd=where, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_killed_leaves_the_old_file_and_can_be_run_again(
    folder: Path, name: str
) -> None:
    command, written = COMMANDS[name]
    target = folder.parent / written
    old = target.read_bytes()
    for step in STEPS.get(name, ("replace",)):
        assert run(command, folder.parent, kill=step) == -signal.SIGKILL, step
        assert target.read_bytes() == old, step
    assert run(command, folder.parent) in (0, 1)
    assert target.read_bytes() != old


# A new record is written first, then the register: which of the two a step belongs to.
@pytest.mark.parametrize(
    ("step", "at", "made"),
    [("fsync", 1, False), ("link", 1, False), ("fsync", 2, True), ("replace", 1, True)],
)
def test_a_new_record_that_is_killed_is_whole_or_not_there_and_the_same_call_ends_it(
    folder: Path, step: str, at: int, made: bool
) -> None:
    new = [
        "new", "a-new-record", "--title", "Something happens that nobody expects",
        "--severity", "surprise", "--concept", "mla", "--records", "gotchas",
    ]  # fmt: skip
    assert run(new, folder.parent, kill=step, at=at) == -signal.SIGKILL
    record = folder / "a-new-record.md"
    assert record.exists() is made
    assert list(read_register(folder / FILE)) == [RECORD]
    lock = folder / f".{FILE}.lock"
    if lock.exists():  # its owner is dead; waiting for it is another test's business
        os.utime(lock, (1, 1))
    if made:  # the linter says what is missing, and of what it is not, nothing
        codes = {d.code for d in lint([record])}
        assert codes == {"KV139"}
    assert run(new, folder.parent) == 0
    assert list(read_register(folder / FILE)) == ["a-new-record", RECORD]
    assert lint([record]) == []
    whole = record.read_text(encoding="utf-8")
    assert whole.startswith("---\n")
    assert "## Claims" in whole or "## Symptom" in whole
    assert run(new, folder.parent) == 2  # once is enough
    other = [*new[:1], "another-record", "--title", "Another thing happens here", *new[4:]]
    assert run(other, folder.parent) == 0
    assert "another-record" in read_register(folder / FILE)


@pytest.mark.parametrize("name", COMMANDS)
def test_two_runs_at_once_leave_what_one_leaves(folder: Path, name: str) -> None:
    command, written = COMMANDS[name]
    target = folder.parent / written
    old = target.read_bytes()
    kvgate = str(Path(sys.executable).parent / "kvgate")
    running = [
        subprocess.Popen(
            [kvgate, *command], cwd=folder.parent, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    for process in running:
        assert "Traceback" not in process.communicate()[1]
        assert process.returncode in (0, 1)
    both = target.read_bytes()
    assert both != old
    target.write_bytes(old)
    run(command, folder.parent)
    assert target.read_bytes() == both
    assert not [p.name for p in target.parent.iterdir() if p.name.endswith(".new")]
