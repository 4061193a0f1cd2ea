"""One mutant against its tests, in a process of its own."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

import pytest

__all__ = ["Trial"]

_KILLED, _SURVIVED, _BROKEN = 17, 18, 19
_MEMORY = 4 * 2**30
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


class Trial:
    """One mutant against its tests, in a forked process.

    The tests run in the order given; the first that fails ends it. A run that takes longer than
    ``timeout`` seconds is ended too: such a change would be noticed as well.
    """

    def __init__(self, path: Path, source: str, tests: Sequence[str], timeout: float) -> None:
        self._end = time.monotonic() + timeout
        self._child = os.fork()
        if self._child:
            return
        code = _BROKEN
        try:
            os.setpgid(0, 0)
            # What grows without end dies of it, and not the machine.
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            code = _verdict(path, source, tests)
        finally:
            os._exit(code)

    def outcome(self) -> str | None:
        """ "killed", "survived" or "timeout"; None while it runs."""
        done, status = os.waitpid(self._child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return "killed" if code < 0 else _OUTCOMES.get(code, "broken")
        if time.monotonic() < self._end:
            return None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        return "timeout"


def _verdict(path: Path, source: str, tests: Sequence[str]) -> int:
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    sys.meta_path.insert(0, _Finder(path, source))
    files = sorted({test.partition("::")[0] for test in tests})
    arguments = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *files]
    return _VERDICTS.get(pytest.main(arguments, [_Chosen(tests)]), _BROKEN)
