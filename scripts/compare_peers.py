"""One 128K sequence of KV cache, by kvgate and by other calculators that run offline.

    python scripts/compare_peers.py [--configs FOLDER] [--venv FOLDER] [--heavy]

Installs the peers with pip into a virtual environment of their own (a temporary one, unless a
folder is named), hands each the same ``config.json`` files and prints a Markdown table: the right
figure, which is what the layers have to keep, and each peer's with its ratio, or how it failed.
What failed here, as a peer that isn't installed or a model whose code only a hub has, is "not
measured" and counts against nobody.
Peers that only read from a hub get the file in place of the download; nothing else of them is
changed. The files are named ``<org>--<name>.json``; each is the ``config.json`` of that model.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvgate.architecture import parse, read_json
from kvgate.errors import InputError
from kvgate.kvcache import needs
from kvgate.units import GiB

ROOT = Path(__file__).resolve().parents[1]
TOKENS = 131_072
MODELS = (
    "meta-llama/Meta-Llama-3.1-8B", "Qwen/Qwen3-Next-80B-A3B-Instruct", "google/gemma-4-E4B-it",
    "google/gemma-4-26B-A4B-it", "google/gemma-3-27b-it", "deepseek-ai/DeepSeek-V3",
    "deepseek-ai/DeepSeek-V3.2", "zai-org/GLM-5", "nvidia/GLM-5.2-NVFP4",
    "moonshotai/Kimi-K2-Instruct", "moonshotai/Kimi-Linear-48B-A3B", "openai/gpt-oss-120b",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16",
    "ai21labs/AI21-Jamba-1.5-Mini", "LGAI-EXAONE/EXAONE-4.0-32B",
    "nvidia/Llama-3_3-Nemotron-Super-49B-v1", "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "XiaomiMiMo/MiMo-V2-Flash", "stepfun-ai/Step-3.7-Flash-FP8", "MiniMaxAI/MiniMax-M1-80k",
    "LiquidAI/LFM2.5-VL-1.6B", "microsoft/Phi-3-mini-4k-instruct",
)  # fmt: skip
# What goes wrong here rather than in the peer: it isn't installed, or wants what only a hub has, as
# the code that comes with some models. It says nothing about the peer.
OURS = ("no answer", "OSError", "ImportError", "ModuleNotFoundError", "ConnectError",
        "ConnectTimeout", "ConnectionError", "LocalEntryNotFoundError")  # fmt: skip
KINDS = ("right", "wrong", "refuses", "crashes", "not measured")
# Nearer to the right figure than this counts as right: states may be kept in 16 or in 32 bits.
CLOSE = 0.02


@dataclass(frozen=True)
class Peer:
    """A package and a ``sized(path, config, tokens)`` that asks it for bytes of KV, in 16 bits.

    ``refusals`` are the errors by which it says that it does not know a model.
    """

    package: str
    program: str
    refusals: tuple[str, ...] = ()
    heavy: bool = False


_HF_MEM = """
import importlib, warnings
run = importlib.import_module("hf_mem.run")
warnings.simplefilter("ignore")
def sized(path, config, tokens):
    async def json_file(client, url, headers=None):
        if "/tree/" in url:
            return [{"path": p, "type": "file"} for p in ("config.json", "model.safetensors")]
        return json.load(open(path))
    async def metadata(client, url, headers=None):
        return {"w": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}
    run.get_json_file, run.fetch_safetensors_metadata = json_file, metadata
    answer = run.run("a/b", experimental=True, max_model_len=tokens, kv_cache_dtype="bfloat16")
    return answer.kv_cache
"""
_RIDGEPOINT = """
import ridgepoint, ridgepoint.hf as hub
hub._params_from_index = lambda *given: 10**9
def sized(path, config, tokens):
    hub.hf_hub_download = lambda **given: path
    answer = ridgepoint.fit("a/b", "h100-80gb", ctx=tokens, as_json=True)
    return json.loads(answer)["capacity"]["bytes_per_seq"]
"""
# Index keys as the engines keep them: 128 values of a byte and a float32 scale.
_KVFIT = """
from kvfit.architectures import estimate_cache
def sized(path, config, tokens):
    answer = estimate_cache(config, context_tokens=tokens, kv_bytes=2.0, index_bytes=132 / 128)
    return answer.total_bytes
"""
_VRAMSCOUT = """
import vramscout.model as read
from vramscout.memory import cache_memory_gib
def sized(path, config, tokens):
    read._load_config = lambda *given, **named: (config, "")
    return cache_memory_gib(read.inspect_model("a/b"), tokens, 1, "bf16") * 2**30
"""
_VRAMCALC = """
from vramcalc.arch import Arch
from vramcalc.memory import kv_cache
def sized(path, config, tokens):
    return kv_cache(Arch.from_config(config), 1, tokens, 2)
"""
_LLM_MEM = """
import llm_mem_planner.cli as plan
def sized(path, config, tokens):
    dims = plan.load_dims(config)
    plan.estimate_params(dims)
    kv = plan.estimate_kv_cache_gib(dims, batch=1, seq_len=tokens, kv_dtype_bytes=2)
    return (kv + (plan.estimate_nsa_index_cache_gib(dims, batch=1, seq_len=tokens) or 0)) * 2**30
"""
_HF_VRAM_CALC = """
from hf_vram_calc.config import ConfigManager
from hf_vram_calc.calculator import VRAMCalculator
from hf_vram_calc.parser import ConfigParser
def sized(path, config, tokens):
    model = ConfigParser.parse_config(path, "a/b")
    of = VRAMCalculator(ConfigManager()).calculate_kv_cache_memory
    return of(model, "bf16", 1, tokens) * 2**30
