"""What the GitHub Action runs, on repositories made for it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = """\
services:
  llm:
    image: vllm/vllm-openai:v0.19.1
    command: google/gemma-4-31B-it --attention-backend FLASHINFER
"""
FINE = """\
services:
  llm:
    image: vllm/vllm-openai:v0.33.0
    command: Qwen/Qwen3-8B --max-model-len 8192
"""

Run = Callable[..., int]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    (folder / "deploy" / "below").mkdir(parents=True)
    (folder / "deploy" / "compose.yaml").write_text(COMPOSE, encoding="utf-8")
    (folder / "deploy" / "below" / "fine.yaml").write_text(FINE, encoding="utf-8")
    (folder / "deploy" / "other.yaml").write_text("a: 1\n", encoding="utf-8")
    (folder / "deploy" / "named.yaml").write_text("notes: on vllm\n", encoding="utf-8")
    (tmp_path / "outside.yaml").write_text(COMPOSE, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run(program: Callable[[str], ModuleType], repository: Path) -> Run:
    module = program("action")

    def call(**inputs: str) -> int:
        names = {f"KVGATE_{name.upper()}": value for name, value in inputs.items()}
        return int(module.main(names, repository))

    return call


def test_findings_are_annotated_at_the_line_of_each_file(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(run="check", paths="deploy/**/*.yaml", gpu="RTX PRO 6000") == 1
    out = capsys.readouterr().out
    assert "::error file=deploy/compose.yaml,line=" in out
    assert "title=flashinfer-rejects-large-head-dim::" in out
    assert "fine.yaml" not in out
    assert "other.yaml" not in out
    assert "files checked: 2" in out
    # A file that names an engine and starts none is said, and is no failure: a pattern found it.
    assert "::notice file=deploy/named.yaml" in out


def test_nothing_found_is_success(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(run="check", paths="deploy/below/*", gpu="H100") == 0
    assert "::error" not in capsys.readouterr().out


def test_findings_may_be_told_without_failing(run: Run) -> None:
    assert run(run="check", paths="deploy/compose.yaml", gpu="RTX PRO 6000", fail="false") == 0


def test_the_number_of_findings_is_an_output(
    program: Callable[[str], ModuleType], repository: Path, tmp_path: Path
) -> None:
    output = tmp_path / "output"
    inputs = {"KVGATE_RUN": "check", "KVGATE_PATHS": "deploy/below/*", "KVGATE_GPU": "H100"}
    program("action").main({**inputs, "GITHUB_OUTPUT": str(output)}, repository)
    assert output.read_text(encoding="utf-8") == "findings=0\n"


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({"run": "check", "paths": "nowhere.yaml"}, "no such file"),
        ({"run": "check", "paths": "deploy/other.yaml"}, "starts no engine"),
        ({"run": "check", "paths": "deploy/*.toml"}, "starts an engine"),
        ({"run": "check", "paths": "../outside.yaml"}, "outside the repository"),
        ({"run": "check", "paths": "../*.yaml"}, "starts an engine"),
        ({"run": "check", "paths": " \n"}, "paths is empty"),
        ({"run": "verify", "paths": "a"}, "run: lint, or run: check"),
        ({"run": "check", "paths": "deploy/compose.yaml", "gpu": "H1000"}, "H100"),
        ({"run": "check", "paths": "deploy/compose.yaml", "waivers": "deploy"}, "deploy"),
        ({"run": "check", "paths": "/etc/*"}, "is no pattern"),
        ({"run": "lint", "paths": "nowhere"}, "no such file"),
    ],
)
def test_unusable_input_is_an_annotation_and_exits_with_two(
    run: Run, capsys: pytest.CaptureFixture[str], inputs: dict[str, str], says: str
) -> None:
    assert run(**inputs) == 2
    out = capsys.readouterr().out
    (line,) = [line for line in out.splitlines() if line.startswith("::error ")]
    assert says in line
    assert "action.yml" not in line


# All that str.splitlines ends a line at, as YAML writes it in quotes.
ENDS = [
    "\\n",
    "\\r",
    "\\r\\n",
    "\\v",
    "\\f",
    "\\x1c",
    "\\x1d",
    "\\x1e",
    "\\x85",
    "\\u2028",
    "\\u2029",
]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("paths", ["deploy/compose.yaml", "deploy/*.yaml"])
def test_no_text_of_a_deployment_becomes_a_workflow_command(
    run: Run, repository: Path, capsys: pytest.CaptureFixture[str], end: str, paths: str
) -> None:
    evil = f"{end}::stop-commands::x{end}::error::owned%0A::warning::owned"
    (repository / "deploy" / "compose.yaml").write_text(
        "services:\n"
        f'  "llm{evil}":\n'
        "    image: vllm/vllm-openai:v0.33.0\n"
        f'    command: ["org/model{evil}", "--no-such{evil}", "--max-model-len", "1{evil}"]\n',
        encoding="utf-8",
    )
    run(run="check", paths=paths, gpu="H100")
    out = capsys.readouterr().out
    assert "owned" in out
    # A runner ends a line at these three; whatever else is one line there.
    for line in re.split("\r\n|\r|\n", out):
        assert "owned" not in line or line.startswith(("::error file=", "::notice file=")), line
        assert "owned%0A" not in line


def test_a_symbolic_link_does_not_lead_out_of_the_repository(
    run: Run, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "deploy" / "link.yaml").symlink_to(repository.parent / "outside.yaml")
    run(run="check", paths="deploy/*.yaml", gpu="H100")
    assert "link.yaml" not in capsys.readouterr().out


def test_text_of_a_file_cannot_speak_to_the_runner(
    run: Run, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = repository / "deploy" / "below" / "fine.yaml"
    bad = 'command: ["Qwen/Qwen3-8B", "--no-such\\n::set-output name=a::b"]'
    path.write_text(FINE.replace("command: Qwen/Qwen3-8B --max-model-len 8192", bad), "utf-8")
    run(run="check", paths="deploy/below/fine.yaml", gpu="H100")
    lines = capsys.readouterr().out.splitlines()
    assert not [line for line in lines if line.startswith("::set-output")]


def test_records_are_linted_and_their_claims_run(
    run: Run, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = repository / "gotchas"
    records.mkdir()
    for name in ("flashinfer-rejects-large-head-dim.md", "concepts.toml"):
        shutil.copy(ROOT / "gotchas" / name, records / name)
    record = records / "flashinfer-rejects-large-head-dim.md"
    text = record.read_text(encoding="utf-8")
    text = re_related(text)
    record.write_text(text, encoding="utf-8")
    assert run(run="lint", paths="gotchas") == 1  # it stands alone, and links to what isn't here
    capsys.readouterr()
    record.write_text(text.replace("{256: 50, 512: 10}", "{256: 51, 512: 10}"), encoding="utf-8")
    assert run(run="lint", paths="gotchas") == 1
    assert "KV330" in capsys.readouterr().out


def re_related(text: str) -> str:
    """The record without its relations, which lead to records that aren't here."""
    before, _, rest = text.partition("related:\n")
    return before + rest[rest.index("status:") :]
