"""A check that could decide little says so first, and fails where that is asked for."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from kvgate.cli.commands import cli


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["vllm serve nobody/knows-this", "--gpu", "H100"], "the model"),
        (["vllm serve Qwen/Qwen3-8B"], "the GPU"),
        (["vllm serve Qwen/Qwen3-8B", "--gpu", "H100", "--engine", "vllm==0.1.0"], "version"),
    ],
)
def test_what_is_unknown_stands_in_the_first_line_and_fails_a_strict_check(
    arguments: list[str], word: str
) -> None:
    loose = CliRunner().invoke(cli, ["check", *arguments])
    first = loose.output.splitlines()[0]
    assert first.startswith("NOT DECIDED")
    assert word in first
    assert loose.exit_code == 0
    assert CliRunner().invoke(cli, ["check", *arguments, "--strict"]).exit_code == 1


def test_a_strict_check_of_what_is_known_passes() -> None:
    arguments = ["check", "vllm serve Qwen/Qwen3-8B", "--gpu", "H100", "--strict"]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0
    assert "NOT DECIDED" not in done.output


def test_one_reason_for_several_unknown_things_is_said_once() -> None:
    done = CliRunner().invoke(cli, ["check", "vllm serve nobody/knows-this", "--gpu", "H100"])
    assert "unknown model, gates, size: 'nobody/knows-this' is not" in done.output
    assert done.output.count("is not in the catalogue") == 1
    assert "for want of the model: " in done.output
