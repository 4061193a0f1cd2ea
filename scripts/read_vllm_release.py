"""Read a vLLM release into the catalogue: ``python scripts/read_vllm_release.py 0.33.0``.

The release's wheel is downloaded, its Python files are taken out, and its own classes are asked
what they accept, under a made-up CUDA device, one process for each compute capability. Nothing is
compiled and no GPU is needed. The answers go to kvgate/catalog/engines/vllm/VERSION.json; a second
run writes the same bytes.

``--check N`` asks N random configurations of the release's classes and of kvgate, and reports every
difference; it reads the catalogue entry and changes nothing.

Sources, environments and answers are kept in the cache folder and used again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROBE = HERE / "vllm_probe"
CATALOGUE = HERE.parent / "kvgate" / "catalog" / "engines" / "vllm"
ROCM_DEVICES = ("gfx942", "gfx950")
# The tests compare the entries with these, so that no cell is changed by hand unnoticed.
DIGESTS = HERE.parent / "tests" / "golden" / "vllm_catalogue_digests.json"
DEVICES = ("7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1")

sys.path[:0] = [str(HERE.parent)]


def main(arguments: list[str]) -> int:
    """Read the releases named on the command line; 1 where a check found a difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("versions", nargs="+", metavar="VERSION")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "vllm-src")
    parser.add_argument(
        "--python", type=Path, help="an environment that has the probe's requirements"
    )
    parser.add_argument("--rocm", action="store_true", help="ask under AMD devices instead")
    parser.add_argument("--check", type=int, metavar="N", help="compare N random configurations")
    parser.add_argument("--golden", type=Path, help="with --check: keep rows and answers in FOLDER")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--devices", default=",".join(DEVICES), help="gfx942 is one, too")
    options = parser.parse_args(arguments)
    options.cache.mkdir(parents=True, exist_ok=True)
    python = options.python or environment(options.cache)
    differences = 0
    for version in options.versions:
        source = unpack(version, options.cache)
        if options.rocm and options.check is None:
            read_rocm(version, source, python)
        elif options.check is None:
            read(version, source, python, options.devices.split(","))
        else:
            from scripts.vllm_probe.check import compare, random_rows
            from scripts.vllm_probe.golden import keep

            rows = random_rows(version, options.check, options.seed, options.devices.split(","))
            jobs = [
                {"task": "rows", "source": str(source), "sm": sm, "aiter": "found", "rows": asked}
                for sm, asked in rows.items()
            ]
            told = dict(zip(rows, ask(python, jobs), strict=True))
            differences += compare(version, rows, told)
            if options.golden:
                pairs = [pair for sm in rows for pair in zip(rows[sm], told[sm], strict=True)]
                keep(version, pairs, options.golden / f"attention_vllm_{version}.json")
    return 1 if differences else 0


def environment(cache: Path) -> Path:
    """An environment with what importing a release takes, made on first use."""
    folder = cache / "environment"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        wanted = str(PROBE / "requirements.txt")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", wanted], check=True)
        (folder / "ready").touch()
    return python


def unpack(version: str, cache: Path) -> Path:
    """The folder with the release's Python files, downloaded on first use."""
    folder = cache / version
    if (folder / "vllm").is_dir():
        return folder
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, "--dest", scratch, f"vllm=={version}"], check=True)
        (wheel,) = Path(scratch).glob("vllm-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".py") or ".dist-info/METADATA" in name:
                    archive.extract(name, Path(scratch) / "files")
        (Path(scratch) / "files").rename(folder)
    return folder


def ask(python: Path, jobs: list[dict[str, Any]]) -> list[Any]:
    """Have the probe do the jobs, and return their answers."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for number, job in enumerate(jobs):
            job["out"] = str(folder / f"{number}.json")
            if "rows" in job:
                path = folder / f"{number}.rows"
                path.write_text("\n".join(map(json.dumps, job["rows"])), encoding="utf-8")
                job["rows"] = str(path)
        (folder / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
        command = [str(python), "-m", "scripts.vllm_probe.ask", str(folder / "jobs.json")]
        # Each job imports the release anew: compiled once is half the time.
        settings = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(
            command, cwd=HERE.parent, env=settings, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"the probe failed:\n{done.stderr.strip()[-4000:]}")
        return [json.loads(Path(job["out"]).read_text(encoding="utf-8")) for job in jobs]


def read_rocm(version: str, source: Path, python: Path) -> None:
    """Ask the release under AMD devices and write its entry for them."""
    from scripts.vllm_probe.catalogue import rocm_entry, write

    keys = [(arch, kernels) for arch in ROCM_DEVICES for kernels in ("none", "found", "on")]
    jobs = [
        {"task": "rocm", "source": str(source), "sm": arch, "aiter": kernels}
        for arch, kernels in keys
    ]
    answers = dict(zip(keys, ask(python, jobs), strict=True))
    folder = CATALOGUE / "rocm"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{version}.json"
    write(rocm_entry(version, answers, asked_with(python)), path)
    print(f"{version}: {path.stat().st_size:,} bytes in {folder.name}/{path.name}", flush=True)
    keep_digests()


def keep_digests() -> None:
    """Write the digest of every entry, for the tests."""
    digests = {
        entry.relative_to(CATALOGUE).as_posix(): sha256(entry.read_bytes()).hexdigest()
        for entry in sorted(CATALOGUE.rglob("*.json"))
    }
    DIGESTS.write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")


def asked_with(python: Path) -> dict[str, str]:
    """The versions of the libraries whose answers the release passes on."""
    code = "import torch, flashinfer; print(torch.__version__, flashinfer.__version__)"
    told = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    torch_version, flashinfer_version = told.stdout.split()
    return {"torch": torch_version.partition("+")[0], "flashinfer": flashinfer_version}


def read(version: str, source: Path, python: Path, devices: list[str]) -> None:
    """Ask the release on every device and write its catalogue entry."""
    from scripts.vllm_probe.catalogue import entry, write

    jobs = [{"task": "facets", "source": str(source), "sm": sm} for sm in devices]
    *answers, flags = ask(python, [*jobs, {"task": "flags", "source": str(source), "sm": "9.0"}])
    CATALOGUE.mkdir(parents=True, exist_ok=True)
    path = CATALOGUE / f"{version}.json"
    write(entry(version, dict(zip(devices, answers, strict=True)), flags, asked_with(python)), path)
    print(f"{version}: {path.stat().st_size:,} bytes in {path.name}", flush=True)
    keep_digests()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
