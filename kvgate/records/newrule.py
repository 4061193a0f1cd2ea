"""The Python of a new rule: the function, its place among the rules of its theme, and its test.

All of it is text in, text out: who writes files is `kvgate.cli`. What the function asks was found
by `kvgate.rules.decisive`, on the very hits and misses that the record names.
"""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kvgate.errors import InputError
from kvgate.rules.decisive import Condition

__all__ = [
    "Trial",
    "function_text",
    "has_function",
    "register_theme",
    "rule_test_text",
    "with_rule",
]

_FACTS, _PLAN, _VERDICT = "kvgate.rules.facts", "kvgate.plan.model", "kvgate.rules.verdict"
_WIDE = 88
_MOST_LINES = 400  # as for every module of kvgate


@dataclass(frozen=True, slots=True)
class Trial:
    """A deployment that a new rule is tried on: a command line, and what it runs on.

    ``gpu`` and ``engine`` (``vllm==0.33.0``) are empty where the command says so itself;
    ``because`` is why it's no hit, for a miss.
    """

    run: str
    gpu: str = ""
    engine: str = ""
    because: str = ""


def function_text(name: str, title: str, conditions: Sequence[Condition], fix: str = '""') -> str:
    """The rule as a function: nothing where a condition fails, open where one can't be told.

    ``title`` is the record's, ``fix`` the expression of what to change.
    """
    lines = [f"def {name}(plan: Plan) -> Verdict:", *_docstring(title)]
    for condition in conditions:
        lines += [f"    if {condition.fails}:", "        return None"]
    for asked, lacks in dict.fromkeys((c.open, c.lacks) for c in conditions if c.open):
        lines += [f"    if {asked}:", f"        return Undecided({lacks})"]
    facts = [f"            {c.because}," for c in conditions if c.because]
    lines += ["    return Finding(", *_literal(title, 8)]
    lines += ["        (", *facts, "        ),", f"        {fix},", "    )"]
    return "\n".join(lines) + "\n"


def with_rule(
    theme: str, source: str | None, name: str, function: str, needs: Iterable[str]
) -> str:
    """The module of a theme with one more rule; a new module where ``source`` is None.

    One that has this very function, as a run leaves it that was cut off, stays as it is. Raises
    InputError where the module has no place for it, or has another function of that name.
    """
    if source is not None and has_function(source, function):
        return source
    wanted = {_PLAN: {"Plan"}, _VERDICT: {"Finding", "Verdict"}, _FACTS: set(needs)}
    if "Undecided(" in function:
        wanted[_VERDICT].add("Undecided")
    if source is None:
        words = theme.replace("_", " ")
        source = f'"""Rules about {words}."""\n\nfrom __future__ import annotations\n\n'
        source += '\n__all__ = ["RULES"]\n\n\nRULES = ()\n'
    tree = ast.parse(source)
    if any(isinstance(n, ast.FunctionDef) and n.name == name for n in tree.body):
        raise InputError(f"the theme {theme} has a rule {name} already", hint="choose another name")
    rules = _tuple(tree, "RULES")
    if rules is None:
        raise InputError(
            f"kvgate/rules/{theme}.py is no theme: it has no tuple RULES",
            hint="name another with --theme",
        )
    names = [*(ast.unparse(e) for e in rules.elts), name]
    lines = source.removesuffix("\n").split("\n")
    listed = ["RULES = (", *(f"    {n}," for n in names), ")"]
    if len(names) == 1:
        listed = [f"RULES = ({name},)"]
    lines[rules.lineno - 1 : rules.end_lineno] = [
        *function.removesuffix("\n").split("\n"),
        "",
        "",
        *listed,
    ]
    for module, add in wanted.items():
        if add:
            _import(lines, module, add)
    if len(lines) > _MOST_LINES:
        raise InputError(
            f"kvgate/rules/{theme}.py would have {len(lines)} lines, more than {_MOST_LINES}",
            hint="name another theme with --theme; a new one is made",
        )
    return "\n".join(lines) + "\n"


def has_function(source: str, function: str) -> bool:
    """Whether a module has a function, whatever its layout."""
    wanted = ast.dump(ast.parse(function).body[0])
    return any(ast.dump(node) == wanted for node in ast.parse(source).body)


def register_theme(source: str, theme: str) -> str:
    """The registry's source with one more theme; the same where it has it already."""
    themes = _tuple(ast.parse(source), "THEMES")
    assert themes is not None
    if theme in [ast.literal_eval(e) for e in themes.elts]:
        return source
    lines = source.removesuffix("\n").split("\n")
    assert themes.end_lineno is not None
    lines.insert(themes.end_lineno - 1, f"    {json.dumps(theme)},")
    return "\n".join(lines) + "\n"


