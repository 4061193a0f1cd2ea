"""``kvgate size``: its flags, its JSON, its text, its files, and what it says of bad ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kvgate.cli import main

ROOT = Path(__file__).resolve().parents[2]
KVGATE = str(Path(sys.executable).parent / "kvgate")
NEXT = "Qwen/Qwen3-Next-80B-A3B-Instruct"
LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 32,
    "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
    "vocab_size": 128_256, "max_position_embeddings": 131_072, "torch_dtype": "bfloat16",
    "intermediate_size": 14_336,
}  # fmt: skip
V4: dict[str, Any] = {
    "model_type": "deepseek_v4", "num_hidden_layers": 3, "hidden_size": 4096,
    "num_attention_heads": 64, "num_key_value_heads": 1, "head_dim": 512, "qk_rope_head_dim": 64,
    "sliding_window": 128, "compress_ratios": [0, 4, 128], "index_topk": 512,
    "index_head_dim": 128, "index_n_heads": 64, "max_position_embeddings": 1_048_576,
    "vocab_size": 129_280,
}  # fmt: skip


class Run:
    """One call in this process: exit status, standard output, standard error."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["kvgate", "size", *arguments])
            with pytest.raises(SystemExit) as ended:
                main()
        self.code = ended.value.code
        self.out, self.err = capsys.readouterr()

    @property
    def json(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        answer: dict[str, Any] = json.loads(self.out)
        return answer


def _config(folder: Path, content: Any) -> str:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "config.json").write_text(text, encoding="utf-8")
    return str(folder / "config.json")


# ---- flags ------------------------------------------------------------------------------------


def test_the_tokens_and_the_concurrency_are_what_a_log_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # A public start-up log: vLLM 0.19.0, 58.11 GiB, 476,016 tokens, 58.11x.
    answer = Run(
        capsys, "meta-llama/Llama-3.1-8B-Instruct", "--engine", "vllm==0.19.0", "--max-model-len",
        "8192", "--kv-cache-memory", "58.11", "--json",
    ).json  # fmt: skip
    assert abs(answer["pool"]["tokens"] - 476_016) <= 58
    assert round(answer["pool"]["max_concurrency"], 2) == 58.11
    assert answer["fits"] is True
    assert answer["weights"]["bytes_per_rank"] is None


def test_the_dtype_is_resolved_and_the_requested_one_is_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kv = Run(capsys, NEXT, "--json").json["kv"]
    assert (kv["dtype"], kv["requested"], kv["format"]) == ("bfloat16", "auto", "bf16")
    kv = Run(capsys, NEXT, "--kv-cache-dtype", "fp8", "--json").json["kv"]
    assert (kv["dtype"], kv["requested"]) == ("fp8", "fp8")
    kv = Run(capsys, "deepseek-ai/DeepSeek-V4-Flash", "--json").json["kv"]
    assert (kv["dtype"], kv["requested"]) == ("fp8_ds_mla", "auto")


@pytest.mark.parametrize(
    ("flags", "path", "expected"),
    [
        (["--tp", "4"], ("kv", "bytes_per_token_per_rank"), 12_288),
        (["--tensor-parallel-size", "2"], ("kv", "bytes_per_token_per_rank"), 12_288),
        (["--pipeline-parallel-size", "4"], ("kv", "bytes_per_token_per_rank"), 6144),
        (["--kv-cache-dtype", "fp8"], ("kv", "bytes_per_token"), 12_288),
        (["--dtype", "float16"], ("kv", "bytes_per_token"), 24_576),
        (["--mamba-ssm-cache-dtype", "float32"], ("kv", "state_bytes_per_sequence"), 77_266_944),
        (["--max-model-len", "128K"], ("kv", "sequence_bytes"), 3_260_743_680),
        (["--block-size", "1024", "--kv-cache-memory", "20"], ("pool", "block_size"), 1024),
    ],
)  # fmt: skip
def test_the_engines_own_flags_change_the_answer(
    capsys: pytest.CaptureFixture[str], flags: list[str], path: tuple[str, str], expected: int
) -> None:
    answer = Run(capsys, NEXT, *flags, "--json").json
    assert answer[path[0]][path[1]] == expected


def test_decode_context_parallelism_divides_a_latent(capsys: pytest.CaptureFixture[str]) -> None:
    model = "deepseek-ai/DeepSeek-V3"
    one, eight = (
        Run(capsys, model, "--tp", "8", *dcp, "--json").json["kv"]["bytes_per_token_per_rank"]
        for dcp in ([], ["--decode-context-parallel-size", "8"])
    )
    assert one == 8 * eight


