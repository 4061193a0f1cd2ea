"""The script that reads a SGLang release: from a made-up release to an entry."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "read_sglang_release.py"
sys.path.insert(0, str(ROOT))

from scripts.sglang_reader.source import boolean, constant  # noqa: E402

SERVER_ARGS = """
BACKENDS = ["triton", "fa3"]
ATTENTION_BACKEND_CHOICES = [*BACKENDS, "flashinfer"]


class ServerArgs:
    page_size: int = 1
    enable_thing: bool = False

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--page-size", type=int, default=ServerArgs.page_size)
        parser.add_argument(
            "--attention-backend", type=str, default=None, choices=ATTENTION_BACKEND_CHOICES
        )
        parser.add_argument("--enable-thing", action="store_true")

    def _handle_backends(self):
        if self.attention_backend == "flashmla":
            logger.warning("FlashMLA only supports a page_size of 64, change page_size to 64.")
            self.page_size = 64
        if self.attention_backend == "trtllm_mla":
            if not is_sm100_supported():
                raise ValueError("TRTLLM MLA backend is only supported on Blackwell GPUs (SM100).")
"""


def _read(folder: Path) -> dict[str, Any]:
    source = folder / "release" / "sglang" / "srt"
    if not source.exists():
        source.mkdir(parents=True)
        (source / "server_args.py").write_text(SERVER_ARGS, encoding="utf-8")
    out = folder / "out"
    command = [
        sys.executable, str(SCRIPT), "9.9.9", "--source", str(folder / "release"),
        "--output", str(out),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    entry: dict[str, Any] = json.loads((out / "9.9.9.json").read_text(encoding="utf-8"))
    return entry


def test_options_choices_and_messages_are_read_from_the_syntax_tree(tmp_path: Path) -> None:
    entry = _read(tmp_path)
    assert entry["version"] == "9.9.9"
    assert entry["choices"]["attention_backend"] == ["triton", "fa3", "flashinfer"]
    options = {option["dest"]: option for option in entry["flags"]}
    assert options["page_size"]["flags"] == ["--page-size"]
    assert options["page_size"]["default"] == 1
    assert options["attention_backend"]["choices"] == ["triton", "fa3", "flashinfer"]
    assert entry["texts"]["w.page.flashmla"]["sets"] == {"page_size": 64}
    gate = entry["texts"]["trtllm_mla.sm"]
    assert gate["kind"] == "ValueError"
    assert gate["majors"] == [10]


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    _read(tmp_path)
    target = tmp_path / "out" / "9.9.9.json"
    first = target.read_bytes()
    _read(tmp_path)
    assert target.read_bytes() == first


@pytest.mark.parametrize(
    ("text", "value"),
    [("['a', *more]", ["a", "b", "c"]), ("more", ["b", "c"]), ("f(x)", None), ("64", 64)],
)
def test_constants_are_followed_and_never_run(text: str, value: object) -> None:
    found = constant(ast.parse(text, mode="eval").body, {"more": ("b", "c")})
    assert (list(found) if isinstance(found, tuple) else found) == value


def test_a_condition_that_cannot_be_told_stays_untold() -> None:
    known = {"is_hip()": False, "a": True}
    for text, truth in (
        ("not is_hip()", True), ("a and b", None), ("is_hip() and b", False), ("a or b", True),
    ):  # fmt: skip
        assert boolean(ast.parse(text, mode="eval").body, known) is truth
