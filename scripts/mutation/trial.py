"""One mutant against its tests, in a process of its own."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import math
import os
import resource
import signal
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType

import pytest

__all__ = ["Trial"]

_KILLED, _SURVIVED, _BROKEN = 17, 18, 19
_MEMORY = 4 * 2**30
# How many seconds of the clock a second of the processor may take on a busy machine.
_PATIENCE = 10
# What the imports and the collection may compute, and a test: so long and so many times its own.
_IMPORT, _GRACE, _FACTOR = 60.0, 15.0, 10.0
# From how many files the first tests are, and how many seconds they take together.
_FILES, _QUICK = 4, 5.0
# A module that can't be imported any more interrupts the collection; what else may end pytest is
# no answer of the tests.
_VERDICTS: dict[int, int] = {
    pytest.ExitCode.OK: _SURVIVED,
    pytest.ExitCode.TESTS_FAILED: _KILLED,
    pytest.ExitCode.INTERRUPTED: _KILLED,
}
_OUTCOMES = {_KILLED: "killed", _SURVIVED: "survived"}


class _Changed(importlib.machinery.SourceFileLoader):
    """Loads a module from other source than its file's."""

    source = ""

    def get_code(self, fullname: str) -> CodeType | None:
        return compile(self.source, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, path: Path, source: str) -> None:
        self.path, self.source = str(path), source

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin != self.path:
            return None
        spec.loader = loader = _Changed(name, self.path)
        loader.source = self.source
        return spec


class _Chosen:
    """A pytest plugin: only the chosen tests, in the chosen order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.rank = {test: n for n, test in enumerate(tests)}

    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings

        # The examples of a run are the same for every mutant, and none is made small.
        settings.register_profile(
            "mutants", derandomize=True, database=None, deadline=None,
            phases=(Phase.explicit, Phase.generate),
        )  # fmt: skip
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.rank),
            key=lambda item: self.rank[item.nodeid],
        )


class _Watch:
    """A pytest plugin: bounds the processor's time of each test, tells which failed first."""

    def __init__(self, tests: Mapping[str, float], pipe: int) -> None:
        self.tests, self.pipe = tests, pipe

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        _bound(_GRACE + _FACTOR * self.tests[item.nodeid])
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self.pipe, report.nodeid.encode()[:4000])


class Trial:
    """One mutant against its tests, in a forked process.

    The tests run in the order given; the first that fails ends it. ``tests`` says how many of the
    processor's seconds each takes as a rule, which other work on the machine doesn't lengthen: one
    that takes many times as much is endless, and that would be noticed. What waits for something,
    and takes no such time, is stuck, which is no answer of the tests; so is a process that
    somebody else killed.
    """

    def __init__(self, path: Path, source: str, tests: Mapping[str, float]) -> None:
        self.killer = ""
        self._end = time.monotonic() + _PATIENCE * (_IMPORT + sum(tests.values()))
        self._told, told = os.pipe()
        self._child = os.fork()
        if self._child:
            os.close(told)
            return
        code = _BROKEN
        try:
            os.setpgid(0, 0)
            # What grows without end dies of it, and not the machine.
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            _bound(_IMPORT)
            code = _verdict(path, source, tests, told)
        finally:
            os._exit(code)

    def outcome(self) -> str | None:
        """ "killed", "survived", "endless" or "stuck"; None while it runs."""
        done, status = os.waitpid(self._child, os.WNOHANG)
        if done:
            self.killer = os.read(self._told, 4000).decode()
            os.close(self._told)
            code = os.waitstatus_to_exitcode(status)
            if code == -signal.SIGXCPU:
                return "endless"
            if code == -signal.SIGKILL:
                return "stuck"
            return "killed" if code < 0 else _OUTCOMES.get(code, "broken")
        if time.monotonic() < self._end:
            return None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        os.close(self._told)
        return "stuck"


def _bound(seconds: float) -> None:
    """Let this process compute for so many seconds from now on; then SIGXCPU ends it."""
    soft = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def _verdict(path: Path, source: str, tests: Mapping[str, float], told: int) -> int:
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    sys.meta_path.insert(0, _Finder(path, source))
    code: int = pytest.ExitCode.OK
    # A second session imports nothing again; most mutants die before it has to collect the rest.
    for part in _parts(tests):
        if part and code == pytest.ExitCode.OK:
            files = sorted({test.partition("::")[0] for test in part})
            arguments = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *files]
            code = pytest.main(arguments, [_Chosen(list(part)), _Watch(part, told)])
    return _VERDICTS.get(code, _BROKEN)


def _parts(tests: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """The tests in their order, in two: quick ones of the first few files, and the rest."""
    of_file = {test: test.partition("::")[0] for test in tests}
    files = list(dict.fromkeys(of_file.values()))[:_FILES]
    first, total = {}, 0.0
    for test, seconds in tests.items():
        if of_file[test] in files and total + seconds <= _QUICK:
            first[test] = seconds
            total += seconds
    return first, {test: seconds for test, seconds in tests.items() if test not in first}
