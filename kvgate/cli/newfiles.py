"""The files of a new record in a checkout: its rule, the rule's test, a line for the changelog."""

from __future__ import annotations

import contextlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kvgate.errors import InputError, Place
from kvgate.manifests import read_deployments
from kvgate.plan import Plan, plan
from kvgate.records.atomic import create_text, locked, write_text
from kvgate.records.new import NewRecord, create
from kvgate.records.newrule import (
    Trial,
    function_text,
    has_function,
    register_theme,
    rule_test_text,
    with_rule,
)
from kvgate.rules.decisive import Condition, decisive
from kvgate.rules.registry import rules

__all__ = ["Checkout", "Made", "checkout", "judged", "trial_plan"]


@dataclass(frozen=True, slots=True)
class Made:
    """What was written: the files with what each is, and notes for the author."""

    files: tuple[tuple[Path, str], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout of kvgate's repository, the only place where a rule can be written."""

    root: Path

    @property
    def records(self) -> Path:
        """The folder of its records."""
        return self.root / "gotchas"

    def write(self, new: NewRecord, theme: str) -> Made:
        """Write a record with its rule, the rule's test and a change fragment: all, or none.

        A rule that kvgate has already is tried, not written, unless it is the one that would be
        written: then a run was cut off, and this one ends it. Raises InputError where the hits and
        misses can't be read, where nothing parts them, and where a file can't be written.
        """
        hits = [trial_plan(t) for t in new.hits]
        misses = [trial_plan(t) for t in new.misses]
        # What is there is read under the lock as well: two at once would lose each other's rule.
        with locked(self.root / "kvgate" / "rules" / "registry.py"):
            return self._write(new, theme, hits, misses)

    def _write(
        self, new: NewRecord, theme: str, hits: Sequence[Plan], misses: Sequence[Plan]
    ) -> Made:
        path = self.root / "kvgate" / "rules" / f"{theme}.py"
        old = path.read_text(encoding="utf-8") if path.exists() else None
        affected = {"introduced": new.introduced, "fixed": new.fixed}
        known = new.rule in rules()
        try:
            conditions, parted = decisive(hits, misses, **affected)
        except InputError as error:
            if not known:
                unseen = "; ".join((*_unseen([*hits, *misses]), *filter(None, [error.hint])))
                raise InputError(error.message, hint=unseen) from None
            conditions, parted = (), ((),) * len(misses)
        function = function_text(new.rule, new.title, conditions, _fix(misses, parted))
        if known and (old is None or not has_function(old, function)):
            _judged(new, hits, misses)
            return self._all(new, [], ())
        told = [
            replace(t, because=t.because or "; ".join(c.otherwise(m) for c in parts))
            for t, m, parts in zip(new.misses, misses, parted, strict=True)
        ]
        new = replace(new, misses=tuple(told))
        needs = {name for c in conditions for name in c.needs}
        module = with_rule(theme, old, new.rule, function, needs)
        lacks = ["gpu"] if any(c.setting == "gpu" for c in conditions) else []
        test = self.root / "tests" / "rules" / f"test_rules_{new.rule}.py"
        text = rule_test_text(new.rule, new.hits, new.misses, lacks)
        registry = self.root / "kvgate" / "rules" / "registry.py"
        texts = [
            (path, module, f"its rule, {new.rule}"),
            (test, text, "the rule's test"),
        ]
        themes = registry.read_text(encoding="utf-8")
        if register_theme(themes, theme) != themes:
            texts.append((registry, register_theme(themes, theme), "the list of themes"))
        notes = ["the rule says nothing where " + ", or ".join(c.fails for c in conditions)]
        notes += [
            f"miss {number} differs in {len(parts)} things; one that differs in a single thing "
            "says which of them decides"
            for number, parts in enumerate(parted, 1)
            if len(parts) > 1
        ]
        notes += [f"not looked at: {what}" for what in _unseen([*hits, *misses])]
        return self._all(new, texts, tuple(notes))

    def _all(
        self, new: NewRecord, texts: Sequence[tuple[Path, str, str]], notes: tuple[str, ...]
    ) -> Made:
        with _undone() as written:
            for path, text, _ in texts:
                written.put(path, text)
            if texts:
                _format([path for path, _, _ in texts], self.root)
            folder = self.root / "changes"
            change = folder / f"+{new.id}.records.md"
            if folder.is_dir() and not change.exists():
                written.put(change, f"New: {new.title.rstrip('.')}.\n")
            record = create(_shown(self.records), new)
        files = [(record, "the record, a draft that lints")]
        files += [(_shown(path), what) for path, _, what in texts]
        files += [(_shown(change), "a line for the changelog")] if change.exists() else []
        return Made(tuple(files), notes)


def _unseen(plans: Sequence[Plan]) -> list[str]:
    """What the hits and misses say that kvgate doesn't know: no condition can rest on it."""
    odd = (fault.message for one in plans for fault in one.deployment.problems)
    lacks = (u.lacks for one in plans for u in one.unknown if u.what in ("model", "version"))
    return list(dict.fromkeys((*odd, *lacks)))


def checkout(records: Path) -> Checkout | None:
    """The checkout that this kvgate runs from, where ``records`` is its own folder of records."""
    root = Path(__file__).resolve().parents[2]
    own = root / "gotchas"
    here = own.is_dir() and (root / "tests" / "rules" / "conftest.py").is_file()
    return Checkout(root) if here and records.resolve() == own else None


class _Written:
    """Files that were written, so that all of them can be put back."""

    def __init__(self) -> None:
        self.old: list[tuple[Path, str | None]] = []

    def put(self, path: Path, text: str) -> None:
        """Write a file, new or old. Raises InputError."""
        try:
            old = path.read_text(encoding="utf-8") if path.exists() else None
            if old is None:
                create_text(path, text, newline="\n")
            else:
                write_text(path, text, newline="\n")
        except OSError as error:
            why = error.strerror or str(error)
            place = Place(_shown(path).as_posix())
            raise InputError(f"can't be written: {why}", place=place, code="KV002") from None
        self.old.append((path, old))

    def back(self) -> None:
        """Put every file back as it was."""
        for path, old in reversed(self.old):
            if old is None:
                path.unlink(missing_ok=True)
            else:
                write_text(path, old, newline="\n")


@contextlib.contextmanager
def _undone() -> Iterator[_Written]:
    written = _Written()
    try:
        yield written
    except BaseException:
        written.back()
        raise


def trial_plan(trial: Trial) -> Plan:
    """A hit or miss as a plan. Raises InputError where it starts not just one engine."""
    made = read_deployments(trial.run, "<command line>", engine=trial.engine or None)
    if len(made) != 1:
        raise InputError(
            f"{trial.run!r} starts {len(made)} engines", hint="give a command line that starts one"
        )
    return plan(made[0], gpu=trial.gpu or None)


def judged(new: NewRecord) -> None:
    """Raise InputError where a rule that kvgate has doesn't judge the hits and misses so."""
    _judged(new, [trial_plan(t) for t in new.hits], [trial_plan(t) for t in new.misses])


def _judged(new: NewRecord, hits: Sequence[Plan], misses: Sequence[Plan]) -> None:
    from kvgate.rules.stale import answer

    for trial, made in zip(new.hits, hits, strict=True):
        if answer(new.rule, [made]) != "found":
            raise InputError(
                f"the rule {new.rule} does not report {trial.run!r}",
                hint="give the deployment that it reports, or another name for a new rule",
            )
    for trial, made in zip(new.misses, misses, strict=True):
        if answer(new.rule, [made]) != "nothing":
            raise InputError(
                f"the rule {new.rule} does not leave {trial.run!r} alone",
                hint="give one that it leaves alone, or another name for a new rule",
            )
        if not trial.because:
            raise InputError(
                f"a miss of the rule {new.rule} needs its reason", hint="give it with --because"
            )


def _fix(misses: Sequence[Plan], parted: Sequence[Sequence[Condition]]) -> str:
    """The change that makes the first miss of a hit, where it is a single setting."""
    import json

    for miss, parts in zip(misses, parted, strict=True):
        names = [c.setting for c in parts]
        if len(names) != 1 or names[0] in ("", "gpu", "model"):
            continue
        (name,) = names
        given = miss.deployment.last(name)
        flag = f"--{name.replace('_', '-')}"
        if given is None:
            return f"plan.without_flag({json.dumps(flag)})"
        return f"plan.with_flag({json.dumps(flag)}, {json.dumps(given.text)})"
    return '""'


def _format(paths: Sequence[Path], root: Path) -> None:
    """Give new code the project's format, where its formatter is installed."""
    if importlib.util.find_spec("ruff") is not None:
        subprocess.run(  # noqa: S603  # the formatter beside this Python, on files just written
            [sys.executable, "-m", "ruff", "format", "--quiet", *map(str, paths)],
            cwd=root, check=False,
        )  # fmt: skip


def _shown(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
