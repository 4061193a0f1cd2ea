"""One deployment through reader, plan and one rule; and the shared cases where they exist."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kvgate.architecture import model as released
from kvgate.manifests import read_deployments
from kvgate.plan import plan
from kvgate.rules import Verdict, rule, rules

INPUTS = Path(__file__).resolve().parents[2] / "../shared/cases/inputs"

Ask = Callable[..., Verdict]


@pytest.fixture
def ask() -> Ask:
    """``ask(rule, command, engine, gpu=…, model=…)``: the verdict on the only deployment in it."""

    def verdict(
        name: str, command: str, engine: str, *, gpu: str | None = None, model: str | None = None
    ) -> Verdict:
        (one,) = read_deployments(command, "<command line>", engine=engine)
        return rule(name)(plan(one, gpu=gpu, model=released(model) if model else None))

    return verdict


@pytest.fixture
def rules_of_case() -> Callable[..., dict[str, Verdict]]:
    """The verdicts of all rules on a command line or manifest of the shared cases, by rule."""

    def verdicts(
        name: str, engine: str | None, gpu: str | None, model: str | None = None
    ) -> dict[str, Verdict]:
        path = INPUTS / f"{name}.txt"
        if not path.exists():
            pytest.skip("the shared facts are not beside this checkout")
        text = re.sub(r"\A(?:#.*\n)+---\n", "", path.read_text(encoding="utf-8"))
        found: dict[str, Verdict] = {}
        for one in read_deployments(text, name, engine=engine):
            made = plan(one, gpu=gpu, model=released(model) if model else None)
            for rule_name, function in rules().items():
                verdict = function(made)
                if verdict is not None:
                    found[rule_name] = verdict
        return found

    return verdicts
