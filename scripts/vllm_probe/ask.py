"""The probe's entry point: does jobs, each in a process of its own, and writes their answers.

    python -m scripts.vllm_probe.ask JOBS

JOBS is a JSON file: a list of ``{"task", "source", "sm", "out", "rows"}``. The task is ``facets``,
``rows`` or ``flags``; the source is the folder that holds the release's ``vllm``. A process answers
for one compute capability only, since vLLM keeps what it once learnt of the device. The libraries
that vLLM imports are imported once, before the processes part.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import sys
import traceback
from pathlib import Path
from typing import Any


def answer(job: dict[str, str]) -> Any:
    """Do one job."""
    sys.path.insert(0, job["source"])
    logging.disable(logging.CRITICAL)  # vLLM's warnings of each question would fill the terminal
    if job["task"] == "flags":
        from scripts.vllm_probe.flags import serve_flags

        return serve_flags()
    from scripts.vllm_probe.releases import open_release
    from scripts.vllm_probe.rows import Asker

    asker = Asker(open_release(job["sm"], job.get("aiter", "none")))
    if job["task"] == "rocm":
        from scripts.vllm_probe.facets import collect_rocm, release_facts

        return {"release": release_facts(asker), "device": collect_rocm(asker)}
    if job["task"] == "facets":
        from scripts.vllm_probe.facets import collect, release_facts

        return {"release": release_facts(asker), "device": collect(asker, job["sm"])}
    if job["task"] == "libraries":
        return [name for name in sys.modules if name.partition(".")[0] not in _OWN]
    lines = Path(job["rows"]).read_text(encoding="utf-8").splitlines()
    return [asker.answer(json.loads(line)) for line in lines]


_OWN = {"vllm", "scripts", "__main__", "__mp_main__"}


def run(job: dict[str, str]) -> int:
    """Do one job in a process of its own; its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        Path(job["out"]).write_text(json.dumps(answer(job)), encoding="utf-8")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def import_libraries(job: dict[str, str]) -> None:
    """Import what the first job's release imports, vLLM itself left out."""
    out = job["out"] + ".libraries"
    if run({**job, "task": "libraries", "out": out}):
        return
    for name in json.loads(Path(out).read_text(encoding="utf-8")):
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def main(path: str) -> None:
    """Do all jobs; what a job prints goes to the terminal, its answer to its file."""
    jobs = json.loads(Path(path).read_text(encoding="utf-8"))
    import_libraries(jobs[0])
    failed = [job for job in jobs if run(job)]
    if failed:
        raise SystemExit("failed: " + ", ".join(f"{j['task']} {j['sm']}" for j in failed))


if __name__ == "__main__":
    main(sys.argv[1])
