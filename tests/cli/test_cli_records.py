"""What the commands say of a record that claims nothing, or that no longer stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kvgate.cli.commands import cli
from kvgate.cli.show import page
from kvgate.records.record import read_record

GONE = """\
---
schema_version: 1
id: it-was-something-else
title: It was something else than it seemed
concepts: [long-context]
severity: slower
status: withdrawn
reason: the proxy in front of it was slow
---

## Symptom

Answers come late.
"""


def test_why_a_record_no_longer_stands_is_said_first() -> None:
    record = read_record(GONE, "it-was-something-else.md").record
    assert record is not None
    shown = page(record.front.model_dump(mode="json", exclude_none=True), record.page)
    assert "withdrawn: the proxy in front of it was slow" in shown.split("Symptom")[0]


def test_a_record_without_a_claim_passes_where_that_is_allowed(tmp_path: Path) -> None:
    runner, folder = CliRunner(), tmp_path / "gotchas"
    folder.mkdir()
    begun = ["new", "our-own-gotcha", "--records", str(folder), "--title", "Ours alone is slow",
             "--severity", "slower", "--concept", "long-context"]  # fmt: skip
    assert runner.invoke(cli, begun).exit_code == 0
    for asked in (folder, folder / "our-own-gotcha.md"):
        assert "KV335" in runner.invoke(cli, ["claims", str(asked)]).stdout
        said = runner.invoke(cli, ["claims", str(asked), "--allow-none"])
        assert (said.exit_code, said.stdout) == (0, "")
        assert "0 of 0 claims hold, in 1 record" in said.stderr


@pytest.mark.parametrize(
    ("fence", "code"),
    [("```pycon\n>>> a = 1\n```\n", "KV335"), ("```pycon\n>>> import os\n```\n", "KV320")],
)
def test_claims_of_which_none_ran_are_one_finding(tmp_path: Path, fence: str, code: str) -> None:
    record = tmp_path / "it-was-something-else.md"
    text = GONE.replace("withdrawn", "draft").replace(
        "reason: the proxy in front of it was slow\n", ""
    )
    sections = "\n## Root cause\n\nx\n\n## Workaround\n\nx\n\n## Notes\n\n"
    record.write_text(text + sections + fence, encoding="utf-8")
    said = CliRunner().invoke(cli, ["claims", str(record), "--format", "json"])
    assert said.exit_code == 1
    assert said.stdout.count('"code"') == said.stdout.count(f'"code": "{code}"') == 1


@pytest.mark.parametrize(
    ("rule", "forced", "words"),
    [
        ("forced_backend_refuses_head_size", " --attention-backend FLASHINFER", ""),
        ("forced_backend_refuses_head_size", "", "does not report"),
        ("a_rule_of_our_own", " --attention-backend FLASHINFER", "in a checkout"),
    ],
)
def test_a_record_of_one_s_own_may_name_a_rule_that_kvgate_has(
    tmp_path: Path, rule: str, forced: str, words: str
) -> None:
    run = "vllm serve google/gemma-4-31B-it"
    done = CliRunner().invoke(cli, [
        "new", "our-own-gotcha", "--records", str(tmp_path), "--title", "Ours alone is slow",
        "--severity", "slower", "--concept", "flashinfer", "--engine", "vllm==0.19.1",
        "--gpu", "H100", "--rule", rule, "--hit", run + forced, "--miss", run,
        "--because", "nothing is forced",
    ])  # fmt: skip
    said = str(done.exception) if words else done.stdout
    assert words in said
    assert (tmp_path / "our-own-gotcha.md").exists() is (words == "")
