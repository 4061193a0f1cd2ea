"""Which test reaches which line, and how long each takes: one run of the tests under Coverage."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

__all__ = ["Reach", "measure"]


@dataclass(frozen=True, slots=True)
class Reach:
    """Lines by file with the tests that run them, and the processor's seconds of each test."""

    lines: dict[str, dict[int, tuple[str, ...]]]
    seconds: dict[str, float]

    def tests(self, path: str, line: int) -> dict[str, float]:
        """The tests that can notice a change of a line, the quickest first, and their seconds.

        What runs once, when a module is imported or because its answer is kept, is in the account
        of whichever test came first, and may be read by tests that run no line of the module; so
        every test is asked for those, the ones that reach the module first.
        """
        of_file = self.lines.get(path, {})
        found = set(of_file.get(line, ())) & self.seconds.keys()
        near = found
        if len(found) < 3:
            near = {test for tests in of_file.values() for test in tests}
            found = set(self.seconds)
        known = sorted(found, key=lambda test: (test not in near, self.seconds[test], test))
        return {test: self.seconds[test] for test in known}

    def without(self, prefixes: tuple[str, ...]) -> Reach:
        """The same, as if the tests whose ids begin so did not exist."""
        kept = {t: s for t, s in self.seconds.items() if not t.startswith(prefixes)}
        return replace(self, seconds=kept)

    def write(self, path: Path) -> None:
        """Keep it for a later run."""
        path.write_text(json.dumps({"lines": self.lines, "seconds": self.seconds}))

    @classmethod
    def read(cls, path: Path) -> Reach:
        """What an earlier run kept."""
        data = json.loads(path.read_text())
        lines = {
            file: {int(line): tuple(tests) for line, tests in of_file.items()}
            for file, of_file in data["lines"].items()
        }
        return cls(lines, data["seconds"])


class _Account:
    """A pytest plugin: one context of Coverage and one stopwatch per test."""

    def __init__(self, coverage: object) -> None:
        self.coverage = coverage
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.coverage.switch_context(item.nodeid)  # type: ignore[attr-defined]
        start = _computed()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = _computed() - start
            self.coverage.switch_context("")  # type: ignore[attr-defined]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def _computed() -> float:
    """The processor's seconds of this process and of those that it ended."""
    of_children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + of_children.ru_utime + of_children.ru_stime


def measure(root: Path, tests: list[str], floors: list[str]) -> Reach:
    """Run the tests once, in this process.

    Raises:
        SystemExit: A test failed before anything was changed.
    """
    from coverage import Coverage

    source = [str(root / "kvgate" / floor) for floor in floors]
    coverage = Coverage(data_file=None, config_file=False, source=source)
    account = _Account(coverage)
    coverage.start()
    code = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests], [account])
    coverage.stop()
    if code or account.failed:
        sys.exit("mutate: the tests must pass before anything is changed")
    data = coverage.get_data()
    lines: dict[str, dict[int, tuple[str, ...]]] = {}
    for file in data.measured_files():
        by_line = data.contexts_by_lineno(file)
        lines[Path(file).relative_to(root).as_posix()] = {
            line: tuple(context for context in contexts if context)
            for line, contexts in by_line.items()
        }
    return Reach(lines, account.seconds)