"""
PEERS = (
    Peer("hf-mem==0.5.6", _HF_MEM),
    Peer("ridgepoint==0.1.2", _RIDGEPOINT, ("ValueError",)),
    Peer("kvfit==0.3.0", _KVFIT, ("UnsupportedArchitecture",)),
    Peer("vramscout==0.7.0", _VRAMSCOUT, ("ModelInspectionError",)),
    Peer("vramcalc==0.1.2", _VRAMCALC, ("UnsupportedModelError",)),
    Peer("llm-mem-planner==0.2.2", _LLM_MEM, ("ValueError",)),
    Peer("hf-vram-calc==1.0.9", _HF_VRAM_CALC, ("ValueError",), heavy=True),
)

_RUN = """
import json, sys, io, contextlib
rows, tokens = json.load(sys.stdin), int(sys.argv[1])
{program}
for name, path in rows:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            size = sized(path, json.load(open(path)), tokens)
        answer = {{"bytes": size}} if size is not None else {{"failed": "no figure"}}
    except BaseException as error:
        answer = {{"failed": type(error).__name__, "words": str(error)[:200]}}
    print(json.dumps([name, answer]), flush=True)
"""


def main() -> int:
    """Install, ask, print."""
    options = _options()
    rows = {}
    for model in MODELS:
        path = options.configs / f"{model.replace('/', '--')}.json"
        if path.is_file():
            rows[model] = path.resolve()
        else:
            print(f"left out: {model}, for there is no {path}", file=sys.stderr)
    if not rows:
        print(f"{options.configs} holds none of the configs: save each model's config.json there, "
              "as <org>--<name>.json, or name another folder", file=sys.stderr)  # fmt: skip
        return 2
    right = {model: _right(model, path) for model, path in rows.items()}
    peers = [peer for peer in PEERS if options.heavy or not peer.heavy]
    with tempfile.TemporaryDirectory() as scratch:
        python = _install(options.venv or Path(scratch), peers)
        answers = {peer: _ask(python, peer, rows) for peer in peers}
    _print(right, answers)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--configs", type=Path, default=ROOT / "../shared/data/configs",
        help="a folder of <org>--<name>.json files, each the config.json of that model",
    )  # fmt: skip
    parser.add_argument("--venv", type=Path, help="keep the peers in this virtual environment")
    parser.add_argument("--heavy", action="store_true", help="peers that need PyTorch, too")
    return parser.parse_args()


def _right(model: str, path: Path) -> int:
    """What the layers keep of one sequence, in 16 bits: windows capped, states counted."""
    try:
        arch = parse(read_json(path.read_text(encoding="utf-8"), path=str(path)), id=model)
        return needs(arch, kv_cache_dtype="bfloat16").sequence_bytes(TOKENS)
    except InputError as error:
        sys.exit(f"kvgate itself refuses {model}: {error}")


def _install(folder: Path, peers: list[Peer]) -> Path:
    """The Python of a virtual environment that holds the peers, each as far as pip finds it."""
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    for peer in peers:
        done = subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
             peer.package],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            print(f"pip did not install {peer.package}: {done.stderr[-300:]}", file=sys.stderr)
    return python


def _ask(python: Path, peer: Peer, rows: dict[str, Path]) -> dict[str, dict[str, Any]]:
    """Each model's answer: its bytes, or how it failed."""
    done = subprocess.run(
        [str(python), "-c", _RUN.format(program=peer.program), str(TOKENS)],
        input=json.dumps([[model, str(path)] for model, path in rows.items()]),
        capture_output=True, text=True, check=False, timeout=1800,
    )  # fmt: skip
    found = dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))
    if done.returncode:
        print(f"{peer.package}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    return {model: found.get(model, {"failed": "no answer"}) for model in rows}


def _print(right: dict[str, int], answers: dict[Peer, dict[str, dict[str, Any]]]) -> None:
    names = [peer.package.replace("==", " ") for peer in answers]
    print(f"GiB of KV cache for one sequence of {TOKENS:,} tokens in 16 bits (ratio to right)\n")
    print(f"| model | kvgate (the yardstick) | {' | '.join(names)} |")
    print(f"|---|---:|{'---:|' * len(names)}")
    tally: Counter[tuple[str, str]] = Counter()
    for model, size in right.items():
        cells = []
        for peer, given in answers.items():
            kind, cell = _cell(peer, given[model], size)
            tally[peer.package, kind] += 1
            cells.append(cell)
        print(f"| {model} | {size / GiB:.2f} | {' | '.join(cells)} |")
    for kind in KINDS:
        counts = " | ".join(str(tally[peer.package, kind]) for peer in answers)
        # kvgate has no count: it's the yardstick here, and would be right by definition.
        print(f"| **{kind}**, of {len(right)} | | {counts} |")


def _cell(peer: Peer, answer: dict[str, Any], right: int) -> tuple[str, str]:
    """(one of KINDS; the cell)."""
    if "failed" in answer:
        kind = str(answer["failed"])
        if kind in OURS:
            return "not measured", f"not measured ({kind})"
        # Where a peer warns and leaves the figure out, it says that it doesn't know.
        if kind in peer.refusals or kind == "no figure":
            return "refuses", "refuses"
        return "crashes", f"crashes ({kind})"
    size = float(answer["bytes"])
    ratio = size / right
    if abs(ratio - 1) <= CLOSE:
        return "right", f"{size / GiB:.2f} ✓"
    times = f"{ratio:.2f}" if ratio < 2 else f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"
    return "wrong", f"**{size / GiB:.2f}** ({times}×)"


if __name__ == "__main__":
    sys.exit(main())