def rule_test_text(
    rule: str, hits: Sequence[Trial], misses: Sequence[Trial], lacks: Sequence[str]
) -> str:
    """A test module: hits are found, misses left alone, and what the rule must know is asked.

    ``lacks`` is what the rule can't do without: "gpu" is tried by leaving it out.
    """
    names = ["Finding", *(["Undecided"] if "gpu" in lacks else []), "Verdict"]
    text = f'''\
"""What was seen of this gotcha is found, and what was not hit is left alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvgate.rules import {", ".join(names)}

Ask = Callable[..., Verdict]
RULE = {json.dumps(rule)}
HITS = [
{_rows(hits)}]
MISSES = [
{_rows(misses)}]


@pytest.mark.parametrize(("command", "engine", "gpu"), HITS)
def test_what_was_seen_is_found(ask: Ask, command: str, engine: str, gpu: str | None) -> None:
    assert isinstance(ask(RULE, command, engine, gpu=gpu), Finding)


@pytest.mark.parametrize(("command", "engine", "gpu"), MISSES)
def test_what_was_not_hit_is_left_alone(
    ask: Ask, command: str, engine: str, gpu: str | None
) -> None:
    assert ask(RULE, command, engine, gpu=gpu) is None
'''
    if "gpu" in lacks:
        text += """

def test_without_a_gpu_it_says_what_it_lacks(ask: Ask) -> None:
    command, engine, _ = HITS[0]
    assert ask(RULE, command, engine) == Undecided("the GPU (--gpu)")
"""
    return text


def _rows(trials: Sequence[Trial]) -> str:
    rows: list[str] = []
    for trial in trials:
        on = [json.dumps(trial.engine) if trial.engine else "None"]
        on.append(json.dumps(trial.gpu) if trial.gpu else "None")
        rows += ["    (", *_literal(trial.run, 8), *(f"        {v}," for v in on), "    ),"]
    return "".join(f"{row}\n" for row in rows)


def _docstring(title: str) -> list[str]:
    text = title.rstrip(".").replace("\\", "\\\\").replace('"""', "'''") + "."
    parts = textwrap.wrap(text, _WIDE, break_long_words=False, break_on_hyphens=False)
    parts[0] = f'"""{parts[0]}'
    # A quotation mark before the closing three would end the text too early.
    parts[-1] += '"""'
    return [f"    {part}" for part in parts]


def _literal(text: str, indent: int) -> list[str]:
    """A text as an argument of its own lines, as many as it needs."""
    pad = " " * indent
    words = textwrap.wrap(
        text, 99 - indent - 8, break_long_words=False, break_on_hyphens=False,
        drop_whitespace=False, expand_tabs=False, replace_whitespace=False,
    )  # fmt: skip
    parts = [json.dumps(part, ensure_ascii=False) for part in words]
    return [*(pad + part for part in parts[:-1]), f"{pad}{parts[-1]},"]


def _tuple(tree: ast.Module, name: str) -> ast.Tuple | None:
    """The tuple that a module calls by that name."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == [name]:
            return node.value if isinstance(node.value, ast.Tuple) else None
    return None


def _import(lines: list[str], module: str, names: set[str]) -> None:
    """Import names into a module's text, with those that it takes from there already."""
    tree = ast.parse("\n".join(lines))
    imports = [n for n in tree.body if isinstance(n, ast.ImportFrom)]
    for node in imports:
        if node.module == module:
            listed = {ast.unparse(a) for a in node.names} | names
            lines[node.lineno - 1 : node.end_lineno] = _imported(module, listed)
            return
    after = [n for n in imports if n.module and n.module.startswith("kvgate") and n.module < module]
    if after:
        at = after[-1].end_lineno or 0
        lines[at:at] = _imported(module, names)
        return
    before = next((n for n in imports if n.module and n.module.startswith("kvgate")), None)
    at = before.lineno - 1 if before else (imports[-1].end_lineno or 0) + 1
    lines[at:at] = _imported(module, names)


def _imported(module: str, names: set[str]) -> list[str]:
    # The order of ruff's isort: constants, classes, the rest.
    ordered = sorted(names, key=lambda n: (not n.isupper(), not n[0].isupper(), n))
    line = f"from {module} import {', '.join(ordered)}"
    if len(line) <= 100:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in ordered), ")"]
