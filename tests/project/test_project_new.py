"""The contributor's path: from a pasted log to a record with its rule and its test."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOG = """\
(APIServer pid=1) INFO 11-30 12:00:00 [api_server.py:1839] vLLM API server version 0.33.0
(APIServer pid=1) INFO 11-30 12:00:00 [utils.py:233] non-default args: {'model_tag': \
'Qwen/Qwen3-8B', 'model': 'Qwen/Qwen3-8B', 'attention_backend': 'FLASHINFER', 'enforce_eager': True}
(EngineCore pid=7) INFO 11-30 12:00:02 [gpu.py:1] NVIDIA H100 80GB HBM3
(EngineCore pid=7) ERROR 11-30 12:00:09 [core.py:700] EngineCore failed to start.
(EngineCore pid=7) ERROR 11-30 12:00:09 [core.py:700] ValueError: The made-up part at \
/home/ada/run needs 3 pages of 16 tokens
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.
"""
SAMPLE = "ValueError: The made-up part at <path> needs 3 pages of 16 tokens"
TITLE = "A made-up part wants three pages and stops vLLM at start"
ID = "a-made-up-part-wants-three-pages-and-stops-vllm-at-start"
RULE = ID.replace("-", "_")
BASIC = ["--title", TITLE, "--severity", "blocks-start", "--concept", "flashinfer"]

DIES = """
import os, signal
left = [{kill}]
def dying(before):
    def call(*given, **named):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return before(*given, **named)
    return call
