"""``make bench``: how fast and how large, as ratios in one run. Never part of the tests.

Each figure is the least of some runs of a whole process, beside the same machine's yardstick taken
in turn with it: an empty Python process, a plain MkDocs build of the same pages, grep.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.generated_records import CONFIG, write

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
KVGATE = str(BIN / "kvgate")


def seconds(command: Sequence[str], *, cwd: Path = ROOT, ok: Sequence[int] = (0,)) -> float:
    """Wall time of one run of a command; the bench stops when it fails."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    spent = time.perf_counter() - start
    if done.returncode not in ok:
        said = done.stderr[-2000:]
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{said}")
    return spent


def peak_mib(command: Sequence[str], *, cwd: Path) -> tuple[float, float]:
    """(wall seconds, peak MiB) of one command, by the kernel's own account of it."""
    script = (
        "import resource, subprocess, sys, time; s = time.perf_counter(); "
        "p = subprocess.run(sys.argv[1:], capture_output=True); "
        "print(time.perf_counter() - s, "
        "resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024); sys.exit(p.returncode)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    wall, peak = done.stdout.split()
    return float(wall), float(peak)


def row(what: str, figure: str, against: str = "", bound: str = "") -> None:
    """One line of the table."""
    print(f"{what:<52} {figure:>14} {against:>24} {bound:>14}", flush=True)


def processes() -> None:
    """Commands as whole processes, in turn with an empty one."""
    commands = {
        "kvgate size MODEL": [KVGATE, "size", "Qwen/Qwen3-Next-80B-A3B-Instruct"],
        "kvgate show ID": [KVGATE, "show", "flashinfer-rejects-large-head-dim"],
        "kvgate backends MODEL": [
            KVGATE, "backends", "google/gemma-4-31B-it", "--gpu", "H100",
            "--engine", "vllm==0.33.0",
        ],
        "kvgate check COMMAND": [
            KVGATE, "check", "vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8", "--gpu", "H100",
            "--engine", "vllm==0.33.0",
        ],
    }  # fmt: skip
    bounds = {"kvgate check COMMAND": "< 0.3 s"}
    for what, command in commands.items():
        empty, full = [], []
        for _ in range(7):
            empty.append(seconds([sys.executable, "-c", "pass"]))
            full.append(seconds(command, ok=(0, 1)))
        ratio = min(full) / min(empty)
        row(
            what, f"{min(full):.3f} s", f"{ratio:.1f}x python -c pass", bounds.get(what, "< 0.15 s")
        )


def records(counts: Sequence[int]) -> None:
    """Lint and claims of generated records; linear when the last column stays the same."""
    with tempfile.TemporaryDirectory() as folder:
        for count in counts:
            where = Path(folder) / str(count)
            write(where, count)
            spent = min(
                seconds([KVGATE, "lint", str(where)]) + seconds([KVGATE, "claims", str(where)])
                for _ in range(2)
            )
            row(
                f"lint + claims, {count:,} records",
                f"{spent:.2f} s",
                f"{1000 * spent / count:.2f} ms a record",
                "< 3 s" if count == 1000 else "",
            )


def site(counts: Sequence[int]) -> None:
    """The site beside a plain MkDocs + Material build of the same Markdown and nav."""
    from kvgate.site.book import read_book
    from kvgate.site.pages import Pages

    with tempfile.TemporaryDirectory() as folder:
        for count in counts:
            where = Path(folder) / str(count)
            write(where / "gotchas", count)
            mine, plain = where / "mine", where / "plain"
            for docs in (mine, plain):
                docs.mkdir()
                (docs / "index.md").write_text("# Home\n", encoding="utf-8")
            for path, text in Pages(read_book(where / "gotchas")).virtual():
                (plain / path).parent.mkdir(parents=True, exist_ok=True)
                (plain / path).write_text(text, encoding="utf-8")
            files = {}
            for name, docs, plugin in (
                ("mine", mine, "{kvgate: {records: gotchas}}"), ("plain", plain, "search"),
            ):  # fmt: skip
                files[name] = where / f"{name}.yml"
                files[name].write_text(
                    CONFIG.format(docs=docs, site=where / f"site-{name}", plugin=plugin),
                    encoding="utf-8",
                )
            build = [str(BIN / "mkdocs"), "build", "--quiet", "--config-file"]
            got = {n: peak_mib([*build, str(f)], cwd=where) for n, f in files.items()}
            ratio = got["mine"][0] / got["plain"][0]
            row(
                f"site, {count:,} records",
                f"{got['mine'][0]:.1f} s",
                f"{ratio:.2f}x plain ({got['plain'][0]:.1f} s)",
                "< 1.5x",
            )
            row(f"  peak memory, {count:,} records", f"{got['mine'][1]:.0f} MiB", "", "< 400 MB")
            for what, page in (("first page", ""), ("a record", "gotchas/generated-7/")):
                sent = _sent(where / "site-mine", page)
                row(
                    f"  {what} with all it loads", f"{sent / 1000:.1f} kB", "compressed", "< 300 kB"
                )
            shutil.rmtree(where)


def _sent(site: Path, page: str) -> int:
    """Bytes that a browser is sent for a page before search or worker: gzip of each file."""
    import gzip
    import re

    html = (site / page / "index.html").read_text(encoding="utf-8")
    names = re.findall(r'(?:src|href)="(?:\./|\.\./)*(assets/[^"]+\.(?:css|js))"', html)
    files = [site / page / "index.html", *(site / name for name in dict.fromkeys(names))]
    files += (f for f in (site / "assets" / "kvgate").glob("*.js") if f not in files)
    return sum(len(gzip.compress(file.read_bytes())) for file in files)


def in_process() -> None:
    """Sizings a second in one process: asked again, worked out anew, and with a pool."""
    from kvgate import model
    from kvgate.kvcache import needs as needs_of
    from kvgate.kvcache import size

    needs_module = sys.modules["kvgate.kvcache.needs"]
    archs = [
        model(n) for n in ("Qwen/Qwen3-8B", "google/gemma-4-31B-it", "deepseek-ai/DeepSeek-V3")
    ]

    def again(tp: int, turn: int) -> None:
        for arch in archs:
            needs_of(arch, tp=tp).rank_sequence_bytes(131072 + turn)

    def anew(tp: int, turn: int) -> None:
        for arch in archs:
            needs_module._CACHE.clear()
            needs_of(arch, tp=tp).rank_sequence_bytes(131072 + turn)

    def whole(tp: int, turn: int) -> None:
        for arch in archs:
            size(arch, tp=tp, max_model_len=1 + turn)

    def pooled(tp: int, turn: int) -> None:
        for arch in archs:
            size(arch, tp=tp, max_model_len=1 + turn, gpu="h200", weights_bytes=1 << 30)

    for what, call, bound in (
        ("sizings in one process (needs of a length)", again, "> 100,000/s"),
        ("  each worked out anew, nothing kept", anew, ""),
        ("  kvgate.size, with its sentences to hand", whole, ""),
        ("  kvgate.size for a GPU: the engine's pool too", pooled, ""),
    ):
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < 1.0:
            for tp in (1, 2, 4, 8):
                call(tp, count)
                count += 1
        row(what, f"{count * len(archs):,}/s", "", bound)


def gates() -> None:
    """Backend questions a second of one core, each another one, from the tests' golden tables."""
    from kvgate.attention.batch import answer
    from kvgate.attention.sglang import resolve
    from scripts.golden_questions import of_sglang, of_vllm

    def asked(call: Callable[[Any], object], questions: Sequence[Any]) -> float:
        for question in questions:
            call(question)
        spent = []
        for _ in range(5):
            start = time.process_time()
            for question in questions:
                call(question)
            spent.append(time.process_time() - start)
        return len(questions) / min(spent)

    for what, call, questions in (
        ("SGLang 0.5.23 resolutions in one process", resolve, of_sglang("0.5.23")),
        ("vLLM 0.33.0 batch rows in one process", answer, of_vllm("0.33.0")),
    ):
        rate = asked(call, questions)
        row(what, f"{rate:,.0f}/CPU s", f"{len(questions):,} different ones", "> 20,000/s")


def log() -> None:
    """A large log with 500 signatures, beside grep with the same texts."""
    from random import Random

    random = Random(1)
    lines = [
        f"(EngineCore_0 pid={random.randrange(9999)}) INFO 11-30 12:00:{i % 60:02d} [loggers.py:1] "
        f"Avg prompt throughput: {random.random() * 1e4:.1f} tokens/s, Running: {i % 97} reqs, "
        f"GPU KV cache usage: {random.random() * 100:.1f}%, Prefix cache hit rate: 0.{i % 10}%"
        for i in range(20_000)
    ]
    texts = [
        f"the made up backend {i} refuses layer number {i}00 of this model" for i in range(500)
    ]
    script = (
        "import json, sys\nfrom kvgate.diagnose.matcher import Matcher\n"
        "m = Matcher([(str(i), t) for i, t in enumerate(json.load(open(sys.argv[1])))])\n"
        "def blocks():\n    with open(sys.argv[2], encoding='utf-8') as f:\n"
        "        while text := f.read(1 << 20): yield text\n"
        "print(len(m.scan(blocks())))"
    )
    import json

    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        (where / "s.json").write_text(json.dumps(texts), encoding="utf-8")
        (where / "s.txt").write_text("\n".join(texts), encoding="utf-8")
        block = "\n".join(lines) + "\n"
        with (where / "log").open("w", encoding="utf-8") as file:
            for _ in range(100 * 2**20 // len(block)):
                file.write(block)
            file.write(f"ERROR {texts[7]}\n")
        mine = [sys.executable, "-c", script, str(where / "s.json"), str(where / "log")]
        grep = ["grep", "-F", "-c", "-f", str(where / "s.txt"), str(where / "log")]
        spent, peak = min(peak_mib(mine, cwd=ROOT) for _ in range(2))
        yardstick = min(seconds(grep) for _ in range(2))
        row(
            "100 MB of log, 500 signatures",
            f"{spent:.2f} s",
            f"{spent / yardstick:.1f}x grep -F -f",
            "< 3 s",
        )
        row("  peak memory", f"{peak:.0f} MiB", "", "< 200 MB")


def browser() -> None:
    """What a reader waits for; needs Chromium, and the planner's Pyodide."""
    from scripts.bench_browser import browser

    browser(row)


PARTS = {
    "processes": lambda quick: processes(),
    "records": lambda quick: records((1000,) if quick else (1000, 10_000)),
    "site": lambda quick: site((100, 300) if quick else (100, 1000, 3000)),
    "in-process": lambda quick: in_process(),
    "gates": lambda quick: gates(),
    "log": lambda quick: log(),
    "browser": lambda quick: browser(),
}


def main() -> int:
    """Run the parts that were named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="smaller numbers of records")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name in options.parts or PARTS:
        PARTS[name](options.quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())
