"""What a release left behind: old checks, and rules that answer otherwise since."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.version import Version

from kvgate.catalog.engines import releases
from kvgate.errors import InputError
from kvgate.plan import Plan
from kvgate.rules import registry
from kvgate.rules.stale import ages, answer, last_two, move
from kvgate.rules.verdict import Finding, Undecided, Verdict

ROOT = Path(__file__).resolve().parents[2]
OLDER, NEWER = last_two("vllm") or pytest.fail("the catalogue holds one release of vllm")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"vllm {NEWER}", {"vllm": (NEWER, 0)}),
        (f"vLLM=={OLDER}", {"vllm": (OLDER, 1)}),
        (f"sglang 0.5.0 to {releases('sglang')[-1]}", {"sglang": (releases("sglang")[-1], 0)}),
        (f"vllm 0.1.0 and {OLDER}, flashinfer 9.9", {"vllm": (OLDER, 1)}),
        (f"vllm v{OLDER}; sglang {releases('sglang')[-2]}",
         {"vllm": (OLDER, 1), "sglang": (releases("sglang")[-2], 1)}),
        ("vllm 0.0.1", {"vllm": (Version("0.0.1"), len(releases("vllm")))}),
        ("vllm 99.0", {"vllm": (Version("99.0"), 0)}),
        ("driver 580.1, myvllm 0.1.0, vllm", {}),
        ("llama.cpp b9600", {}),
    ],
)  # fmt: skip
def test_the_newest_check_of_each_engine_has_an_age_in_releases(
    text: str, expected: dict[str, tuple[Version, int]]
) -> None:
    assert {a.engine: (a.checked, len(a.since)) for a in ages([text])} == expected


def test_of_several_checks_the_newest_counts() -> None:
    (age,) = ages([f"vllm {OLDER}", f"vllm {NEWER}", "vllm 0.1.0"])
    assert (age.checked, age.since) == (NEWER, ())


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> dict[str, Verdict]:
    """A rule "made_up" that answers by the version that its plan was made for."""
    answers: dict[str, Verdict] = {}

    def made_up(plan: Plan) -> Verdict:
        return answers[str(plan)]

    monkeypatch.setattr(registry, "rules", lambda: {"made_up": made_up})
    return answers


def plans(spec: str) -> Iterable[Plan]:
    return [spec]  # type: ignore[list-item]


FOUND, OPEN = Finding("it bites"), Undecided("the GPU")


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (FOUND, None, ("found", "nothing")),
        (None, FOUND, ("nothing", "found")),
        (FOUND, OPEN, ("found", "undecided")),
        (OPEN, FOUND, None),
        (FOUND, FOUND, None),
        (None, None, None),
    ],
)
def test_a_rule_that_answers_otherwise_for_the_newest_release_has_moved(
    says: dict[str, Verdict], before: Verdict, now: Verdict, expected: tuple[str, str] | None
) -> None:
    says.update({f"vllm=={OLDER}": before, f"vllm=={NEWER}": now})
    found = move("made_up", plans, "vllm")
    assert (found and (found.before, found.now)) == expected
    if found:
        assert (found.older, found.newer) == (OLDER, NEWER)


def test_a_move_that_the_record_s_ranges_tell_is_no_news(says: dict[str, Verdict]) -> None:
    says.update({f"vllm=={OLDER}": FOUND, f"vllm=={NEWER}": None})
    assert move("made_up", plans, "vllm", affected=lambda v: v == str(OLDER)) is None
    assert move("made_up", plans, "vllm", affected=lambda v: v == str(NEWER)) is not None
    assert move("made_up", plans, "vllm", affected=lambda _: True) is not None


def test_an_engine_without_two_releases_moves_nothing(says: dict[str, Verdict]) -> None:
    assert last_two("llama.cpp") is None
    assert move("made_up", plans, "llama.cpp") is None


def test_an_answer_over_several_plans_is_the_gravest(says: dict[str, Verdict]) -> None:
    says.update({"a": None, "b": OPEN, "c": FOUND})
    assert answer("made_up", "abc") == "found"  # type: ignore[arg-type]
    assert answer("made_up", "ab") == "undecided"  # type: ignore[arg-type]
    assert answer("made_up", "a") == "nothing"  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no_such_rule"):
        answer("no_such_rule", "a")  # type: ignore[arg-type]


def kvgate(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = str(Path(sys.executable).parent / "kvgate")
    return subprocess.run(
        [command, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for name in ("flashinfer-rejects-large-head-dim.md", "concepts.toml"):
        shutil.copy(ROOT / "gotchas" / name, tmp_path / name)
    return tmp_path


def edit(library: Path, old: str, new: str) -> None:
    """Replace what a pattern finds in the record, which must find something."""
    path = library / "flashinfer-rejects-large-head-dim.md"
    text, count = re.subn(old, new, path.read_text(encoding="utf-8"))
    assert count
    path.write_text(text, encoding="utf-8")


CHECKED = r"version: vllm [\d.]+"


def test_a_record_that_was_checked_on_the_newest_release_is_not_listed(library: Path) -> None:
    done = kvgate("stale", str(library))
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stdout


def test_an_old_check_is_listed_at_its_line_unless_the_gotcha_was_over_by_then(
    library: Path,
) -> None:
    edit(library, CHECKED, "version: vllm 0.19.1")
    done = kvgate("stale", str(library))
    assert done.returncode == 1
    assert "KV450 checked on vllm 0.19.1" in done.stdout
    line = int(done.stdout.splitlines()[0].split(":")[1])
    text = (library / "flashinfer-rejects-large-head-dim.md").read_text(encoding="utf-8")
    assert "0.19.1" in text.splitlines()[line - 1]
    assert kvgate("stale", str(library), "--releases", "99").returncode == 0
    edit(library, CHECKED, "version: vllm 0.22.0")
    edit(library, 'introduced: "0.13.0"', 'introduced: "0.13.0"\n    fixed: "0.22.0"')
    assert kvgate("stale", str(library)).returncode == 0  # fixed in 0.22.0, and checked there


def test_a_record_without_a_check_of_its_engine_is_listed(library: Path) -> None:
    edit(library, CHECKED, "version: our own build")
    done = kvgate("stale", str(library), "--format", "github")
    assert done.returncode == 1
    assert "title=KV450::nothing under verified says that it was checked on vllm" in done.stdout


def test_a_hit_that_cannot_be_tried_is_listed(library: Path) -> None:
    edit(library, "gpu: RTX PRO 6000, engine", "model: no/such-model, gpu: RTX PRO 6000, engine")
    done = kvgate("stale", str(library))
    assert "KV452 it can't be tried" in done.stdout
    assert "no/such-model" in done.stdout


def test_a_case_that_speaks_of_the_newest_release_is_judged_by_its_own_test_only(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvgate.cli import stale
    from kvgate.records.loader import load

    asked: list[str] = []
    monkeypatch.setattr("kvgate.rules.stale.move", lambda *_, **__: asked.append("moved"))
    record = load(library).records["flashinfer-rejects-large-head-dim"]
    hit = record.front.hits[0]
    for version in (OLDER, NEWER):
        on = hit.on.model_copy(update={"engine": f"vllm=={version}"})
        stale._move(record, hit.model_copy(update={"on": on}), library)
    assert len(asked) == 1


def test_own_records_can_all_be_tried() -> None:
    done = kvgate("stale")
    assert done.returncode in (0, 1), done.stderr
    assert "KV452" not in done.stdout, done.stdout
