"""The program that adds a model to the catalogue."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "add_model.py"
CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 2,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "vocab_size": 128256,
}


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("add_model", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    notes = '[skip]\n"org/Old" = "no release"\n[set]\n[aliases]\n"org/New" = ["org/New-Chat"]\n'
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "notes.toml").write_text(notes)
    monkeypatch.setattr(module, "CATALOG", tmp_path / "models")
    return module


def _run(script: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["add_model.py", *arguments])
    code: int = script.main()
    return code


def test_one_model_is_written_with_its_source_and_listed(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    told = ("--id", "org/New", "--source", "repo:path@commit", "--date", "2026-11-30")
    assert _run(script, monkeypatch, str(path), *told) == 0
    entry = json.loads((tmp_path / "models" / "org--New.json").read_text())
    assert entry["source"] == "repo:path@commit"
    assert entry["architecture"]["groups"][0]["layers"] == "0-1"
    index = json.loads((tmp_path / "models" / "index.json").read_text())
    assert index == {"models": {"org/New": ["org/New-Chat"]}}


def test_a_batch_takes_sources_from_the_index_and_leaves_out_what_is_no_release(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "configs"
    folder.mkdir()
    for name in ("org--New", "org--Old", "org--New-FP8"):
        (folder / f"{name}.json").write_text(json.dumps(CONFIG))
    rows = "| org--New.json | repo:a@1 | MIT |\n| org--New-FP8.json | repo:b@2 | MIT |\n"
    (folder / "INDEX.md").write_text(f"Gathered 2026-11-30.\n\n{rows}")
    assert _run(script, monkeypatch, "--batch", str(folder)) == 0
    written = {path.name for path in (tmp_path / "models").glob("*.json")}
    assert written == {"org--New.json", "org--New-FP8.json", "index.json"}
    fp8 = json.loads((tmp_path / "models" / "org--New-FP8.json").read_text())
    assert fp8["source"] == "repo:b@2"
    assert "its quantisation was not read" in fp8["architecture"]["not_counted"][0]


def test_a_config_that_cannot_be_read_writes_nothing(
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "llama"')
    told = ("--id", "org/New", "--source", "x", "--date", "2026-11-30")
    assert _run(script, monkeypatch, str(path), *told) == 2
    assert "config.json:1:23" in capsys.readouterr().err
    assert not list((tmp_path / "models").glob("*.json"))
