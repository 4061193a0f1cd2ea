"""Feed each reader of strangers' text with what Atheris makes up, and stop at the first fault.

    .venv/bin/pip install --target .cache/fuzz atheris   # wheels: Linux, CPython 3.11 to 3.13
    PYTHONPATH=.cache/fuzz .venv/bin/python scripts/fuzz.py --seconds 60 [TARGET ...]

Each target runs in a process of its own, with a bound on the time of one input and on memory. What
it learns stays in .cache/fuzz-corpus; an input that breaks it is written beside that. The targets
are those of ``scripts/fuzzing/targets.py``, which the tests feed with Hypothesis too.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

CORPUS = ROOT / ".cache" / "fuzz-corpus"
SECONDS_OF_ONE_INPUT = 20
MIB = 2048


def _child(name: str, arguments: list[str]) -> None:
    """Fuzz one target in this process; never returns."""
    import atheris

    with atheris.instrument_imports(include=["kvgate"]):
        from scripts.fuzzing.targets import TARGETS, run
    target = TARGETS[name]
    for seed in target.seeds:  # what is imported late is instrumented too
        with atheris.instrument_imports(include=["kvgate"]):
            run(target, seed.encode())
    atheris.Setup([sys.argv[0], *arguments], lambda data: run(target, data))
    atheris.Fuzz()


def _start(name: str, seconds: int) -> tuple[int, str]:
    """Run a target for some seconds; its exit status and what it said."""
    from scripts.fuzzing.targets import TARGETS

    folder = CORPUS / re.sub(r"\W", "-", name)
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(TARGETS[name].seeds):
        (folder / f"seed-{number}").write_bytes(seed.encode())
    words = folder.with_suffix(".dict")
    words.write_text("".join(f'"{_escaped(w)}"\n' for w in TARGETS[name].words), encoding="ascii")
    known = [f"-dict={words}"] if TARGETS[name].words else []
    command = [
        sys.executable, __file__, "--child", name, "--", str(folder), f"-max_total_time={seconds}",
        *known,
        f"-timeout={SECONDS_OF_ONE_INPUT}", f"-rss_limit_mb={MIB}",
        "-max_len=20000", f"-artifact_prefix={folder}-", "-print_final_stats=1",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, done.stdout + done.stderr


def _escaped(word: str) -> str:
    return "".join(
        chr(b) if 32 <= b < 127 and chr(b) not in '\\"' else f"\\x{b:02x}" for b in word.encode()
    )


def main(argv: list[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("targets", nargs="*", help="default: all")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    if asked.child:
        _child(asked.child, asked.targets)
    from scripts.fuzzing.targets import TARGETS

    broken = 0
    for name in asked.targets or TARGETS:
        code, said = _start(name, asked.seconds)
        runs = re.search(r"number_of_executed_units: (\d+)", said)
        print(f"{name:<14} {runs[1] if runs else '?':>9} inputs  {'FAULT' if code else 'ok'}")
        if code:
            broken += 1
            print(said[-3000:])
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
