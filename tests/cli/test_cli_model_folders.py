"""MODEL as a folder or a file in another engine's form: read where it can be, else said so."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kvgate.cli import main

PARAMS = {
    "dim": 4096, "n_layers": 32, "head_dim": 128, "hidden_dim": 14336, "n_heads": 32,
    "n_kv_heads": 8, "vocab_size": 32768,
}  # fmt: skip


def _size(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["kvgate", "size", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def test_a_folder_in_mistrals_own_form_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "params.json").write_text(json.dumps(PARAMS), encoding="utf-8")
    for place in (tmp_path, tmp_path / "params.json"):
        code, out, err = _size(capsys, str(place), "--json")
        assert code == 0, err
        assert json.loads(out)["kv"]["bytes_per_token"] == 32 * 2 * 8 * 128 * 2


def test_a_config_beside_it_is_the_one_that_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {
        "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 32, "intermediate_size": 64,
        "max_position_embeddings": 128, "torch_dtype": "bfloat16",
    }  # fmt: skip
    (tmp_path / "params.json").write_text(json.dumps(PARAMS), encoding="utf-8")
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    code, out, _ = _size(capsys, str(tmp_path), "--json")
    assert code == 0
    assert json.loads(out)["kv"]["bytes_per_token"] == 2 * 2 * 2 * 16 * 2


def test_a_folder_of_gguf_files_is_told_from_an_empty_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = _size(capsys, str(tmp_path))
    assert code == 2
    assert "holds no config.json" in err
    assert "GGUF" not in err
    (tmp_path / "model-Q4_K_M.gguf").write_bytes(b"GGUF")
    for place in (tmp_path, tmp_path / "model-Q4_K_M.gguf"):
        code, _, err = _size(capsys, str(place))
        assert code == 2
        assert f"{place}:1:1: KV002" in err
        assert "kvgate does not read GGUF files" in err
        assert "config.json of the model that the GGUF was made from" in err


def test_a_checkpoint_beside_which_modelopt_wrote_its_file_keeps_fp8(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beside = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    (tmp_path / "params.json").write_text(json.dumps(PARAMS), encoding="utf-8")
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(beside), encoding="utf-8")
    code, out, _ = _size(capsys, str(tmp_path), "--json")
    assert code == 0
    assert json.loads(out)["kv"]["bytes_per_token"] == 32 * 2 * 8 * 128