def test_memory_comes_in_gib_in_bytes_or_by_stage(capsys: pytest.CaptureFixture[str]) -> None:
    llama = ["meta-llama/Llama-3.1-8B-Instruct", "--engine", "vllm==0.19.0", "--json"]
    gib = Run(capsys, *llama, "--kv-cache-memory", "20").json["pool"]
    assert Run(capsys, *llama, "--kv-cache-memory-bytes", "20G").json["pool"] == gib
    # The smallest rank decides: both stages of the log's 65.63 and 66.54 GiB.
    stages = Run(capsys, *llama, "--pp", "2", "--max-model-len", "8192",
                 "--kv-cache-memory", "66.54,65.63").json["pool"]  # fmt: skip
    assert abs(stages["tokens"] - 1_075_312) <= 164
    twice = Run(capsys, *llama, "--kv-cache-memory", "1", "--kv-cache-memory-bytes", "1G")
    assert (twice.code, "given twice" in twice.err) == (2, True)


def test_drafts_and_modes_reach_the_pool(capsys: pytest.CaptureFixture[str]) -> None:
    base = ["Qwen/Qwen3.5-27B", "--engine", "vllm==0.26.0", "--kv-cache-memory", "20", "--json"]
    plain = Run(capsys, *base).json["pool"]["tokens"]
    drafted = Run(
        capsys, *base, "--speculative-config", '{"method": "mtp", "num_speculative_tokens": 2}'
    ).json["pool"]["tokens"]
    off = Run(capsys, *base, "--no-enable-prefix-caching").json["pool"]["tokens"]
    assert drafted < plain < off
    gemma = ["google/gemma-3-27b-it", "--engine", "vllm==0.33.0", "--kv-cache-memory", "20",
             "--json"]  # fmt: skip
    hybrid, unified = (
        Run(capsys, *gemma, *flags).json["pool"]["tokens"]
        for flags in ([], ["--disable-hybrid-kv-cache-manager"])
    )
    assert unified < hybrid
    sync = Run(capsys, *gemma, "--no-async-scheduling").json["pool"]["tokens"]
    assert sync > hybrid


def test_other_engines_take_their_own_flags_and_no_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    llama = "meta-llama/Llama-3.1-8B-Instruct"
    shared = [llama, "--engine", "sglang", "--gpu", "H100", "--json"]
    small, large = (
        Run(capsys, *shared, "--mem-fraction-static", f).json["pool"]["tokens"]
        for f in ("0.6", "0.9")
    )
    assert small < large
    slots = Run(
        capsys, llama, "--engine", "llama.cpp", "--kv-cache-memory", "10", "--parallel", "2",
        "--ctx-size", "8192", "--cache-type-k", "q8_0", "--json",
    )  # fmt: skip
    assert slots.code == 0, slots.err
    wrong = Run(capsys, llama, "--engine", "vllm", "--mem-fraction-static", "0.8")
    assert wrong.code == 2
    assert "--mem-fraction-static is a flag of sglang, and the engine is vllm" in wrong.err


@pytest.mark.parametrize("text", ["40", "40.0", "40GiB", "40 GiB", "42949672960 B"])
def test_memory_is_read_as_logs_and_people_write_it(
    capsys: pytest.CaptureFixture[str], text: str
) -> None:
    pool = Run(capsys, NEXT, "--kv-cache-memory", text, "--json").json["pool"]
    assert pool["bytes_per_rank"] == 40 * 2**30


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--tp", "0"], "--tp"),
        (["--tp", "3"], "16 attention heads"),
        (["--gpu-memory-utilization", "1.5"], "gpu-memory-utilization"),
        (["--gpu-memory-utilization", "0"], "gpu-memory-utilization"),
        (["--kv-cache-memory", "lots"], "number of GiB"),
        (["--kv-cache-memory", "-1"], "impossible"),
        (["--kv-cache-memory", "nan"], "number of GiB"),
        (["--kv-cache-memory", "42949672960"], "impossible"),
        (["--kv-cache-memory", "1,2,3", "--pp", "2"], "3 memory figures for 2 pipeline stages"),
        (["--max-model-len", "0"], "max_model_len is 0"),
        (["--max-num-seqs", "0", "--gpu", "H100"], "max_num_seqs is 0"),
        (["--engine", "vllm==0.1"], "older than the oldest"),
        (["--engine", "vllm==x.y"], "not a version"),
        (["--kv-cache-dtype", "fp9"], "fp8"),
        (["--dtype", "float17"], "float16"),
        (["--mamba-ssm-cache-dtype", "int8"], "not a state dtype"),
        (["--speculative-config", "mtp"], "num_speculative_tokens"),
        (["--speculative-config", '{"num_speculative_tokens": true}'], "num_speculative_tokens"),
        (["--mamba-cache-mode", "all", "--kv-cache-memory", "20"], "has no mamba_cache_mode"),
        (["--kv-cache-dtype-skip-layers", "odd", "--kv-cache-dtype", "fp8"], "'odd' to skip"),
        (["--plot", "no/such/folder/x.svg"], "no/such/folder"),
        (["--weights", "many"], "number of GiB"),
    ],
)  # fmt: skip
def test_a_flag_that_cannot_be_is_named(
    capsys: pytest.CaptureFixture[str], flags: list[str], says: str
) -> None:
    done = Run(capsys, NEXT, *flags)
    assert done.code == 2, done.out
    assert says in done.err
    assert "Traceback" not in done.err


