"""The one door of the web worker: a question's name and its JSON in, JSON out, never an exception.

The answers under ``size``, ``backends``, ``check`` and ``diagnose`` are the JSON of those commands;
``plan``, ``log`` and ``claim`` are what pages show, with HTML whose text is escaped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from kvgate.answers.checking import as_json, checked
from kvgate.answers.claim import evaluated
from kvgate.answers.form import Form, architecture
from kvgate.answers.known import Known
from kvgate.answers.logpage import log_html
from kvgate.answers.planner import Read, planned, read_line
from kvgate.answers.planpage import To, linked, plan_html
from kvgate.architecture.released import model as released
from kvgate.diagnose import diagnose
from kvgate.errors import InputError, nearest

__all__ = ["Desk"]

Given = dict[str, Any]


class Desk:
    """Answers questions with the records of one site.

    ``heads`` is the text that `Known.to_json` gave; ``paths`` leads from a record's id, or a code,
    to its address below the site's root. ``read`` makes deployments of a pasted text; without one,
    command lines, scripts and the like are read, and YAML is not.
    """

    def __init__(self, heads: str, paths: Mapping[str, str], read: Read = read_line) -> None:
        self._read = read
        self.known = Known.from_json(heads)
        self._paths = paths
        self._questions: dict[str, Callable[[Given], Any]] = {
            "backends": _backends,
            "check": self._check,
            "claim": _claim,
            "diagnose": self._diagnose,
            "log": self._log,
            "plan": self._plan,
            "size": _size,
        }

    def answer(self, question: str, text: str) -> str:
        """The answer to a question as JSON: ``{"answer": …}``, or ``{"refusal": {"message", "hint",
        "code", "line", "column"}}`` where its input can't be used.
        """
        try:
            if question not in self._questions:
                raise InputError(
                    f"unknown question {question!r}", hint=nearest(question, self._questions)
                )
            given = json.loads(text)
            if not isinstance(given, dict):
                raise InputError("a question is a JSON object")
            return _json({"answer": self._questions[question](given)})
        except InputError as error:
            return _json({"refusal": {
                "message": error.message,
                "hint": error.hint,
                "code": error.code,
                "line": error.place.line if error.place else 0,
                "column": error.place.column if error.place else 0,
            }})  # fmt: skip
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            said = f"this can't be asked so: {error}"
            return _json({"refusal": {
                "message": said[:400], "hint": "", "code": "KV001", "line": 0, "column": 0,
            }})  # fmt: skip

    def _check(self, given: Given) -> Any:
        line, config = str(given["line"]), str(given.get("config") or "")
        read = self._read(line, given.get("engine") or None)
        gpu = given.get("gpu") or None
        return as_json(checked(read, self.known.cases, gpu=gpu, model=architecture(config)))

    def _diagnose(self, given: Given) -> Any:
        return self._looked(given).to_json(int(given.get("most", 5)))

    def _log(self, given: Given) -> Any:
        answer = self._looked(given)
        return {
            "html": log_html(answer, self.known, self._to(given)),
            "ids": [match.id for match in answer.matches],
        }

    def _looked(self, given: Given) -> Any:
        known = self.known
        return diagnose([str(given["log"])], known.signatures, known.texts, known.suspects)

    def _plan(self, given: Given) -> Any:
        made = planned(Form.of(given["form"]), self.known.cases, self._read)
        sizing = made.sizings[0]
        return {
            "html": plan_html(made, self._to(given)),
            "line": made.line,
            "engine": made.engine,
            "check": as_json(made.checks),
            "size": sizing.to_json() if sizing else None,
        }

    def _to(self, given: Given) -> To:
        root = str(given.get("root", ""))
        return linked(self._paths, root)


def _size(given: Given) -> Any:
    from kvgate.kvcache.size import size

    config = architecture(str(given.pop("config", "") or ""))
    return size(config or given.pop("model"), **given).to_json()


def _backends(given: Given) -> Any:
    from kvgate.attention import backends

    config = architecture(str(given.pop("config", "") or ""))
    return backends(config or released(given.pop("model")), **given).as_json()


def _claim(given: Given) -> Any:
    return [asdict(line) for line in evaluated(str(given["source"]))]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
