"""What check sets beside the memory of one GPU is what one GPU holds."""

from __future__ import annotations

from click.testing import CliRunner

from kvgate.cli.commands import cli


def _said(line: str) -> str:
    return CliRunner().invoke(cli, ["check", line, "--gpu", "H100"]).output


def test_the_need_is_told_for_each_gpu_where_several_share_it() -> None:
    assert "needs 23.00 GiB, 5.75 GiB on each GPU" in _said("vllm serve zai-org/GLM-4.5-Air -tp 4")


def test_one_gpu_is_told_once() -> None:
    said = _said("vllm serve Qwen/Qwen3-8B")
    assert "needs 5.62 GiB\n" in said
    assert "on each GPU" not in said
