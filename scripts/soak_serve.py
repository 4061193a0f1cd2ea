"""Change records under a served site for some minutes: the server must stay up, tell, and recover.

    .venv/bin/python scripts/soak_serve.py --minutes 5

Serves a copy of a few records with ``mkdocs serve`` and adds, breaks, mends, renames and removes
records in it. After each breakage the error must be told and the last good site still be served;
after each mending the new text must be served. The server's memory is read from /proc, where there
is one, and must not grow from round to round once it has warmed up. Exit status 1 at the first
failure, with the server's last words.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 120.0
# Imports, caches and the allocator's own reserves fill in the first rounds. After them a build that
# is kept weighs about 1 MiB here, and a round has at least four builds.
WARM, GROWTH = 5, 1.0  # rounds; MiB a round
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # this machine, no proxy
CONFIG = """site_name: Soak
docs_dir: docs
theme: {name: material, font: false}
plugins: [{kvgate: {records: gotchas, search: false}}]
markdown_extensions: [footnotes, md_in_html, tables, pymdownx.superfences]
"""


class Served:
    """A copy of some records, and the server over it."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.records = folder, folder / "gotchas"
        self.records.mkdir()
        (folder / "docs").mkdir()
        (folder / "docs" / "index.md").write_text("# Home\n", encoding="utf-8")
        (folder / "mkdocs.yml").write_text(CONFIG, encoding="utf-8")
        for name in ("concepts.toml", "flashinfer-rejects-large-head-dim.md"):
            shutil.copy(ROOT / "gotchas" / name, self.records / name)
        self.sample = (self.records / name).read_text(encoding="utf-8")
        self.log = folder / "log"
        self.base = f"http://127.0.0.1:{port}/"
        with self.log.open("wb") as out:
            self.server = subprocess.Popen(
                [sys.executable, "-m", "mkdocs", "serve", "--dev-addr", f"127.0.0.1:{port}"],
                cwd=folder, stdout=out, stderr=subprocess.STDOUT,
                env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
            )  # fmt: skip

    def write(self, id_: str, title: str, *, damage: str = "") -> None:
        """A record of that id and title, with front matter that is no YAML where damaged."""
        text = self.sample.replace("flashinfer-rejects-large-head-dim", id_)
        lines = [f"title: {title}" if n.startswith("title:") else n for n in text.split("\n")]
        text = "\n".join(lines).replace("severity: blocks-start", f"severity: blocks-start{damage}")
        (self.records / f"{id_}.md").write_text(text, encoding="utf-8")

    def page(self, id_: str) -> str:
        """A record's page; empty where there is none."""
        try:
            with _OPENER.open(f"{self.base}gotchas/{id_}/", timeout=60) as page:
                text: str = page.read().decode("utf-8")
                return text
        except OSError:
            return ""

    def until(self, what: str, holds: object) -> None:
        """Wait until something holds; end with what the server said if it never does."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.server.poll() is not None:
                self.fail(f"the server ended with {self.server.returncode}")
            if holds():  # type: ignore[operator]
                return
            time.sleep(0.5)
        self.fail(f"{PATIENCE:.0f} s, and not yet: {what}")

    def fail(self, why: str) -> None:
        """Stop everything."""
        self.server.kill()
        sys.exit(f"soak: {why}\n{self.log.read_text(encoding='utf-8', errors='replace')[-3000:]}")

    def said(self) -> str:
        """All that the server has said."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def mib(self) -> int:
        """The server's memory; 0 where nobody can tell."""
        try:
            text = Path(f"/proc/{self.server.pid}/statm").read_text(encoding="ascii")
        except OSError:
            return 0
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def soak(served: Served, minutes: float, dice: random.Random) -> list[int]:
    """Rounds of changes until the time is over; the server's memory after each, in MiB."""
    first = "flashinfer-rejects-large-head-dim"
    served.until("the first page", lambda: bool(served.page(first)))
    end, held = time.monotonic() + minutes * 60, list[int]()
    while time.monotonic() < end:
        rounds = len(held) + 1
        id_, title = f"soaked-{rounds}", f"What happens in round {dice.randrange(10**9)}"
        served.write(id_, title)
        served.until("a new record's page", lambda i=id_, t=title: t in served.page(i))
        known = len(served.said())
        served.write(id_, title, damage=": [")
        served.until("the error", lambda k=known, i=id_: f"{i}.md" in served.said()[k:])
        if not served.page(first):
            served.fail("nothing is served while a record is broken")
        served.write(id_, f"{title} again")
        served.until("the mended page", lambda i=id_, t=title: f"{t} again" in served.page(i))
        other = f"renamed-{rounds}"
        (served.records / f"{id_}.md").unlink()
        served.write(other, title)
        served.until("the renamed page", lambda o=other, t=title: t in served.page(o))
        served.until("the old page to go", lambda i=id_: not served.page(i))
        (served.records / f"{other}.md").unlink()
        served.until("the removed page to go", lambda o=other: not served.page(o))
        held.append(served.mib())
        print(f"round {rounds}: ok, {held[-1]} MiB", flush=True)
    return held


def grown(held: list[int]) -> float:
    """By how much the memory grew a round, in MiB, from the warm rounds' first to the last one."""
    warm = held[WARM - 1 :]
    return (warm[-1] - warm[0]) / (len(warm) - 1) if len(warm) > 1 else 0.0


def main(argv: list[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--port", type=int, default=8767)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        served = Served(Path(folder), asked.port)
        try:
            held = soak(served, asked.minutes, random.Random(asked.seed))
        finally:
            served.server.terminate()
            served.server.wait()
        if "Traceback" in served.said():
            served.fail("a traceback")
        if grown(held) > GROWTH:
            served.fail(f"the server grows by {grown(held):.1f} MiB a round")
    print(f"{len(held)} rounds, {grown(held):.2f} MiB a round from round {WARM} on")
    return int(not held)


if __name__ == "__main__":
    sys.exit(main())