os.link, os.replace = dying(os.link), dying(os.replace)
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """What of a checkout a new record and its rule touch."""
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "kvgate", tmp_path / "kvgate", ignore=skip)
    for name in ("tests/rules/conftest.py", "pyproject.toml", "changes/README.md",
                 "gotchas/concepts.toml"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "gotchas" / "ids.txt").write_text("", encoding="utf-8")
    (tmp_path / "engine.log").write_text(LOG, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(repository: Path) -> Run:
    def call(
        *arguments: str, text: str | None = None, kill: int = 0
    ) -> subprocess.CompletedProcess[str]:
        script = "from kvgate.cli import main; main()"
        if kill:  # dies at its kill-th link or replace
            script = DIES.format(kill=kill) + script
        return subprocess.run(
            [sys.executable, "-B", "-c", script, *arguments],
            cwd=repository, env={**os.environ, "PYTHONPATH": str(repository)}, input=text or "",
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    return call


def files(folder: Path) -> dict[str, str]:
    return {
        p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8")
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.suffix in (".py", ".md", ".toml", ".txt")
    }


@pytest.mark.slow
def test_a_pasted_log_becomes_a_record_with_its_rule_and_test(run: Run, repository: Path) -> None:
    hit = "vllm serve Qwen/Qwen3-8B --attention-backend FLASHINFER"
    done = run("new", "--log", "-", *BASIC, "--introduced", "0.30.0",
               "--source", "https://github.com/vllm-project/vllm/issues/1",
               "--hit", hit, "--miss", "vllm serve Qwen/Qwen3-8B", "--miss-gpu", "A100 80GB",
               "--miss-engine", "vllm==0.29.0", text=LOG)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"read the failing line: {SAMPLE}" in done.stderr
    for path in (f"gotchas/{ID}.md", "kvgate/rules/flashinfer.py", f"changes/+{ID}.records.md",
                 f"tests/rules/test_rules_{RULE}.py"):  # fmt: skip
        assert path in done.stdout
        assert (repository / path).is_file()
    assert f"lint gotchas/{ID}.md" in done.stdout
    assert "make test" in done.stdout

    record = (repository / "gotchas" / f"{ID}.md").read_text(encoding="utf-8")
    assert 'text: "ValueError: The made-up part at {*} needs {int} pages of {int} tokens"' in record
    assert "# yaml-language-server: $schema=https://" in record
    assert "because: without --attention-backend FLASHINFER" in record
    assert "because: A100 80GB SXM is compute capability 8.0" in record
    assert 'because: "0.29.0 isn\'t one from 0.30.0 on"' in record

    # The copy answers with the new rule: lint knows it, check reports it, diagnose finds the log.
    assert run("lint").returncode == 0
    found = run("check", hit, "--gpu", "H100", "--engine", "vllm==0.33.0")
    assert ID in found.stdout
    assert ID not in run("check", hit, "--gpu", "H100", "--engine", "vllm==0.29.0").stdout
    assert ID in run("diagnose", "engine.log").stdout
    again = run("new", "--log", "engine.log", *BASIC)
    assert again.returncode == 2
    assert f"the record {ID} explains this log already" in again.stderr
    other = ["--title", "Another story of the same line", *BASIC[2:], "--anyway"]
    assert run("new", "another-story", "--log", "engine.log", *other).returncode == 0
    assert f"also: [{ID}]" in (repository / "gotchas/another-story.md").read_text("utf-8")

    environment = {**os.environ, "PYTHONPATH": str(repository)}
    for command in (
        ["pytest", "-q", "-p", "no:cacheprovider", "tests/rules"],
        ["ruff", "format", "--check", "kvgate/rules", "tests/rules"],
        ["ruff", "check", "kvgate/rules", "tests/rules"],
    ):
        made = subprocess.run([sys.executable, "-m", *command], cwd=repository, env=environment,
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert made.returncode == 0, made.stdout + made.stderr


@pytest.mark.slow
def test_where_a_file_can_t_be_written_every_other_is_as_it_was(run: Run, repository: Path) -> None:
    (repository / "gotchas" / "ids.txt").write_text(f"{ID}\n", encoding="utf-8")
    before = files(repository)
    hit = ["--hit", "vllm serve Qwen/Qwen3-8B --block-size 64", "--gpu", "H100"]
    done = run(
        "new", *BASIC, *hit, "--miss", "vllm serve Qwen/Qwen3-8B", "--engine", "vllm==0.33.0"
    )
    assert done.returncode == 2
    assert "was used before" in done.stderr
    assert files(repository) == before


@pytest.mark.slow
def test_a_rule_joins_those_of_its_theme_and_one_that_is_there_is_tried(
    run: Run, repository: Path
) -> None:
    trial = ["--hit", "vllm serve Qwen/Qwen3-8B --block-size 64", "--gpu", "H100",
             "--engine", "vllm==0.33.0", "--miss", "vllm serve Qwen/Qwen3-8B"]  # fmt: skip
    done = run("new", *BASIC, *trial, "--theme", "precision", "--rule", "block_of_sixty_four")
    assert done.returncode == 0, done.stderr
    text = (repository / "kvgate/rules/precision.py").read_text(encoding="utf-8")
    assert "RULES = (\n    fp8_kv_at_long_context_on_hopper,\n    block_of_sixty_four,\n)" in text
    registry = (ROOT / "kvgate/rules/registry.py").read_text(encoding="utf-8")
    assert (repository / "kvgate/rules/registry.py").read_text(encoding="utf-8") == registry

    basic = ["--title", "Blocks of sixty-four tokens do what nobody expects", *BASIC[2:]]
    old = ["new", "another-record", *basic, *trial, "--rule", "block_of_sixty_four"]
    told = run(*old)
    assert told.returncode == 2
    assert "needs its reason" in told.stderr
    taken = run(*old, "--because", "the block is another")
    assert taken.returncode == 0, taken.stderr
    assert "because: the block is another" in (repository / "gotchas/another-record.md").read_text()
    bad = run("new", "a-third-record", *basic, *trial, "--rule", "heads_do_not_divide")
    assert bad.returncode == 2
    assert "does not report" in bad.stderr


# Each os.link and os.replace of a run that writes a rule too, in order; a new theme is a new file
# and a line in the registry.
@pytest.mark.slow
@pytest.mark.parametrize(("theme", "writes"), [("precision", 5), ("made_up_theme", 6)])
def test_a_run_that_is_killed_at_any_of_its_writes_is_ended_by_the_same_call(
    run: Run, repository: Path, theme: str, writes: int
) -> None:
    command = ["new", *BASIC, "--hit", "vllm serve Qwen/Qwen3-8B --block-size 64", "--gpu", "H100",
               "--engine", "vllm==0.33.0", "--miss", "vllm serve Qwen/Qwen3-8B",
               "--theme", theme]  # fmt: skip
    kept = {p: p.read_bytes() for p in repository.rglob("*") if p.is_file()}
    assert run(*command).returncode == 0
    whole = files(repository)
    for at in itertools.count(1):
        for path in repository.rglob("*"):
            if path.is_file() and path not in kept:
                path.unlink()
        for path, data in kept.items():
            path.write_bytes(data)
        if run(*command, kill=at).returncode == 0:
            break
        for lock in repository.rglob("*.lock"):  # its owner is dead; no need to wait for it
            os.utime(lock, (1, 1))
        again = run(*command)
        assert again.returncode == 0, (at, again.stderr)
        assert files(repository) == whole, at
    assert at == writes + 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "a new record needs --title, --severity, --concept"),
        ([*BASIC[:4], "--concept", "flashinfr"], "did you mean 'flashinfer'"),
        ([*BASIC, "--miss", "vllm serve a/b"], "a miss without a hit"),
        ([*BASIC, "--rule", "a_rule"], "a rule without a hit"),
        ([*BASIC, "--hit", "vllm serve a/b"], "--miss-engine vllm==0.22.0"),
        ([*BASIC, "--log", "nowhere.log"], "nowhere.log:1:1: KV002 the log can't be read"),
        ([*BASIC, "--log", "fine.log"], "no line of this log speaks of an error"),
        ([*BASIC, "--hit", "vllm serve a/b", "--miss", "vllm serve c/d"],
         "written in a checkout of its repository only"),
    ],
)  # fmt: skip
def test_what_is_missing_or_unknown_is_said_and_nothing_is_written(
    tmp_path: Path, arguments: list[str], says: str
) -> None:
    (tmp_path / "fine.log").write_text("INFO all is well\n", encoding="utf-8")
    folder = tmp_path / "gotchas"
    folder.mkdir()
    done = subprocess.run(
        [str(Path(sys.executable).parent / "kvgate"), "new", *arguments, "--records", str(folder)],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert says in done.stderr
    assert list(folder.iterdir()) == []


def at_a_terminal(folder: Path, *arguments: str, answers: list[str]) -> tuple[int, str]:
    """``kvgate new`` as a person runs it: its exit status, and what the terminal shows."""
    import pty
    import select

    asked, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-B", "-c", "from kvgate.cli import main; main()", "new", *arguments],
        cwd=folder, stdin=terminal, stdout=terminal, stderr=terminal,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": str(folder)},
    )  # fmt: skip
    os.close(terminal)
    os.write(asked, "".join(f"{answer}\n" for answer in answers).encode())
    shown = b""
    while select.select([asked], [], [], 60)[0]:
        try:
            block = os.read(asked, 4096)
        except OSError:
            break  # the other end is closed
        if not block:
            break
        shown += block
    os.close(asked)
    return process.wait(60), shown.decode().replace("\r\n", "\n")


