"""What a stranger wrote can't steer the terminal of whoever reads it, nor break a program's input.

A sequence that a terminal obeys may rewrite its title or what stands on it already, and a mark that
turns the direction of reading makes a command look like another.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.cli.visible import visible

ROOT = Path(__file__).resolve().parents[2]
KVGATE = str(Path(sys.executable).parent / "kvgate")
EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b31m\u202e\u2066\x08\rZZ"
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
RECORD = "flashinfer-rejects-large-head-dim"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log, a compose file, a config, waivers and a record, each with sequences in its texts."""
    made = tmp_path_factory.mktemp("evil")
    (made / "gotchas").mkdir()
    shutil.copy(ROOT / "gotchas" / "concepts.toml", made / "gotchas")
    text = (ROOT / "gotchas" / f"{RECORD}.md").read_text(encoding="utf-8")
    for old, new in (
        ("severity: blocks-start", 'severity: "bad\\e]0;x\\a\\e[2J"'),
        ("## Symptom", f"## Symptom{EVIL}"),
        ("{256: 50, 512: 10}", f"'{EVIL}'"),
    ):
        assert old in text
        text = text.replace(old, new)
    (made / "gotchas" / f"{RECORD}.md").write_text(text, encoding="utf-8")
    (made / "e.log").write_text(
        f"INFO {EVIL}\n{EVIL}ValueError: Selected backend AttentionBackendEnum.FLASHINFER is not "
        f"valid for this configuration. Reason: ['head_size not supported']{EVIL}\n",
        encoding="utf-8",
    )
    (made / "c.yaml").write_text(
        'services:\n  "a\\e[2J":\n    image: "vllm/vllm-openai:v0.33.0"\n    command: ["--model", '
        '"m\\e]0;x\\a", "--no-such\\e[31m", "1\\e[2J", "--max-model-len", "x\\e[2J\\u202e"]\n',
        encoding="utf-8",
    )
    (made / "config.json").write_text('{"model_type": "a\\u001b[2J\\u202e", "x\\u001b[2J": 1}')
    (made / "w.toml").write_text('[[waiver]]\nid="KV\\u001b[2J"\nreason="x"\nuntil=2020-01-01\n')
    return made


CALLS = (
    ["check", f"vllm serve m{EVIL} --x{EVIL} 1{EVIL} --max-model-len 1{EVIL}"],
    ["check", "vllm serve Qwen/Qwen3-8B", "--gpu", f"H100{EVIL}"],
    ["check", "{}/c.yaml"],
    ["check", "{}/c.yaml", "--format", "github"],
    ["check", "{}/c.yaml", "--format", "sarif"],
    ["check", "{}/c.yaml", "--json"],
    ["check", "vllm serve Qwen/Qwen3-8B", "--gpu", "H100", "--waivers", "{}/w.toml"],
    ["size", "{}/config.json"],
    ["size", f"org/m{EVIL}"],
    ["size", "Qwen/Qwen3-8B", "--engine", f"vllm=={EVIL}"],
    ["backends", "Qwen/Qwen3-8B", "--gpu", "H100", "--attention-backend", EVIL],
    ["diagnose", "{}/e.log"],
    ["diagnose", "{}/e.log", "--json"],
    ["lint", "{}/gotchas"],
    ["lint", "{}/gotchas", "--format", "github"],
    ["lint", "{}/gotchas", "--fix"],
    ["lint", EVIL],
    ["claims", "{}/gotchas"],
    ["claims", "{}/gotchas", "--fix"],
    ["graph", "{}/gotchas"],
    ["show", EVIL],
    ["search", EVIL],
    ["explain", EVIL],
    ["new", EVIL, "--title", EVIL],
    [EVIL],
    ["check", f"--{EVIL}"],
)


@pytest.mark.parametrize("call", CALLS, ids=lambda c: visible(" ".join(c))[:40])
def test_nothing_that_is_printed_steers_the_terminal(folder: Path, call: list[str]) -> None:
    arguments = [part.replace("{}", str(folder)) for part in call]
    for locale in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        env = {**os.environ, **locale}
        done = subprocess.run([KVGATE, *arguments], capture_output=True, check=False, env=env)
        printed = (done.stdout + done.stderr).decode("utf-8").replace(os.linesep, "\n")
        assert "Traceback" not in printed
        assert printed or done.returncode == 0
        assert STEERS.findall(printed) == []
        if call[-1] in ("--json", "sarif"):
            json.loads(done.stdout)


ENDS = ("\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028")


@pytest.mark.parametrize("form", ["text", "github"])
def test_no_text_begins_a_line_in_the_log_of_a_workflow(tmp_path: Path, form: str) -> None:
    """A line that begins with two colons is a command to whatever runs a workflow."""
    evil = "".join(f"{end}::add-mask::owned##[add-mask]owned" for end in ENDS)
    (tmp_path / "c.json").write_text(
        json.dumps({"services": {f"::add-mask::a{evil}": {
            "image": "vllm/vllm-openai:v0.33.0",
            "command": [f"org/m{evil}", f"--no-such{evil}", "--max-model-len", f"1{evil}"],
        }}}),
        encoding="utf-8",
    )  # fmt: skip
    (tmp_path / "c.json").rename(tmp_path / "c.yaml")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": f"a{evil}", f"x{evil}": 1}))
    calls = [
        ["check", str(tmp_path / "c.yaml"), "--format", form],
        ["lint", f"x{evil}", "--format", form],
    ]
    if form == "text":
        calls += [["size", str(tmp_path / "config.json")], ["show", f"x{evil}"]]
    for call in calls:
        done = subprocess.run(
            [KVGATE, *call], capture_output=True, check=False,
            env=os.environ | {"GITHUB_ACTIONS": "true"},
        )  # fmt: skip
        printed = done.stdout + done.stderr
        assert b"owned" in printed
        assert b"##[" not in printed
        for line in re.split(b"\r\n|\r|\n", printed):
            assert not line.lstrip().startswith(b"::add-mask"), (call, line)
        if form == "github" and call[0] == "check":
            assert re.search(rb"(?m)^::error file=[^,]+,line=1,col=\d+,title=KV401::", printed)


@pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal is POSIX")
def test_a_terminal_gets_our_colours_and_nothing_else_that_it_obeys(folder: Path) -> None:
    import pty

    mine, theirs = pty.openpty()
    child = subprocess.Popen(
        [KVGATE, "check", f"{folder}/c.yaml"], stdout=theirs, stderr=theirs, close_fds=True,
        env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    printed = b""
    while True:
        try:
            block = os.read(mine, 65536)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        printed += block
    child.wait()
    os.close(mine)
    text = printed.decode().replace("\r\n", "\n")
    assert "\x1b[1m" in text
    assert STEERS.findall(re.sub("\x1b\\[[0-9;]*m", "", text)) == []
    assert "m\\u001b]0;x" in text


@given(st.text(), st.booleans())
def test_what_is_visible_in_json_means_the_same(text: str, colours: bool) -> None:
    assert visible(visible(text)) == visible(text)
    shown = visible(json.dumps({"a": text}, ensure_ascii=False), colours=colours)
    assert json.loads(shown) == {"a": text}
    assert not STEERS.search(visible(text.replace("\r\n", "")))
