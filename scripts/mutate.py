"""Change the gates and the sizing floors in small ways and see that a test fails each time.

    .venv/bin/pip install --target .cache/mutation -r requirements/mutation.txt
    PYTHONPATH=.cache/mutation .venv/bin/python scripts/mutate.py --sample 300 --seed 1

A random sample of what Cosmic Ray's operators can change (every place of the source weighs alike;
annotations and docstrings, which nothing evaluates, don't count) meets the tests that reach the
changed line: those that killed a change of the same module before, then the quickest. The first
failure kills the mutant, and so does a test that computes on and on; what hangs without computing
kills none. What isn't killed is printed; a survivor is answered by a test, or by a row with its
reason in scripts/mutation/equivalent.toml; those of the last sample stand in survivors.toml there.
Exit status 1 where fewer were killed than ``--least`` asks. POSIX only: each mutant is a fork.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.mutation.mutants import Mutant, mutant, places, spared  # noqa: E402
from scripts.mutation.reach import Reach, measure  # noqa: E402
from scripts.mutation.trial import Trial  # noqa: E402

FLOORS = ["architecture", "attention", "kvcache"]
TESTS = [
    f"tests/{name}" for name in ("answers", "architecture", "attention", "base", "kvcache", "rules")
]


def interval(killed: int, tried: int) -> tuple[float, float]:
    """The share that is killed, as Wilson's interval at 95 %."""
    if not tried:
        return 0.0, 1.0
    z, share = 1.959964, killed / tried
    middle = (share + z * z / (2 * tried)) / (1 + z * z / tried)
    half = math.sqrt(share * (1 - share) / tried + z * z / (4 * tried**2)) / (1 + z * z / tried)
    return middle - z * half, middle + z * half


def reach(floors: list[str], kept: Path | None) -> Reach:
    """What the tests reach, measured in a process of its own: this one must not import kvgate."""
    if kept is not None and kept.exists():
        return Reach.read(kept)
    path = kept or ROOT / ".cache" / "mutation-reach.json"
    path.parent.mkdir(exist_ok=True)
    child = os.fork()
    if child == 0:
        try:
            measure(ROOT, TESTS, floors).write(path)
        except BaseException:
            os._exit(1)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        sys.exit("mutate: the tests must pass before anything is changed")
    try:
        _must_hold(Reach.read(path))
    except SystemExit:
        path.unlink()
        raise
    return Reach.read(path)


def _must_hold(known: Reach) -> None:
    """A module that isn't changed must survive, or every kill means nothing."""
    path = next(iter(known.lines))
    source = (ROOT / path).read_text(encoding="utf-8")
    order = sorted(known.seconds, key=known.seconds.__getitem__)
    trial = Trial(ROOT / path, source, {test: known.seconds[test] for test in order})
    while (outcome := trial.outcome()) is None:
        time.sleep(0.1)
    if outcome != "survived":
        sys.exit(f"mutate: the tests without any change came out as {outcome}")


def sample(paths: list[Path], seed: int) -> Iterator[Mutant]:
    """Mutants at random places, each place once, one of its changes at random."""
    dice = random.Random(seed)
    found = list(places(ROOT, paths).values())
    dice.shuffle(found)
    for ways in found:
        made = mutant(ROOT, dice.choice(ways))
        if made is not None:
            yield made


class Tally:
    """What became of the mutants, and which tests killed those of a module."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.killers: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, made: Mutant, outcome: str, killer: str = "") -> None:
        if outcome == "broken":
            sys.exit(f"mutate: pytest gave no answer for {made}")
        self.outcomes[outcome] += 1
        self.killers[made.place.path][killer] += 1
        if outcome != "killed":
            print(f"{outcome}: {made}", flush=True)

    def ordered(self, made: Mutant, tests: dict[str, float]) -> dict[str, float]:
        """The tests, those first that killed the most mutants of the module: they tell soonest."""
        killers = self.killers[made.place.path]
        return dict(sorted(tests.items(), key=lambda test: -killers[test[0]]))

    def share(self) -> tuple[int, int]:
        """(killed, tried), the spared ones left out."""
        killed = self.outcomes["killed"] + self.outcomes["endless"]
        return killed, self.outcomes.total() - self.outcomes["spared"]


def main(argv: list[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("paths", nargs="*", help="modules or floors; default: the three floors")
    parser.add_argument("--sample", type=int, default=200, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so long")
    parser.add_argument("--reach", type=Path, help="a file that keeps what the tests reach")
    parser.add_argument("--least", type=float, default=90.0, help="percent that must be killed")
    parser.add_argument(
        "--without", action="append", default=[], metavar="PREFIX",
        help="leave these tests out, such as tests/answers/test_answers.py: what is left states "
        "what is right, where those only notice that an answer moved",
    )  # fmt: skip
    asked = parser.parse_args(argv)

    folders = [ROOT / p for p in asked.paths] or [ROOT / "kvgate" / f for f in FLOORS]
    paths = sorted(p for f in folders for p in (f.rglob("*.py") if f.is_dir() else [f]))
    known = reach(FLOORS, asked.reach).without(tuple(asked.without))
    excuses, tally, end = spared(), Tally(), time.monotonic() + asked.minutes * 60
    running: list[tuple[Mutant, Trial]] = []
    drawn = islice(sample(paths, asked.seed), asked.sample)
    while True:
        while len(running) < asked.jobs and time.monotonic() < end:
            made = next(drawn, None)
            if made is None:
                break
            tests = known.tests(made.place.path, made.line)
            if any(excuse.covers(made) for excuse in excuses):
                tally.add(made, "spared")
            elif not tests:
                tally.add(made, "unreached")
            else:
                path = ROOT / made.place.path
                running.append((made, Trial(path, made.source, tally.ordered(made, tests))))
        if not running:
            break
        time.sleep(0.02)
        for pair in list(running):
            outcome = pair[1].outcome()
            if outcome is not None:
                running.remove(pair)
                tally.add(pair[0], outcome, pair[1].killer)
    killed, tried = tally.share()
    low, high = (100 * share for share in interval(killed, tried))
    print(f"{dict(tally.outcomes)}; seed {asked.seed}")
    print(f"{killed} of {tried} killed: {100 * killed / max(1, tried):.1f} %")
    print(f"95 % interval: {low:.1f} % to {high:.1f} %")
    return int(100 * killed < asked.least * tried)


if __name__ == "__main__":
    sys.exit(main())
