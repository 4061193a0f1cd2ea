"""Other machines' texts: locales, line ends, byte order marks, names of files that are no UTF-8."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KVGATE = str(Path(sys.executable).parent / "kvgate")
RECORD = "flashinfer-rejects-large-head-dim"
COMPOSE = """\
services:
  llm:
    image: vllm/vllm-openai:v0.33.0
    command: >-
      Qwen/Qwen3-8B --max-model-len 8192
      --no-such-flag
"""
PLAIN = {"LC_ALL": "C.UTF-8"}
LOCALES = {
    "C": {"LC_ALL": "C"},
    "C without UTF-8 mode": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "Windows' old code page": {"PYTHONIOENCODING": "cp1252"},
}


def kvgate(
    *arguments: str, locale: dict[str, str] | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHON"))}
    return subprocess.run(
        [KVGATE, *arguments], env=kept | (PLAIN if locale is None else locale), input=stdin,
        capture_output=True, check=False, cwd=ROOT,
    )  # fmt: skip


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "gotchas"
    folder.mkdir()
    text = (ROOT / "gotchas" / f"{RECORD}.md").read_text(encoding="utf-8")
    text = text.replace("title: Forcing", "title: Ärger × 中文 — forcing")
    (folder / f"{RECORD}.md").write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "gotchas" / "concepts.toml", folder)
    return folder


def test_every_locale_gives_the_same_answers(library: Path) -> None:
    for arguments in (
        ["lint", str(library), "--format", "json"],
        ["graph", str(library)],
        ["size", "Qwen/Qwen3-8B", "--gpu", "H100"],
        ["show", RECORD],
    ):
        here = kvgate(*arguments)
        for name, locale in LOCALES.items():
            there = kvgate(*arguments, locale=locale)
            assert b"Traceback" not in there.stderr, (name, arguments)
            assert there.returncode == here.returncode, (name, arguments)
            if "PYTHONIOENCODING" not in locale:
                assert there.stdout == here.stdout, (name, arguments)


def test_json_stays_json_where_the_terminal_lacks_a_letter(library: Path) -> None:
    done = kvgate("graph", str(library), locale=LOCALES["Windows' old code page"])
    (node,) = json.loads(done.stdout.decode("cp1252"))["nodes"]
    assert node["title"].startswith("Ärger × 中文 — forcing")


@pytest.mark.parametrize("locale", LOCALES.values(), ids=LOCALES)
def test_letters_outside_the_locale_are_an_answer_or_an_error_and_no_traceback(
    library: Path, locale: dict[str, str]
) -> None:
    new = ["--severity", "surprise", "--concept", "mla", "--records", str(library)]
    for arguments in (
        ["size", "org/modèle"],
        ["show", "中文"],
        ["search", "×"],
        ["explain", "é"],
        ["lint", str(library / "é.md")],
        ["check", "vllm serve modèle --gpu ×"],
        ["new", "a-new-record", "--title", "Étwas passiert — immer", *new],
    ):
        done = kvgate(*arguments, locale=locale)
        assert b"Traceback" not in done.stderr, arguments
        assert done.returncode in (0, 1, 2), arguments
    written = library / "a-new-record.md"
    if written.exists():
        assert "Étwas passiert — immer" in written.read_text(encoding="utf-8")


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes on POSIX only")
def test_names_that_are_no_utf8_are_named_all_the_same(library: Path) -> None:
    odd = library.parent / os.fsdecode(b"caf\xe9")
    try:
        shutil.copytree(library, odd)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    (odd / f"{RECORD}.md").write_text("no front matter", encoding="utf-8")
    for arguments in (
        ["lint", str(odd)],
        ["lint", str(odd), "--format", "json"],
        ["lint", str(odd), "--format", "sarif"],
        ["claims", str(odd)],
        ["size", str(odd / "config.json")],
        ["check", str(odd / "compose.yaml")],
        ["new", str(odd.name), "--title", "Something", "--severity", "slower", "--concept", "mla"],
    ):
        done = kvgate(*arguments)
        assert done.returncode in (1, 2), arguments
        assert b"Traceback" not in done.stderr, arguments


def crlf(text: str) -> bytes:
    return b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()


def test_a_record_with_windows_line_ends_has_the_same_findings_at_the_same_places(
    library: Path,
) -> None:
    record = library / f"{RECORD}.md"
    text = record.read_text(encoding="utf-8").replace("severity: blocks-start", "severity: bad")
    text = text.replace("10 global ones[^gemma4-heads]", "10 global ones take 24.0 GiB")
    text = text.replace("{256: 50, 512: 10}", "{256: 51, 512: 10}")
    record.write_text(text, encoding="utf-8")
    here = [kvgate(c, str(library), "--format", "json").stdout for c in ("lint", "claims")]
    record.write_bytes(crlf(text))
    concepts = library / "concepts.toml"
    concepts.write_bytes(concepts.read_bytes().replace(b"\n", b"\r\n"))
    there = [kvgate(c, str(library), "--format", "json").stdout for c in ("lint", "claims")]
    assert here == there
    assert {"KV123", "KV305"} <= {f["code"] for f in json.loads(here[0])["findings"]}


def test_a_deployment_with_windows_line_ends_is_read_as_without(tmp_path: Path) -> None:
    answers = []
    for name, data in (("a.yaml", COMPOSE.encode()), ("b.yaml", crlf(COMPOSE))):
        (tmp_path / name).write_bytes(data)
        done = kvgate("check", str(tmp_path / name), "--gpu", "H100", "--json")
        answers.append(done.stdout.replace(name.encode(), b"x"))
        assert done.returncode == 1, done.stderr
    assert answers[0] == answers[1]
    assert b"no-such-flag" in answers[0]


def test_a_script_with_windows_line_ends_is_read_as_without(tmp_path: Path) -> None:
    script = "#!/bin/sh\nvllm serve Qwen/Qwen3-8B \\\n  --max-model-len 8192 \\\n  --no-such-flag\n"
    answers = []
    for name, data in (("a.sh", script.encode()), ("b.sh", crlf(script))):
        (tmp_path / name).write_bytes(data)
        done = kvgate("check", str(tmp_path / name), "--gpu", "H100", "--engine", "vllm==0.33.0",
                      "--json")  # fmt: skip
        answers.append(json.loads(done.stdout)["findings"])
    assert [f["id"] for f in answers[0]] == [f["id"] for f in answers[1]]
    assert [f["message"] for f in answers[0]] == [f["message"] for f in answers[1]]


def test_a_log_with_windows_line_ends_leads_to_the_same_record() -> None:
    line = (
        "ValueError: Selected backend AttentionBackendEnum.FLASHINFER is not valid for this "
        "configuration. Reason: ['head_size not supported']"
    )
    plain, windows = (
        kvgate("diagnose", "--json", stdin=data)
        for data in (f"one\n{line}\n".encode(), crlf(f"one\n{line}\n"))
    )
    assert plain.returncode == 1
    assert plain.stdout == windows.stdout


def test_a_log_that_is_no_text_is_no_traceback() -> None:
    for data in (b"\xff\xfe\x00", bytes(range(256)) * 50, b"\x00" * 5000, b"a" * 3_000_000):
        done = kvgate("diagnose", stdin=data)
        assert done.returncode in (0, 1), done.stderr
        assert b"Traceback" not in done.stderr


def test_a_config_with_windows_line_ends_is_sized_as_without(tmp_path: Path) -> None:
    config = {
        "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
        "vocab_size": 128256, "num_hidden_layers": 2, "num_attention_heads": 32,
        "num_key_value_heads": 8, "max_position_embeddings": 131072,
    }  # fmt: skip
    text = json.dumps(config, indent=1)
    answers = []
    for name, data in (("a", text.encode()), ("b", crlf(text))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_bytes(data)
        done = kvgate("size", str(tmp_path / name), "--json")
        assert done.returncode == 0, done.stderr
        answers.append(json.loads(done.stdout)["kv"])
    assert answers[0] == answers[1]
