"""Workflows and the action: valid, with the least permissions, and safe for strangers' code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
from ruamel.yaml import YAML

from kvgate.cli.commands import cli

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# What a job may be allowed, by workflow and job; whatever isn't listed may read contents at most.
ALLOWED = {("pages.yml", "deploy"): {"pages": "write", "id-token": "write"}}
_PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}\Z")
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)


Program = Callable[[str], ModuleType]


def read(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


def steps(document: Any) -> Iterator[dict[str, Any]]:
    for job in document["jobs"].values():
        yield from job.get("steps", [])


@pytest.fixture(params=WORKFLOWS, ids=lambda p: p.name)
def workflow(request: pytest.FixtureRequest) -> tuple[str, Any]:
    path: Path = request.param
    return path.name, read(path)


def test_there_are_workflows_for_tests_pages_links_and_the_audit() -> None:
    assert {p.name for p in WORKFLOWS} >= {"ci.yml", "pages.yml", "links.yml", "audit.yml"}


def test_nothing_is_allowed_but_what_a_job_asks_for(workflow: tuple[str, Any]) -> None:
    name, document = workflow
    assert document["permissions"] == {}
    for job_name, job in document["jobs"].items():
        assert job["permissions"] == ALLOWED.get((name, job_name), {"contents": "read"})


def test_no_event_gives_a_stranger_s_code_more_than_a_pull_request(
    workflow: tuple[str, Any],
) -> None:
    _, document = workflow
    known = {"push", "pull_request", "merge_group", "schedule", "workflow_dispatch"}
    assert set(document["on"]) <= known


def test_no_workflow_names_a_secret(workflow: tuple[str, Any]) -> None:
    name, _ = workflow
    text = (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8")
    assert "secrets" not in "".join(_EXPRESSION.findall(text))
    assert "GITHUB_TOKEN" not in text
    assert "github.token" not in text


def test_every_action_is_pinned_by_commit_with_its_version_beside(
    workflow: tuple[str, Any],
) -> None:
    name, document = workflow
    text = (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8")
    for step in steps(document):
        if step.get("uses", "./") != "./":
            assert _PINNED.match(step["uses"]), step
            assert re.search(rf"{re.escape(step['uses'])} # v\d+\.\d+\.\d+\n", text), step


def test_a_checkout_leaves_no_credentials_behind(workflow: tuple[str, Any]) -> None:
    _, document = workflow
    for step in steps(document):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_no_expression_is_pasted_into_a_shell(workflow: tuple[str, Any]) -> None:
    _, document = workflow
    for step in steps(document):
        assert not _EXPRESSION.search(step.get("run", "")), step


def test_every_job_ends_some_time(workflow: tuple[str, Any]) -> None:
    _, document = workflow
    assert all(0 < job["timeout-minutes"] <= 60 for job in document["jobs"].values())


def test_every_program_that_a_workflow_runs_is_there(workflow: tuple[str, Any]) -> None:
    _, document = workflow
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for step in steps(document):
        run = step.get("run", "")
        for path in re.findall(r"(?:^|\s)((?:\.ci|scripts|requirements|\.github)/[\w./-]+)", run):
            assert (ROOT / path).is_file(), path
        for target in re.findall(r"^make ([a-z ]+)$", run, re.MULTILINE):
            for word in target.split():
                assert re.search(rf"^{word}:", makefile, re.MULTILINE), word


def test_the_tests_run_on_every_python_that_the_package_names() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {c.rpartition(" ")[2] for c in project["classifiers"] if ":: 3." in c}
    test = read(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["test"]
    assert set(test["strategy"]["matrix"]["python"]) == named
    assert [s["run"] for s in test["steps"] if "run" in s] == [".ci/run"]


def test_the_audit_looks_at_every_lock_and_at_every_package(program: Program) -> None:
    audit = read(ROOT / ".github" / "workflows" / "audit.yml")
    runs = [s["run"] for s in steps(audit) if s.get("run", "").startswith("pip-audit")]
    assert all("--strict --disable-pip --require-hashes" in run for run in runs)
    listed = {path for run in runs for path in re.findall(r"-r (\S+)", run)}
    assert listed == set(program("lock").LOCKS)


def test_outside_links_are_no_part_of_ci() -> None:
    links = read(ROOT / ".github" / "workflows" / "links.yml")
    assert set(links["on"]) == {"schedule", "workflow_dispatch"}
    for path in (*WORKFLOWS, ROOT / "Makefile", ROOT / ".ci" / "run"):
        if path.name != "links.yml":
            assert "check_links" not in path.read_text(encoding="utf-8"), path


def test_the_action_takes_its_inputs_from_the_environment_only() -> None:
    action = read(ROOT / "action.yml")
    assert action["runs"]["using"] == "composite"
    program = (ROOT / "scripts" / "action.py").read_text(encoding="utf-8")
    used: set[str] = set()
    for step in action["runs"]["steps"]:
        assert not _EXPRESSION.search(step["run"])
        assert step["shell"] == "bash"
        for name, value in step["env"].items():
            used.update(re.findall(r"inputs\.([\w-]+)", value))
            variable = f"KVGATE_{name.removeprefix('KVGATE_')}"
            assert variable == name
            known = name in program or f"${name}" in step["run"]
            assert known or "KVGATE_{name.upper()}" in program, name
    assert used == set(action["inputs"])
    for value in action["inputs"].values():
        assert value["description"]
        assert "default" in value or value["required"] is True


def test_the_hooks_run_commands_that_exist() -> None:
    hooks = read(ROOT / ".pre-commit-hooks.yaml")
    assert {h["id"] for h in hooks} == {"kvgate-lint", "kvgate-claims"}
    for hook in hooks:
        program, command, *options = hook["entry"].split()
        assert program == "kvgate"
        found = cli.get_command(click.Context(cli), command)
        assert found is not None
        known = {name for option in found.params for name in option.opts}
        assert set(options) <= known
        assert hook["language"] == "python"
        assert re.search(hook["files"], "gotchas/a-record.md")
        assert not re.search(hook["files"], "gotchas/below/a-page.md")
        assert re.search(hook["exclude"], "gotchas/README.md")
        assert not re.search(hook["exclude"], "gotchas/a-record.md")


def test_the_updater_waits_before_it_takes_a_new_release() -> None:
    updates = read(ROOT / ".github" / "dependabot.yml")["updates"]
    assert all(u["cooldown"]["default-days"] >= 7 for u in updates)
