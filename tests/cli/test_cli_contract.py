"""What programs rely on: exit status, where text goes, and no traceback for any input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KVGATE = str(Path(sys.executable).parent / "kvgate")


def kvgate(*arguments: str, cwd: Path = ROOT, stdin: str = "") -> subprocess.CompletedProcess[str]:
    # In so many words: readline, which pytest loads, sets COLUMNS behind the back of os.environ.
    return subprocess.run(
        [KVGATE, *arguments], cwd=cwd, input=stdin, capture_output=True, text=True, check=False,
        env=dict(os.environ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["size", "no-such/model"], "no-such/model"),
        (["size", "Qwen/Qwen3-8B", "--gpu", "H1000"], "H100"),
        (["size", "Qwen/Qwen3-8B", "--gpu", "V100"], "V100 32GB"),
        (["size", "Qwen/Qwen3-8B", "--engine", "vlm==0.33.0"], "vllm"),
        (["size", "Qwen/Qwen3-8B", "--kv-cache-dtype", "fp9"], "fp8"),
        (["size", "Qwen/Qwen3-8B", "--max-model-len", "many"], "128k"),
        (["size", "no-such-file.json"], "no-such-file.json"),
        (["backends", "Qwen/Qwen3-8B", "--gpu", "H100", "--engine", "vllm==0.0.1"], "oldest"),
        (["backends", "Qwen/Qwen3-8B", "--gpu", "H100", "--attention-backend", "FLASHINFR"],
         "FLASHINFER"),
        (["check", "ls -la"], "starts no engine"),
        (["check", "no-such-file.yaml"], "no such file"),
        (["show", "flashinfer-rejects-large-head-dims"], "flashinfer-rejects-large-head-dim"),
        (["lint", "no-such-folder"], "no-such-folder"),
        (["claims", "no-such-record"], "no-such-record"),
        (["diagnose", "no-such.log"], "no-such.log"),
        (["explain", "KV999"], "KV999"),
        (["chek"], "check"),
        (["new", "x"], "--title"),
    ],
)  # fmt: skip
def test_unusable_input_exits_with_two_and_says_what_is_near(
    arguments: list[str], says: str
) -> None:
    done = kvgate(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"model_type": "qwen3", ', "not JSON"),
        ("[]", "not an object"),
        ('{"model_type": "no_such_type"}', "no_such_type"),
        ("{}", "model_type"),
        ('{"model_type": "llama"}', "num_hidden_layers"),
        ('{"model_type": "llama", "num_hidden_layers": -3, "num_attention_heads": "x"}',
         "num_hidden_layers"),
        ("\x00\x01", "not JSON"),
    ],
)  # fmt: skip
def test_a_bad_config_names_the_key_and_exits_with_two(
    content: str, says: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(content, encoding="utf-8")
    for model in (str(tmp_path), str(tmp_path / "config.json")):
        done = kvgate("size", model)
        assert done.returncode == 2, done.stdout
        assert says in done.stderr
        assert "config.json" in done.stderr
        assert "Traceback" not in done.stderr


def test_size_prints_the_documented_object() -> None:
    done = kvgate("size", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--max-model-len", "128K", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 0
    assert answer["schema_version"] == 1
    assert answer["kv"]["bytes_per_token"] == 24576
    for key in ("model", "kv", "pool", "weights", "fits", "assumptions", "explanation"):
        assert key in answer
    assert sum(layer["count"] for layer in answer["model"]["layers"]) == 48


def test_backends_prints_the_documented_object() -> None:
    done = kvgate(
        "backends", "google/gemma-4-31B-it", "--gpu", "RTX PRO 6000", "--engine", "vllm==0.33.0",
        "--json",
    )  # fmt: skip
    answer = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert answer["selected"] == "TRITON_ATTN"
    assert answer["error"] is None
    assert {g["head_size"] for g in answer["groups"]} == {256, 512}
    for backend in answer["groups"][0]["backends"]:
        assert set(backend) >= {"name", "valid", "reasons"}


def test_check_exits_with_one_on_findings_and_prints_the_documented_object() -> None:
    done = kvgate(
        "check", "vllm serve google/gemma-4-31B-it --attention-backend FLASHINFER",
        "--gpu", "RTX PRO 6000", "--engine", "vllm==0.19.1", "--json",
    )  # fmt: skip
    answer = json.loads(done.stdout)
    assert done.returncode == 1, done.stderr
    assert "flashinfer-rejects-large-head-dim" in [f["id"] for f in answer["findings"]]
    assert {"findings", "undecided", "size", "backends"} <= set(answer)
    for finding in answer["findings"]:
        assert set(finding) >= {"id", "severity", "message", "because", "fix"}


def test_check_exits_with_zero_where_nothing_bites() -> None:
    done = kvgate(
        "check", "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192",
        "--gpu", "H100", "--engine", "vllm==0.33.0",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "nothing found" in done.stdout


def test_check_never_runs_what_stands_in_a_command_line(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    done = kvgate("check", f"vllm serve $(touch {canary}) --max-model-len `touch {canary}`")
    assert not canary.exists()
    assert "Traceback" not in done.stderr
    assert "KV406" in done.stdout + done.stderr


def test_a_waiver_accepts_a_finding_and_an_unused_or_expired_one_is_reported(
    tmp_path: Path,
) -> None:
    waivers = tmp_path / "waivers.toml"
    command = [
        "check", "vllm serve google/gemma-4-31B-it --attention-backend FLASHINFER",
        "--gpu", "RTX PRO 6000", "--engine", "vllm==0.19.1", "--waivers", str(waivers),
    ]  # fmt: skip
    entry = '[[waiver]]\nid = "{}"\nreason = "known"\nuntil = {}\n'
    found = [f["id"] for f in json.loads(kvgate(*command[:-2], "--json").stdout)["findings"]]
    waivers.write_text("".join(entry.format(i, "2099-01-01") for i in found), encoding="utf-8")
    assert kvgate(*command).returncode == 0
    waivers.write_text(entry.format("no-such-id", "2099-01-01"), encoding="utf-8")
    unused = kvgate(*command)
    assert unused.returncode == 1
    assert "accepted nothing" in " ".join(unused.stdout.split())
    waivers.write_text(entry.format(found[0], "2020-01-01"), encoding="utf-8")
    assert "expired" in " ".join(kvgate(*command).stdout.split())
    waivers.write_text('[[waiver]]\nid = "x"\n', encoding="utf-8")
    assert kvgate(*command).returncode == 2


def test_diagnose_reads_standard_input_and_exits_with_one_on_a_match() -> None:
    line = (
        "ValueError: Selected backend AttentionBackendEnum.FLASHINFER is not valid for this "
        "configuration. Reason: ['head_size not supported']"
    )
    done = kvgate("diagnose", "--json", stdin=f"INFO one\n{line}\n")
    answer = json.loads(done.stdout)
    assert done.returncode == 1, done.stderr
    assert answer["matches"][0]["id"] == "flashinfer-rejects-large-head-dim"
    assert answer["matches"][0]["line"] == 2
    assert kvgate("diagnose", "--json", stdin="all is well\n").returncode == 0


def test_findings_come_as_text_json_sarif_and_github(tmp_path: Path) -> None:
    (tmp_path / "a-record.md").write_text("no front matter\n", encoding="utf-8")
    for form, needle in (
        ("text", "KV"), ("json", '"findings"'), ("sarif", '"2.1.0"'), ("github", "::error file="),
    ):  # fmt: skip
        done = kvgate("lint", str(tmp_path), "--format", form)
        assert done.returncode == 1, done.stderr
        assert needle in done.stdout
        assert "a-record.md" in done.stdout


def test_output_without_a_terminal_has_no_colour_and_no_trailing_blanks() -> None:
    done = kvgate("size", "openai/gpt-oss-20b")
    assert "\x1b" not in done.stdout
    assert all(line == line.rstrip() for line in done.stdout.splitlines())


def test_a_reader_that_goes_away_is_no_error() -> None:
    done = subprocess.run(
        f"{KVGATE} size openai/gpt-oss-20b --json | head -1",
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr


def test_claims_fix_shows_a_diff_and_writes_only_when_told_to(tmp_path: Path) -> None:
    source = (ROOT / "gotchas" / "flashinfer-rejects-large-head-dim.md").read_text("utf-8")
    for name in ("concepts.toml", "ids.txt"):
        (tmp_path / name).write_text((ROOT / "gotchas" / name).read_text("utf-8"), "utf-8")
    record = tmp_path / "flashinfer-rejects-large-head-dim.md"
    wrong = source.replace("{256: 50, 512: 10}", "{256: 51, 512: 10}").replace("\n", "\r\n")
    record.write_bytes(wrong.encode())
    line = wrong.split("\r\n").index("{256: 51, 512: 10}")
    failed = kvgate("claims", str(record))
    assert failed.returncode == 1
    assert f"flashinfer-rejects-large-head-dim.md:{line}" in failed.stdout
    shown = kvgate("claims", str(record), "--fix")
    assert "+{256: 50, 512: 10}" in shown.stdout
    assert record.read_bytes() == wrong.encode()
    kvgate("claims", str(record), "--fix", "--write")
    assert record.read_bytes() == source.replace("\n", "\r\n").encode()


def test_a_finding_in_a_pipe_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    done = kvgate("check", "vllm serve Qwen/Qwen3-8B --max-model-len 131072", "--gpu", "H100")
    (line,) = [one for one in done.stdout.splitlines() if "is above the 40,960" in one]
    assert "derives from the model's config: it stops" in line


def test_the_fix_of_a_manifest_is_an_argument_with_its_line(tmp_path: Path) -> None:
    compose = tmp_path / "compose.yaml"
    compose.write_text(
        "services:\n  llm:\n    image: vllm/vllm-openai:v0.26.0\n"
        "    command: --model Qwen/Qwen3-8B --max-model-len 131072\n",
        encoding="utf-8",
    )
    done = kvgate("check", str(compose), "--gpu", "H100")
    assert 'fix: arguments, line 4: "--max-model-len=40960"' in done.stdout