terminals = pytest.mark.skipif(os.name != "posix", reason="a terminal of its own is POSIX")


@terminals
def test_at_a_terminal_what_is_missing_is_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "gotchas"
    folder.mkdir()
    (tmp_path / "engine.log").write_text(LOG, encoding="utf-8")
    # No hit is asked for: this is no checkout, where no rule can be written.
    answers = ["engine.log", TITLE, "", "blocks-start", "flashinfer",
               "https://github.com/org/project/issues/1"]  # fmt: skip
    status, shown = at_a_terminal(tmp_path, "--records", str(folder), answers=answers)
    assert status == 0, shown
    text = (folder / f"{ID}.md").read_text(encoding="utf-8")
    assert f"title: {TITLE}" in text
    assert 'introduced: "0.33.0"  # seen there; was it older?' in text
    assert "next:" in shown
    assert "that is hit" not in shown


@terminals
def test_an_answer_that_can_t_stand_is_asked_for_again(tmp_path: Path) -> None:
    folder = tmp_path / "gotchas"
    folder.mkdir()
    (folder / "ids.txt").write_text("an-old-id\n", encoding="utf-8")
    answers = ["", "short", TITLE, "an-old-id", "An Id", "a-new-id", "worst", "slower",
               "nonsense", "flashinfer", "vlm", "vllm==0.33.0", "http://github.com/org",
               ""]  # fmt: skip
    status, shown = at_a_terminal(tmp_path, "--records", str(folder), answers=answers)
    assert status == 0, shown
    assert shown.count(": Error: ") == 7
    for words in ("at least 12 characters", "was used before", "can't be 'An Id'",
                  "unknown concept 'nonsense'", "did you mean 'vllm'",
                  "begins with https://"):  # fmt: skip
        assert words in shown.replace("\n", " ")
    assert 'introduced: "0.33.0"' in (folder / "a-new-id.md").read_text(encoding="utf-8")


