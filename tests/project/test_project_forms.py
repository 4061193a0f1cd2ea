"""The issue forms ask for what a record holds, in the record's own words."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from ruamel.yaml import YAML

from kvgate.cli.commands import COMMANDS
from kvgate.records.fields import Severity
from kvgate.records.validation import models

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / ".github" / "ISSUE_TEMPLATE"
SECTIONS = {"symptom", "root-cause", "workaround", "notes"}
FORMS = ("gotcha.yml", "wrong.yml", "kvgate.yml")


def form(name: str) -> Any:
    return YAML(typ="safe", pure=True).load((TEMPLATES / name).read_text(encoding="utf-8"))


def fields(name: str) -> dict[str, dict[str, Any]]:
    return {b["id"]: b for b in form(name)["body"] if b["type"] != "markdown"}


def names() -> set[str]:
    """Every key that a record may have, at any depth."""
    found: set[str] = set()
    model: type[BaseModel]
    for model in models().values():
        found.update(model.model_fields)
    return found


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_one_that_github_takes(name: str) -> None:
    document = form(name)
    assert document["name"]
    assert document["description"]
    ids = [b["id"] for b in document["body"] if b["type"] != "markdown"]
    assert len(ids) == len(set(ids))
    labels = [b["attributes"]["label"] for b in document["body"] if b["type"] != "markdown"]
    assert len(labels) == len(set(labels))
    for part in document["body"]:
        assert part["type"] in ("markdown", "input", "textarea", "dropdown")
        assert set(part) <= {"type", "id", "attributes", "validations"}
        if part["type"] == "dropdown":
            assert part["attributes"]["options"]
        if part["type"] == "markdown":
            assert part["attributes"]["value"]


def test_the_form_of_a_gotcha_asks_for_fields_of_a_record() -> None:
    asked = set(fields("gotcha.yml"))
    assert asked - names() - SECTIONS == set()
    assert asked >= {"title", "severity", "engine", "gpu", "run", "sample", "symptom", "sources"}


def test_the_form_about_a_record_asks_for_fields_of_a_record_and_what_it_is_about() -> None:
    asked = set(fields("wrong.yml"))
    assert asked - names() == {"what"}
    assert "id" in asked


def test_severities_are_those_of_the_schema() -> None:
    options = fields("gotcha.yml")["severity"]["attributes"]["options"]
    assert tuple(options) == get_args(Severity)


def test_what_a_form_and_the_template_call_a_command_is_one() -> None:
    import re

    texts = [p.read_text("utf-8") for p in (*TEMPLATES.glob("*.yml"), *ROOT.glob(".github/*.md"))]
    for text in texts:
        for command in re.findall(r"`kvgate ([a-z]+)", text):
            assert command in COMMANDS


def test_weaknesses_are_told_in_private() -> None:
    config = form("config.yml")
    security = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    (link,) = config["contact_links"]
    assert link["url"] in security
