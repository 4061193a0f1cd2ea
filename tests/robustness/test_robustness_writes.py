"""What is written is whole: interrupted, refused or doubled writes leave the old file."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from kvgate.errors import InputError
from kvgate.records import atomic
from kvgate.records.atomic import write_text
from kvgate.records.loader import load
from kvgate.records.register import FILE, add_ids, read_register

ROOT = Path(__file__).resolve().parents[2]
KVGATE = str(Path(sys.executable).parent / "kvgate")
RECORD = "flashinfer-rejects-large-head-dim"
NEW = ["--title", "Something happens that nobody expects", "--severity", "surprise",
       "--concept", "mla"]  # fmt: skip

posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits are POSIX")
as_root = pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write into any folder"
)


def kvgate(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [KVGATE, *arguments], capture_output=True, text=True, check=False, **options
    )


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "gotchas"
    folder.mkdir()
    for name in (f"{RECORD}.md", "concepts.toml"):
        shutil.copy(ROOT / "gotchas" / name, folder / name)
    (folder / FILE).write_text(f"{RECORD}\n", encoding="utf-8")
    return folder


def break_a_claim(library: Path) -> str:
    path = library / f"{RECORD}.md"
    text = path.read_text(encoding="utf-8").replace("{256: 50, 512: 10}", "{256: 51, 512: 10}")
    path.write_text(text, encoding="utf-8")
    return text


def leftovers(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir() if p.name.startswith(".")]


@posix
def test_a_write_that_is_killed_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "a.md"
    target.write_text("old", encoding="utf-8")
    script = textwrap.dedent(f"""
        import os, signal
        from kvgate.records import atomic
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        atomic.write_text({str(target)!r}, "new" * 10000)
    """)
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    assert target.read_text(encoding="utf-8") == "old"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.md"
    target.write_text("old", encoding="utf-8")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_text(target, "new")
    assert target.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.md"]


@posix
def test_a_new_file_keeps_the_mode_of_the_old_and_a_link_its_target(tmp_path: Path) -> None:
    target = tmp_path / "a.md"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    link = tmp_path / "link.md"
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"
    assert target.stat().st_mode & 0o777 == 0o640


@posix
@pytest.mark.parametrize(
    "arguments", [["claims", "{}", "--fix", "--write"], ["lint", "{}", "--fix", "--write"]],
    ids=["claims", "lint"],
)  # fmt: skip
def test_a_full_disk_leaves_the_record_as_it_was(library: Path, arguments: list[str]) -> None:
    text = break_a_claim(library).replace("schema_version: 1\n", "")
    record = library / f"{RECORD}.md"
    if arguments[0] == "lint":
        record.write_text(text, encoding="utf-8")
    before = record.read_text(encoding="utf-8")
    # A limit on the size of any file that the process writes acts as a disk with no more room.
    script = textwrap.dedent("""
        import resource, signal, sys
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        sys.argv = ["kvgate", *sys.argv[1:]]
        from kvgate.cli import main
        main()
    """)
    command = [a.format(record) for a in arguments]
    done = subprocess.run(
        [sys.executable, "-B", "-c", script, *command],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "KV002" in done.stderr
    assert record.read_text(encoding="utf-8") == before
    assert not leftovers(library)


@posix
@pytest.mark.parametrize("limit", [0, 40, 300])
def test_a_new_record_is_there_whole_or_not_at_all(library: Path, limit: int) -> None:
    script = textwrap.dedent(f"""
        import resource, signal, sys
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
        from kvgate.cli import main
        main()
    """)
    command = ["new", "a-new-record", *NEW, "--records", str(library)]
    done = subprocess.run(
        [sys.executable, "-B", "-c", script, *command],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "can't be written" in done.stderr
    assert not (library / "a-new-record.md").exists()
    assert not leftovers(library)
    assert list(read_register(library / FILE)) == [RECORD]
    again = kvgate("new", "a-new-record", *NEW, "--records", str(library))
    assert again.returncode == 0, again.stderr


@posix
def test_a_new_record_that_is_killed_on_the_way_can_be_begun_again(library: Path) -> None:
    script = textwrap.dedent("""
        import os, signal
        from kvgate.cli import main
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        main()
    """)
    command = ["new", "a-new-record", *NEW, "--records", str(library)]
    done = subprocess.run([sys.executable, "-c", script, *command], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (library / "a-new-record.md").exists()
    assert set(load(library).records) == {RECORD}  # what was begun is no record
    again = kvgate("new", "a-new-record", *NEW, "--records", str(library))
    assert again.returncode == 0, again.stderr


def test_of_two_authors_at_once_one_gets_the_id(library: Path) -> None:
    command = [KVGATE, "new", "a-new-record", *NEW, "--records", str(library)]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    ended = [(p.communicate()[1], p.returncode) for p in running]
    assert sorted(code for _, code in ended) == [0, 2, 2, 2]
    assert all("used before" in text for text, code in ended if code == 2)
    assert "a-new-record" in load(library).records


def test_authors_of_several_records_at_once_are_all_in_the_register(library: Path) -> None:
    names = [f"record-{n}" for n in range(6)]
    running = [
        subprocess.Popen([KVGATE, "new", name, *NEW, "--records", str(library),
                          "--title", f"The {name} does something that nobody expects"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for name in names
    ]  # fmt: skip
    for process in running:
        assert process.communicate()[1] == ""
        assert process.returncode == 0
    assert list(read_register(library / FILE)) == sorted([RECORD, *names])
    assert not leftovers(library)


def test_a_lock_that_nobody_gave_back_is_taken_over_or_named(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = library / f".{FILE}.lock"
    lock.touch()
    monkeypatch.setattr(atomic, "_PATIENCE", 0.1)
    with pytest.raises(InputError, match="another kvgate") as error:
        add_ids(library / FILE, ["a-new-record"])
    assert lock.name in error.value.hint
    os.utime(lock, (1, 1))
    assert add_ids(library / FILE, ["a-new-record"]) == ("a-new-record",)
    assert not lock.exists()


def test_without_hard_links_a_file_is_still_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "link", unknown)
    atomic.create_text(tmp_path / "a", "one")
    with pytest.raises(FileExistsError):
        atomic.create_text(tmp_path / "a", "two")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "one"
    assert not leftovers(tmp_path)


def test_two_rewrites_at_once_leave_a_whole_file(library: Path) -> None:
    break_a_claim(library)
    record = library / f"{RECORD}.md"
    command = [KVGATE, "claims", str(record), "--fix", "--write"]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for process in running:
        assert "Traceback" not in process.communicate()[1]
    whole = (ROOT / "gotchas" / f"{RECORD}.md").read_text(encoding="utf-8")
    assert record.read_text(encoding="utf-8") == whole
    assert not leftovers(library)


@posix
@as_root
def test_a_folder_that_cannot_be_written_is_an_error_without_a_traceback(library: Path) -> None:
    break_a_claim(library)
    record = library / f"{RECORD}.md"
    before = record.read_text(encoding="utf-8")
    library.chmod(0o555)
    try:
        for arguments in (
            ["claims", str(record), "--fix", "--write"],
            ["new", "a-new-record", *NEW, "--records", str(library)],
        ):
            done = kvgate(*arguments)
            assert done.returncode == 2
            assert "Traceback" not in done.stderr
            assert "ermission denied" in done.stderr
    finally:
        library.chmod(0o755)
    assert record.read_text(encoding="utf-8") == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize(
    "arguments", [["size", "Qwen/Qwen3-8B", "--json"], ["show", RECORD], ["graph"], ["--help"]],
    ids=["size", "show", "graph", "help"],
)  # fmt: skip
def test_output_that_cannot_be_written_is_no_traceback(arguments: list[str]) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [KVGATE, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "space" in done.stderr