@terminals
@pytest.mark.slow
@pytest.mark.parametrize(("last", "rule"), [("", False), ("A100 80GB", True)])
def test_a_hit_without_a_miss_leaves_the_rule_out(repository: Path, last: str, rule: bool) -> None:
    # Not one: a command that is no engine's, a GPU that isn't known, a miss that is the hit.
    hit = "vllm serve Qwen/Qwen3-8B --attention-backend FLASHINFER --enforce-eager"
    answers = [TITLE, "", "slower", "flashinfer", "", "ls -l", "", hit, "", "no-such-card", last]
    status, shown = at_a_terminal(repository, "--log", "engine.log", answers=answers)
    assert status == 0, shown
    assert shown.count(": Error: ") == 3, shown
    assert (repository / "kvgate" / "rules" / "flashinfer.py").exists() is rule
    assert ("\nrule: " in (repository / "gotchas" / f"{ID}.md").read_text("utf-8")) is rule


@pytest.mark.slow
def test_two_at_once_lose_no_rule_of_one_theme(repository: Path) -> None:
    def begin(name: str, size: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-B", "-c", "from kvgate.cli import main; main()", "new", name,
             "--title", f"{TITLE}, seen with {name}", "--severity", "slower",
             "--concept", "flashinfer", "--hit", f"vllm serve Qwen/Qwen3-8B --block-size {size}",
             "--miss", "vllm serve Qwen/Qwen3-8B"],
            cwd=repository, env={**os.environ, "PYTHONPATH": str(repository)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    names = [f"twin-{number}" for number in range(3)]
    for process in [begin(n, str(16 * 2**i)) for i, n in enumerate(names)]:
        assert process.wait(120) == 0
        process.stdout.close()  # type: ignore[union-attr]
    module = (repository / "kvgate" / "rules" / "flashinfer.py").read_text(encoding="utf-8")
    assert all(f"def {n.replace('-', '_')}(" in module for n in names)


def test_a_gpu_that_has_no_place_is_said(run: Run) -> None:
    assert "the GPU stands nowhere yet" in run("new", "an-id", *BASIC, "--gpu", "H100").stdout
    assert "unknown GPU 'H1000'" in run("new", "another-id", *BASIC, "--gpu", "H1000").stderr


@pytest.mark.slow
def test_what_a_hit_says_and_nobody_knows_is_named(run: Run) -> None:
    hit = ["--hit", "vllm serve Qwen/Qwen3-8B --no-such 4", "--miss", "vllm serve Qwen/Qwen3-8B"]
    done = run("new", *BASIC, *hit, "--engine", "vllm==0.33.0")
    assert done.returncode == 2
    assert "nothing that kvgate can see parts miss 1" in done.stderr
    assert "--no-such" in done.stderr
    plain = "vllm serve Qwen/Qwen3-0.9B"
    hit = ["--hit", f"{plain} --kv-cache-dtype fp8", "--miss", plain]
    done = run("new", *BASIC, *hit, "--engine", "vllm==0.33.0")
    assert done.returncode == 0, done.stderr
    assert "not looked at: 'Qwen/Qwen3-0.9B' is not in the catalogue" in done.stdout + done.stderr
