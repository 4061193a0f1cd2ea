"""Claims from a stranger: whatever is written, nothing escapes, and nothing takes long or grows."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvgate.claims import Budget, Limits, Report, default_namespace, evaluate, find, run
from kvgate.claims.grammar import DEPTH
from kvgate.claims.interpreter import Interpreter
from kvgate.claims.limits import Stop
from kvgate.errors import InputError


@dataclass(frozen=True, slots=True)
class Box:
    content: object = 1


Box.__module__ = "kvgate.fake"


def box(content: object = 1) -> Box:
    return Box(content)


NAMES = {"box": box, "KiB": 1024}


def report(*lines: str, limits: Limits | None = None) -> Report:
    page = "```pycon\n" + "".join(f">>> {line}\n" for line in lines) + "```\n"
    return run(find(page, path="page.md"), NAMES, limits)


REFUSED_BEFORE_ANYTHING_RUNS = r"""
().__class__
().__class__.__bases__[0].__subclasses__()
"".__class__.__mro__
box.__globals__
box.__code__.co_code
box().__class__
box().__init__.__globals__
[].__iter__
(1).__add__(2)
f"{().__class__}"
f"{box().__class__!r}"
f"{1:1000000000d}"
f"{1:{10 ** 9}d}"
f"{1:.1000000000f}"
f"{'x':{'>9'}}"
().__ｃｌａｓｓ__
().__ᶜlass__
().＿＿class＿＿
().﹍﹍class﹍﹍
().︴class
f"{().＿＿class＿＿}"
box(＿x=1)
＿x = 1
[x for ﹏x in [1]]
ｅｖａｌ("1")
ｇｅｔａｔｔｒ((), "a")
f"{box.__globals__[0]!s:>9}"
f"{1:{box.__name__}}"
f"{'{0.__class__}'}".__class__
f"{(lambda: 1)()}"
f"{(x := 1)}"
f"{[y for y in ().__class__]}"
(lambda f: f(f))(lambda f: f(f))
[f := box, f]
box(*().__class__)
box(**{}.__class__)
{**().__dict__}
max(().__class__, key=len)
().__𝒸𝓁𝒶𝓈𝓈__
__import__("os").system("id")
__builtins__
__name__
_
eval("1 + 1")
exec("x = 1")
compile("1", "", "eval")
open("/etc/passwd")
getattr((), "__class__")
setattr(box, "x", 1)
delattr(box, "x")
type(1)
type("X", (), {})
object()
globals()
locals()
vars()
dir()
print(1)
input()
breakpoint()
help()
iter([1])
next([1])
map(len, [1])
filter(None, [1])
memoryview(1)
bytes(10 ** 10)
bytearray(10 ** 10)
super()
hash(1)
id(1)
format(1, "1000000000d")
pow(10, 10 ** 10)
lambda: 1
(lambda x: x)(1)
(x := 1)
[x := 1, 2]
import os
import os as math
from os import *
from kvgate import cli
def f(): pass
async def f(): pass
class X: pass
x.y = 1
x[0] = 1
x += 1
x: int = 1
a = b = 1
*a, b = [1, 2]
[a, b.c] = 1, 2
del x
for x in [1]: pass
while True: pass
if 1: 2
with x: pass
try: 1
assert 1
raise x
global x
return 1
yield 1
[(yield 1)]
await x
[x async for x in y]
[x for x.y in [1]]
[x for x[0] in [1]]
[x for _x in [1]]
b"abc"
1j
...
1 is 1
x is not "a"
(x for x in [1])
x = (y for y in [1])
box()()
(box)()()
[box][0]()
(box if 1 else box)(1)
box(_private=1)
box(a=1, a=2)
[1][1:2, 3]
*box()
x @ y
""".strip().splitlines()


# What would tell of the machine, or differ from run to run.
INSIDE = re.compile(
    r"0x[0-9a-f]{4}|<(?:function|object|class|module|built-in)|site-packages|\.py\b"
)


@pytest.mark.parametrize("source", REFUSED_BEFORE_ANYTHING_RUNS)
def test_what_claims_do_not_have_is_refused_before_anything_runs(source: str) -> None:
    found = report("1", source)
    assert {result.outcome for result in found.results} == {"not-run"}
    assert {p.code for p in found.diagnostics} <= {"KV310", "KV320", "KV321"}
    assert {p.place.line for p in found.diagnostics} == {3}
    assert not INSIDE.search("\n".join(map(str, found.diagnostics)))


REFUSED_WHEN_IT_RUNS = r"""
"{0.__class__}".format(1)
"{0.__class__}".format_map({"0": box})
().a﹍﹍class
sorted([1], key=max)
max([1], default=box)
sum([1], start=box)
int("1", base=36)
str(b=1)
box(**{"content": box})
box(*[box])
round(2 ** 4000, -1000)
divmod(2 ** 4095, 10 ** -1)
str(2 ** 4096)
f"{2 ** 4096}"
"9" * 20001
int("9" * 1300)
1 << 2 ** 70
1 >> -1
2 ** -(10 ** 10)
1e308 ** 10
"{}".format_map({})
"a".encode()
"a".translate({})
"a".ljust(10 ** 10)
"a".center(10 ** 10)
"a".zfill(10 ** 10)
"a".expandtabs(10 ** 10)
"%1000000000d" % 1
"%s" % box()
(1).to_bytes(10 ** 10, "big")
[1].append(2)
[1].sort()
[1].clear()
{}.update({})
{1: 2}.pop(1)
{1: 2}.setdefault(3, 4)
{1}.add(2)
box().content.real
box().nothing
box
max
f = box
[max]
{"a": box}
box(box)
box(max)
str(box)
sorted([1], key=box)
box.cache_clear()
box(**{"__class__": 1})
box(**{"a b": 1})
box(content=1, **{"content": 2})
box("a" * 8193)
box([0] * 30000)
box(*range(10 ** 9))
2 ** 10 ** 10
10 ** 10 ** 10
10 ** 2000.0
(2 ** 4000) ** 2
2 ** 4095 * 2
(2 ** 4095 - 1) * (2 ** 4095 - 1)
1 << 10 ** 9
-(1 << 10 ** 9)
(-8) ** 0.5
"a" * 10 ** 10
10 ** 10 * "a"
[0] * 10 ** 10
(0,) * 10 ** 9
"a" * 20000 * 20000
"a" * 20000 + "a"
"a".join(["b" * 20000] * 10000)
("a" * 20000).replace("a", "b" * 20000)
"".replace("", "b" * 20001)
f"{'a' * 20000}{'a' * 20000}"
repr("\x00" * 20000)
list(range(10 ** 10))
tuple(range(10 ** 10))
set(range(10 ** 10))
dict(zip(range(10 ** 9), range(10 ** 9)))
sorted(range(10 ** 10))
max(range(10 ** 10))
sum(range(10 ** 10))
sum(x for x in range(10 ** 10))
any(x < 0 for x in range(10 ** 12))
all(range(1, 10 ** 12))
len(range(2 ** 100))
[*range(10 ** 9)]
{*range(10 ** 9)}
[x for x in range(10 ** 5) for y in range(10 ** 5)]
[[y for y in range(1000)] for x in range(1000)]
[1 for a in range(10) for b in range(10) for c in range(10) for d in range(10) for e in range(10) for f in range(10) for g in range(10) for h in range(10) for i in range(10)]
{x: y for x in range(10 ** 5) for y in range(10 ** 5)}
{x * (2 ** 61 - 1) for x in range(20000)}
{x * (2 ** 61 - 1): 1 for x in range(20000)}
",".join(str(x) for x in range(10 ** 9))
[x for x in zip(range(10 ** 9), range(10 ** 9))]
[list(enumerate(range(10 ** 9)))]
[x for x in reversed(range(10 ** 9))]
a, b = range(10 ** 9)
round(5, -10 ** 10)
round(1.5, 10 ** 10)
int("9" * 5000)
float("1e" + "9" * 8)[0]
{[1]: 2}
{{1}}
{(1, [2])}
len(x for x in [1])
reversed(x for x in [1])
[x for x in 5]
sum(["a", "b"])
sum([[1], [2]], [])
round("a")
{1}.union([2])
dict([1])
{**[1]}
box(**[1])
a, b = [1]
a, b = [1, 2, 3]
(1.5).numerator
range(3).start()
{x for x in range(10 ** 5)}
{x: 1 for x in range(10 ** 5)} | {1: 2}
set(range(20000))
{1} | set(range(9999)) | {x + 9999 for x in range(9999)}
("a" * 20000).split("a") * 6
[x for x in [1] * 100000 for y in [1] * 100000]
zip([1])
[enumerate([1])]
x = reversed([1])
""".strip().splitlines()  # noqa: E501


@pytest.mark.parametrize("source", REFUSED_WHEN_IT_RUNS)
def test_what_is_unbounded_or_not_on_offer_stops_with_a_finding(source: str) -> None:
    found = report(source)
    assert [result.outcome for result in found.results] == ["error"]
    assert [p.code for p in found.diagnostics] in (["KV321"], ["KV331"], ["KV332"], ["KV333"])
    assert found.steps <= Limits().example_steps
    assert not INSIDE.search("\n".join(map(str, found.diagnostics)))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("0.5 in range(10 ** 18)", "False"),
        ("'x' in range(10 ** 18)", "False"),
        ("None in range(10 ** 18)", "False"),
        ("10 ** 17 in range(10 ** 18)", "True"),
        ("3.0 in range(10 ** 18)", "True"),
        ("range(10 ** 18)[10 ** 17]", "1" + "0" * 17),
        ("range(10 ** 18) == range(10 ** 18)", "True"),
        ("bool(range(10 ** 18))", "True"),
    ],
)
def test_a_huge_range_is_asked_without_being_walked(source: str, text: str) -> None:
    assert evaluate(source, NAMES)[1] == text


SHARED = {
    "lists": ["a = [1]", *["a = [a, a]"] * 32],
    "tuples": ["a = (1,)", *["a = (a, a)"] * 32],
    "dicts": ["a = {1: 1}", *["a = {1: a, 2: a}"] * 32],
    "repeated": ["a = [1]", *["a = [a] * 1000"] * 30],
    "boxes": ["a = box(1)", *["a = box((a, a))"] * 30],
    "deep": ["a = (1,)", *["a = (a,)"] * 400],
    "deeper": ["a = (1,)", *[f"a = {'(' * 50}a{',)' * 50}"] * 400],
}


@pytest.mark.parametrize("kind", SHARED)
@pytest.mark.parametrize(
    "use",
    [
        "a == a", "a != [a]", "a < a", "[a, 1] == [a, 1]", "a in [a]", "{a}", "{a: 1}", "{1: 2}[a]",
        "{1: 2}.get(a)", "a", "str(a)", "repr(a)", "f'{a}'", "f'{a!r}'", "box(a)",
        "box(a) == box(a)",
        "max(a, a)", "sorted([a, a])", "[a].index(a)", "[a].count(a)", "set([a])", "dict([(a, 1)])",
        "'' + a", "[x == y for x in [a] for y in [a]]",
    ],
)  # fmt: skip
def test_values_that_share_their_parts_cannot_be_unfolded(kind: str, use: str) -> None:
    found = report(*SHARED[kind], use)
    assert found.results[-1].outcome == "error"
    assert found.steps <= Limits().page_steps


def test_syntax_that_nests_too_deep_is_refused() -> None:
    for source in (
        "1" + " + 1" * DEPTH,
        "not " * DEPTH + "1",
        "-" * 5_000 + "1",
        "1" + " + 1" * 2_400,
        "a" + ".b" * 4_000,
        "a" + "[0]" * 3_000,
        "1" + "**1" * 3_000,
        "(" * 5_000 + ")" * 5_000,
        "[" * 150 + "]" * 150,
        "{" * 90 + "1" + "}" * 90 + ".a" * 20,
        "1 if 1 else " * 800 + "1",
    ):
        found = report("1", source)
        assert {r.outcome for r in found.results} == {"not-run"}, source[:40]
        assert {p.code for p in found.diagnostics} <= {"KV310", "KV322"}, source[:40]


def test_syntax_just_within_the_depth_runs() -> None:
    assert evaluate("1" + " + 1" * (DEPTH - 1), {})[0] == DEPTH
    assert evaluate("[" * 35 + "]" * 35, {})[1] == "[" * 35 + "]" * 35
    nested = "[x for x in " * 40 + "[1]" + "]" * 40
    assert evaluate(nested, {})[0] == [1]


def test_literals_are_bounded() -> None:
    assert [p.code for p in report("1" * 1_300).diagnostics] == ["KV322"]
    assert [p.code for p in report("1" * 5_000).diagnostics] == ["KV310"]
    assert [p.code for p in report("'" + "a" * 10_001 + "'").diagnostics] == ["KV319"]


def test_what_a_page_keeps_in_memory_is_bounded() -> None:
    for lines in (
        [f"x{i} = [0] * 100000" for i in range(1_000)],
        [f"x{i} = 'é' * 20000" for i in range(2_000)],
        [f"x{i} = list(range(90000))" for i in range(50)],
    ):
        found = report(*lines)
        assert found.results[-1].outcome == "error"
        assert "together" in found.diagnostics[-1].message


def test_values_given_to_a_page_are_not_changed_by_it() -> None:
    shared = {"list": [3, 1, 2], "dict": {"a": [1]}}
    names = {"given": lambda: shared, "xs": shared["list"]}
    text = (
        "```pycon\n>>> xs = sorted(xs)\n>>> a = given()['dict'] | {'b': 2}\n"
        ">>> ys = given()['list'] + [4]\n>>> {**given()['dict'], 'a': 5}['a']\n5\n```\n"
    )
    assert run(find(text, path="p.md"), names).ok
    assert shared == {"list": [3, 1, 2], "dict": {"a": [1]}}
    assert names["xs"] is shared["list"]


def test_functions_inside_of_values_cannot_be_got_at() -> None:
    hidden = {"f": eval, "fs": [eval], "pairs": [("f", eval)], "keyed": {eval: 1}}
    for source in (
        "hidden()['f']",
        "[f for f in hidden()['fs']]",
        "[f('1') for f in hidden()['fs']]",
        "[f('1') for name, f in hidden()['pairs']]",
        "hidden()['fs']",
        "str(hidden())",
        "f\"{hidden()['fs']}\"",
        "max(hidden()['fs'])",
        "hidden().get('f')",
        "list(hidden()['keyed'])",
        "[*hidden()['fs']]",
        "box(*hidden()['fs']).content",
        "[k for k in hidden()['keyed']]",
    ):
        with pytest.raises(InputError, match="cannot hold a function"):
            evaluate(source, {"hidden": lambda: hidden, "box": box})


@pytest.mark.parametrize(
    "value", [ast, object(), type("X", (), {})(), b"x", 1j, iter([1]), open, Exception("x"), ...]
)
def test_a_value_of_no_known_kind_is_refused_where_it_comes_in(value: object) -> None:
    with pytest.raises(InputError, match=r"cannot hold|is a function"):
        evaluate("given", {"given": value})
    with pytest.raises(InputError, match="cannot hold"):
        evaluate("give()", {"give": lambda: value})


def test_the_interpreter_does_nothing_with_a_tree_the_grammar_never_saw() -> None:
    for source in ("lambda: 1", "x.__class__", "(x := 1)", "[(yield)]", "b''.__len__()"):
        statement = ast.parse(source).body[0]
        assert isinstance(statement, ast.Expr)
        with pytest.raises(Stop):
            Interpreter({"x": 1}, Budget()).execute(statement)


def test_an_error_in_a_function_of_kvgate_is_a_finding_whatever_it_is() -> None:
    def broken(error: int) -> None:
        raise [StopIteration(), RecursionError(), MemoryError(), KeyError("x"), AssertionError()][
            error
        ]

    for index in range(5):
        for source in ("broken({})", "[broken({}) for x in [1]]", "sum(broken({}) for x in [1])"):
            with pytest.raises(InputError):
                evaluate(source.format(index), {"broken": broken})


class EvasiveError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_what_an_error_says_is_one_line_without_addresses() -> None:
    for raised, said in (
        (ValueError(object(), "x"), "ValueError: (<object object>, 'x')"),
        (ValueError("a\x1b[31m\nb\u2028c"), "ValueError: a [31m b c"),
        (ValueError("a" * 10_000), "ValueError: " + "a" * 388),
        (EvasiveError(), "EvasiveError: its text cannot be shown"),
    ):

        def broken(error: Exception = raised) -> None:
            raise error

        with pytest.raises(InputError) as caught:
            evaluate("broken()", {"broken": broken})
        assert caught.value.message.endswith(said)
        assert "\n" not in caught.value.message


# -- any text at all ----------------------------------------------------------------------------

WORDS = r"""
a b xs box KiB len sum max sorted range str dict zip lambda for in if else not and or is None True
( ) [ ] { } , : . = == < > + - * / // % ** << >> | & ^ ~ := ... @ \ ; 1 2 0.5 10**9 1e308 'a'
f'{a}' b'' __class__ .__class__ .format .items() .get( _x # claim: yield await async import del
é ﬁ 𝒸
"""
TOKENS = st.sampled_from([*WORDS.split(), "# claim: x", "\u202e", "\x00", "\t", "\x0c", ""])
SMALL = Limits(example_steps=3_000, page_steps=10_000)


def survives(page: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        document = find(page, path="page.md")
        found = run(document, {**default_namespace(), **NAMES}, SMALL)
    lines = page.count("\n") + page.count("\r") + 1
    for problem in found.diagnostics:
        assert problem.message
        assert 1 <= problem.place.line <= lines
        assert problem.place.column >= 1
        str(problem)
    assert found.steps <= SMALL.page_steps
    assert len(found.results) == len(document.examples)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(TOKENS, max_size=14).map(" ".join), min_size=1, max_size=5))
def test_any_tokens_give_a_report(lines: list[str]) -> None:
    survives("```pycon\n" + "".join(f">>> {line}\n" for line in lines) + "```\n")


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80))
def test_any_text_as_an_example_gives_a_report(text: str) -> None:
    survives(f"```pycon\n>>> {text}\n1\n```\n")


PIECES = st.sampled_from([
    "```", "~~~", "```pycon", ">>> ", "...", "1", "\n", "\r\n", "> ", "- ", "    ",
    "\t", "<!--", "a",
])  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30))
def test_any_page_gives_a_report(parts: list[str]) -> None:
    survives("".join(parts))