# ---- text -------------------------------------------------------------------------------------


def test_text_in_a_pipe_is_plain_and_at_most_eighty_columns_wide() -> None:
    done = subprocess.run(
        [KVGATE, "size", "google/gemma-4-31B-it", "--gpu", "H100"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in done.stdout
    assert all(line == line.rstrip() for line in lines)
    assert "does not fit; the longest that does has" in " ".join(done.stdout.split())
    for words in ("What the model needs, one copy", "What vllm==0.33.0 reserves, per GPU",
                  "To make it fit, one of", "Assumed", "x window 1024"):  # fmt: skip
        assert words in done.stdout
    # Both answers, never blended: the need at this length, and what the engine says it needs.
    flat = " ".join(done.stdout.split())
    assert "one sequence of 262,144 tokens: 20.78 GiB" in flat
    assert "(33.29 GiB KV cache is needed" in flat


def test_what_makes_it_fit_does(capsys: pytest.CaptureFixture[str]) -> None:
    model = ["meta-llama/Llama-3.1-70B-Instruct", "--gpu", "H100", "--engine", "vllm==0.33.0",
             "--json"]  # fmt: skip
    answer = Run(capsys, *model).json
    assert answer["fits"] is False
    ways = [line for line in answer["explanation"] if line.startswith("to fit: tensor")]
    ranks = ways[0].split()[3]
    assert Run(capsys, *model, "--tp", ranks).json["fits"] is True
    assert Run(capsys, *model, "--tp", str(int(ranks) // 2)).json["fits"] is False


def test_every_line_of_the_explanation_has_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    answer = Run(capsys, NEXT, "--gpu", "H100", "--tp", "4", "--json").json
    text = "\n".join(answer["explanation"])
    assert "12 layers x 2 KV heads x 1024 B (bf16: 256 K + 256 V) = 24.00 KiB/token" in text
    assert "[full_attention_interval=4" in text
    assert "held 2 times over 4 ranks" in text
    assert "counted from the architecture" in text
    assert any("more than 5 %" in line for line in answer["assumptions"])
    low, high = answer["pool"]["bytes_per_rank_range"]
    assert low < answer["pool"]["bytes_per_rank"] < high


# ---- files ------------------------------------------------------------------------------------


def test_a_folder_with_its_quantisation_and_its_index_is_read_whole(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _config(tmp_path, LLAMA)
    (tmp_path / "hf_quant_config.json").write_text(
        json.dumps({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}),
        encoding="utf-8",
    )
    (tmp_path / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": 9_000_000_000}, "weight_map": {}}), encoding="utf-8"
    )
    answer = Run(
        capsys, str(tmp_path), "--gpu", "H100", "--tp", "2", "--engine", "vllm==0.33.0", "--json"
    ).json
    assert answer["kv"]["dtype"] == "fp8"
    assert answer["kv"]["bytes_per_token"] == 65_536
    assert "safetensors index" in answer["weights"]["basis"]
    # Half of the index on each of two ranks, and a little that is not split.
    assert 4_500_000_000 <= answer["weights"]["bytes_per_rank"] < 4_650_000_000


def test_a_bare_file_name_in_the_current_folder_is_read(tmp_path: Path) -> None:
    _config(tmp_path, LLAMA)
    done = subprocess.run(
        [KVGATE, "size", "config.json", "--json"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["kv"]["bytes_per_token"] == 131_072
    done = subprocess.run(
        [KVGATE, "size", "."], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "128.00 KiB/token" in done.stdout


def test_a_chart_is_written_where_asked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "out.svg"
    assert Run(capsys, NEXT, "--gpu", "H100", "--tp", "4", "--plot", str(target)).code == 0
    assert target.read_text(encoding="utf-8").startswith("<svg")


def test_a_chart_into_a_missing_folder_names_the_file_that_was_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = tmp_path / "missing" / "out.svg"
    run = Run(capsys, NEXT, "--gpu", "H100", "--tp", "4", "--plot", str(target))
    assert run.code == 2
    assert run.err.startswith(f"{target}:")
    assert ".new" not in run.err


@pytest.mark.parametrize(
    ("version", "dtype", "near"), [("0.13.0", "nvfp4", "fp8"), ("0.20.2", "nvfp4_ds_mla", "nvfp4")]
)
def test_a_dtype_that_the_release_lacks_is_refused_with_the_nearest(
    version: str, dtype: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(capsys, "Qwen/Qwen3-8B", "--engine", f"vllm=={version}", "--kv-cache-dtype", dtype)
    assert run.code == 2
    assert f"vllm {version} has no KV dtype {dtype!r}" in run.err
    assert near in run.err


def test_a_gpu_that_cuda_13_does_not_compile_for_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    volta = Run(capsys, "Qwen/Qwen3-8B", "--gpu", "V100 32GB", "--json").json["assumptions"]
    turing = Run(capsys, "Qwen/Qwen3-8B", "--gpu", "T4", "--json").json["assumptions"]
    assert any("CUDA 13" in text for text in volta)
    assert not any("CUDA 13" in text for text in turing)


def test_a_hub_id_is_downloaded_with_the_files_beside_its_config(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _config(tmp_path, LLAMA)
    asked = []

    class Hub(ModuleType):
        @staticmethod
        def hf_hub_download(name: str, file: str) -> str:
            asked.append((name, file))
            if not (tmp_path / file).exists():
                raise OSError("404")
            return str(tmp_path / file)

    monkeypatch.setitem(sys.modules, "huggingface_hub", Hub("huggingface_hub"))
    answer = Run(capsys, "someone/some-model", "--hub", "--json").json
    assert answer["model"]["id"] == "someone/some-model"
    assert {file for _, file in asked} == {
        "config.json", "hf_quant_config.json", "model.safetensors.index.json",
    }  # fmt: skip
    (tmp_path / "config.json").unlink()
    failed = Run(capsys, "someone/some-model", "--hub")
    assert (failed.code, "could not be downloaded: 404" in failed.err) == (2, True)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    lacking = Run(capsys, "someone/some-model", "--hub")
    assert (lacking.code, "pip install huggingface_hub" in lacking.err) == (2, True)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"model_type": "llama", "num_hidden', "it ends in the middle"),
        ("", "it ends in the middle"),
        ("null", "is null, not an object"),
        ("[1, 2]", "is a list, not an object"),
        ('"x"', "is a string, not an object"),
        ("[" * 100_000, "not JSON that can be read"),
        ("\ufeff{}", "model_type is missing"),
        ({**LLAMA, "num_hidden_layers": None}, "num_hidden_layers is missing"),
        ({**LLAMA, "num_hidden_layers": "32"}, 'must be a whole number, not "32"'),
        ({**LLAMA, "num_hidden_layers": 32.5}, "num_hidden_layers must be a whole number"),
        ({**LLAMA, "num_hidden_layers": -1}, "num_hidden_layers=-1 is out of range"),
        ({**LLAMA, "num_hidden_layers": 10**9}, "num_hidden_layers=1000000000 is out of range"),
        ({**LLAMA, "num_hidden_layers": True}, "must be a whole number, not true"),
        ({**LLAMA, "num_hidden_layers": float("nan")}, "num_hidden_layers must be a whole number"),
        ({**LLAMA, "hidden_size": float("inf")}, "hidden_size must be a whole number"),
        ({**LLAMA, "num_attention_heads": [32]}, "num_attention_heads must be a whole number"),
        ({**LLAMA, "num_attention_heads": 0}, "num_attention_heads=0 is out of range"),
        ({**LLAMA, "num_key_value_heads": 7}, "not a multiple of num_key_value_heads=7"),
        ({**LLAMA, "head_dim": "x"}, "head_dim must be a whole number"),
        ({**LLAMA, "head_dim": 0}, "head_dim=0 is out of range"),
        ({**LLAMA, "hidden_size": 4097}, "head_dim is missing, and hidden_size=4097"),
        ({**LLAMA, "layer_types": ["full_attention"] * 3}, "layer_types has 3 entries for 32"),
        ({**LLAMA, "layer_types": ["weird"] * 32}, "layer_types[0] is 'weird'"),
        ({**LLAMA, "layer_types": {"a": 1}}, "layer_types must be a list"),
        ({**LLAMA, "model_type": "lama"}, "unknown model_type 'lama'"),
        ({**LLAMA, "model_type": 7}, "model_type must be a string"),
        ({**LLAMA, "torch_dtype": "float7"}, "torch_dtype=float7"),
        ({**LLAMA, "torch_dtype": {}}, "torch_dtype must be a string"),
        ({**LLAMA, "max_position_embeddings": "long"}, "max_position_embeddings must be"),
        ({**LLAMA, "vocab_size": -1}, "vocab_size=-1 is out of range"),
        ({**LLAMA, "architectures": "LlamaForCausalLM"}, "architectures must be a list"),
        ({**LLAMA, "quantization_config": "fp8"}, "quantization_config must be an object"),
        ({**LLAMA, "quantization_config": {"quant_method": 5}},
         "quantization_config.quant_method must be a string"),
        ({**LLAMA, "rope_scaling": [1]}, "rope_scaling must be an object"),
        ({**LLAMA, "kv_lora_rank": 512}, "kv_lora_rank=512 is not acted on"),
        ({**LLAMA, "model_type": "mistral", "sliding_window": -5}, "sliding_window=-5"),
        ({**V4, "compress_ratios": [0, 4]}, "compress_ratios has 2 entries for 3 layers"),
        ({**V4, "compress_ratios": [0, 4, -4]}, "compress_ratios[2]=-4 is out of range"),
        ({**V4, "compress_ratios": [0, 4, 3]}, "3 is no ratio of this family"),
        ({**V4, "compress_ratios": "4"}, "compress_ratios must be a list"),
        ({"model_type": "gemma3", "text_config": None}, "text_config is missing"),
        ({"model_type": "gemma3", "text_config": []}, "text_config must be an object"),
        ({"model_type": "gemma3", "text_config": {}}, "text_config.num_hidden_layers is missing"),
    ],
)  # fmt: skip
def test_a_bad_config_is_refused_with_its_path_and_its_key(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: Any, says: str
) -> None:
    path = _config(tmp_path, content)
    done = Run(capsys, path)
    assert done.code == 2, done.out
    assert done.err.startswith(f"{path}:"), done.err
    assert says in done.err
    assert "Traceback" not in done.err
    assert not done.out
    # The key's own problem is said once, not once more as missing.
    assert done.err.count("compress_ratios") <= 1


def test_bytes_that_are_no_text_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_bytes(b"\xff\xfe{\x00}\x00")
    done = Run(capsys, str(tmp_path))
    assert (done.code, "is not UTF-8 (byte 0)" in done.err) == (2, True)


def test_ratios_of_draft_layers_after_the_models_own_are_real(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plain = Run(capsys, _config(tmp_path, V4), "--json").json
    longer = Run(
        capsys, _config(tmp_path, {**V4, "compress_ratios": [0, 4, 128, 0]}), "--json"
    ).json
    assert longer["kv"] == plain["kv"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("hf_quant_config.json", '{"quantization": ', "hf_quant_config.json:1:"),
        ("model.safetensors.index.json", "[]", "model.safetensors.index.json:1:1"),
        ("model.safetensors.index.json", '{"metadata": {}}', "metadata.total_size"),
    ],
)
def test_a_bad_file_beside_the_config_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, content: str, says: str
) -> None:
    _config(tmp_path, LLAMA)
    (tmp_path / name).write_text(content, encoding="utf-8")
    done = Run(capsys, str(tmp_path))
    assert done.code == 2
    assert says in done.err


# ---- speed ------------------------------------------------------------------------------------


def test_a_sizing_imports_nothing_slow() -> None:
    script = (
        "import sys; from kvgate.cli import main\n"
        f"sys.argv = ['kvgate', 'size', {NEXT!r}, '--gpu', 'H100', '--tp', '4']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "slow = {'rich', 'pydantic', 'ruamel', 'markdown', 'networkx', 'mkdocs', 'tempfile',\n"
        "        'importlib.resources', 'fractions', 'difflib_'}\n"
        "print('SLOW', sorted(slow & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script], capture_output=True, text=True, check=False,
        env={"PYTHONPATH": ":".join([str(ROOT), *(p for p in sys.path if "site-packages" in p)])},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1:] == ["SLOW []"], done.stderr
