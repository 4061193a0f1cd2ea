"""Running claims: what a value is compared with, what a failure says, and where."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Mapping

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kvgate.claims import Limits, Report, default_namespace, evaluate, find, nothing_ran, run
from kvgate.errors import InputError


def refuse(word: str) -> int:
    raise InputError(f"unknown word {word!r}", hint="did you mean 'vllm'?")


def double(number: int, *, plus: int = 0) -> int:
    return 2 * number + plus


NAMES: Mapping[str, object] = {"KiB": 1024, "double": double, "refuse": refuse, "words": ("a", "b")}


def report(lines: str, names: Mapping[str, object] = NAMES) -> Report:
    return run(find(f"# Page\n\n```pycon\n{lines}```\n", path="page.md"), names)


def test_values_are_compared_with_the_page_and_counted() -> None:
    found = report(">>> a = 2 * KiB\n>>> a\n2048\n>>> double(a, plus=1)\n4097\n")
    assert [result.outcome for result in found.results] == ["passed", "passed", "passed"]
    assert (found.count, found.passed, found.failed) == (2, 2, 0)
    assert found.ok


def test_one_set_of_names_is_shared_by_all_fences_of_a_page() -> None:
    text = "```pycon\n>>> a, (b, c) = 1, (2, 3)\n```\ntext\n~~~pycon\n>>> a + b + c\n6\n~~~\n"
    assert run(find(text, path="p.md"), NAMES).ok


def test_a_value_that_differs_fails_at_its_prompt_with_both_texts() -> None:
    found = report(">>> 1\n1\n>>> 2 * KiB  # claim: size\n2049\n")
    (problem,) = found.diagnostics
    assert str(problem.place) == "page.md:6:1"
    assert problem.code == "KV330"
    assert problem.message == "claim 'size': expected 2049, got 2048"
    assert found.results[1].got == "2048"
    assert not found.ok


def test_long_values_show_where_they_part() -> None:
    found = report(f">>> list(range(60))\n{[*range(40), 99, *range(41, 60)]}\n")
    lines = found.diagnostics[0].message.splitlines()
    caret = lines[-1].index("^")
    assert (lines[1][caret], lines[2][caret]) == ("9", "4")


def test_white_space_is_one_space_only_where_the_output_has_lines() -> None:
    assert report(">>> {1: 2, 3: 4}\n{1: 2,\n 3: 4}\n").ok
    assert not report(">>> {1: 2, 3: 4}\n{1: 2,  3: 4}\n").ok


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{'vllm', 'a', 'sglang'}", "{'a', 'sglang', 'vllm'}"),
        ("{10, 9, 1}", "{1, 9, 10}"),
        ("frozenset({(9, 0), (10, 0)})", "frozenset({(9, 0), (10, 0)})"),
        ("{'b', 1, (1,), None, 0.5}", "{0.5, 1, 'b', (1,), None}"),
        ("{'b': 1, 'a': 2}", "{'b': 1, 'a': 2}"),
        ("set(), frozenset()", "(set(), frozenset())"),
        ("{1: 2}.items()", "dict_items([(1, 2)])"),
        ("{1: 2}.keys()", "dict_keys([1])"),
        ("[{'b', 'a'}]", "[{'a', 'b'}]"),
        ("range(3)", "range(0, 3)"),
        ("(1,)", "(1,)"),
        ("'it\\'s'", '"it\'s"'),
        ("None, True", "(None, True)"),
    ],
)
def test_a_value_prints_the_same_on_every_run(source: str, text: str) -> None:
    assert report(f">>> {source}\n{text}\n").diagnostics == ()


def test_the_order_of_a_set_does_not_hang_on_the_hash_seed() -> None:
    code = (
        "from kvgate.claims import evaluate;"
        'print(evaluate(\'{"alpha", "beta", "gamma", "delta", ("x", "y")}\', {})[1])'
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert texts == {"{'alpha', 'beta', 'delta', 'gamma', ('x', 'y')}\n"}


def test_floats_add_up_the_same_in_every_version_of_python() -> None:
    assert report(">>> sum([0.1] * 10)\n0.9999999999999999\n").ok


def test_a_refusal_can_be_claimed_with_its_words() -> None:
    found = report(">>> refuse('vlm')  # claim: refused\nInputError: unknown word 'vlm'\n")
    assert found.ok
    assert found.by_name["refused"].refused


def test_a_refusal_with_other_words_fails_with_both() -> None:
    (problem,) = report(">>> refuse('vlm')\nInputError: unknown word 'x'\n").diagnostics
    assert problem.code == "KV330"
    assert "InputError: unknown word 'vlm'" in problem.message


def test_a_refusal_that_nobody_claimed_is_an_error_with_its_words_and_hint() -> None:
    (problem,) = report(">>> [refuse('vlm')]\n[1]\n").diagnostics
    assert (problem.code, problem.place.column) == ("KV331", 6)
    assert problem.message == "InputError: unknown word 'vlm'"
    assert "vllm" in problem.hint


def test_a_traceback_as_output_is_told_how_refusals_are_claimed() -> None:
    lines = ">>> refuse('x')\nTraceback (most recent call last):\nInputError: unknown word 'x'\n"
    (problem,) = report(lines).diagnostics
    assert "InputError: line alone" in problem.hint


def test_a_claimed_refusal_that_gives_a_value_fails() -> None:
    (problem,) = report(">>> double(1)\nInputError: too small\n").diagnostics
    assert (problem.code, "got 2" in problem.message) == ("KV330", True)


def test_a_bound_is_no_refusal_that_could_be_claimed() -> None:
    (problem,) = report(
        ">>> 2 ** 10 ** 9\nInputError: an integer may not exceed 4,096 bits\n"
    ).diagnostics
    assert problem.code == "KV332"


def test_a_value_without_output_on_the_page_fails() -> None:
    (problem,) = report(">>> 1\n1\n>>> 2\n").diagnostics
    assert (problem.code, problem.place.line) == ("KV330", 6)
    assert "gives 2" in problem.message


def test_output_below_an_assignment_fails() -> None:
    assert [p.code for p in report(">>> a = 1\n1\n").diagnostics] == ["KV330"]


def test_none_shows_nothing_and_is_no_evidence() -> None:
    assert [p.code for p in report(">>> None\nNone\n").diagnostics] == ["KV330"]
    assert [p.code for p in report(">>> None  # claim: nothing\n").diagnostics] == ["KV315"]
    assert report(">>> None\n>>> None is None\nTrue\n").count == 1


def test_one_failure_is_not_told_again_for_all_that_rests_on_it() -> None:
    found = report(">>> a = refuse('x')\n>>> b = a + 1\n>>> b\n2\n>>> c = 3\n>>> c\n3\n")
    assert [(p.code, p.place.line) for p in found.diagnostics] == [
        ("KV331", 4),
        ("KV334", 5),
        ("KV334", 6),
    ]
    assert "line 4" in found.diagnostics[1].message
    assert found.passed == 1


def test_a_name_assigned_anew_after_a_failure_has_a_value_again() -> None:
    found = report(">>> a = refuse('x')\n>>> a = 1\n>>> a\n1\n")
    assert [p.code for p in found.diagnostics] == ["KV331"]


def test_nothing_runs_on_a_page_with_one_refused_construct() -> None:
    calls: list[int] = []

    def record() -> int:
        calls.append(1)
        return 1

    found = report(">>> record()\n1\n>>> ().__class__\n", {"record": record})
    assert calls == []
    assert [result.outcome for result in found.results] == ["not-run", "not-run"]
    assert (found.count, found.ok) == (0, False)


def test_a_page_whose_fences_prove_nothing_is_not_ok() -> None:
    assert not report(">>> a = 1\n").ok
    assert not run(find("no claims here", path="p.md"), NAMES).ok


def test_nothing_ran_is_a_finding_of_its_own() -> None:
    idle = report(">>> a = 1\n")
    problem = nothing_ran([idle, idle], path="gotchas")
    assert problem is not None
    assert (problem.code, problem.place.path) == ("KV335", "gotchas")
    assert nothing_ran([idle, report(">>> 1\n1\n")], path="gotchas") is None
    assert nothing_ran([], path="gotchas") is not None


def test_pages_that_claim_nothing_prove_nothing_unless_that_is_allowed() -> None:
    empty = run(find("text", path="a.md"), NAMES)
    assert nothing_ran([empty, empty], path="gotchas") is not None
    assert nothing_ran([empty, empty], path="gotchas", allow_none=True) is None
    assert nothing_ran([], path="gotchas", allow_none=True) is not None
    # What is wrong says why nothing ran.
    assert nothing_ran([empty, report(">>> import os\n")], path="gotchas") is None


def test_a_claim_changed_by_one_unit_fails_at_its_line() -> None:
    lines = (
        ">>> 2 * KiB  # claim: one\n2048\n>>> [double(n) for n in (1, 2)]  # claim: two\n[2, 4]\n"
    )
    assert report(lines).ok
    for old, new, line in (
        ("2048", "2047", 4), ("[2, 4]", "[2, 5]", 6), ("2 * K", "3 * K", 4), ("1, 2", "1, 3", 6),
    ):  # fmt: skip
        changed = report(lines.replace(old, new))
        assert [p.place.line for p in changed.diagnostics] == [line]


@pytest.mark.parametrize(
    ("source", "code", "words", "hint"),
    [
        ("duble(1)", "KV333", "unknown name 'duble'", "double"),
        ("double(1, pluss=2)", "KV333", "double() has no argument 'pluss'", "plus"),
        ("double()", "KV333", "missing 1 required positional argument", "double(number"),
        ("double('a' * 3, plus=1)", "KV331", "TypeError", ""),
        ("double", "KV333", "double is a function", "double(...)"),
        ("KiB(1)", "KV333", "KiB is an int, not a function", ""),
        ("words.append('c')", "KV333", "a tuple has no 'append'", "never change"),
        ("'a'.uper()", "KV333", "a str has no 'uper'", "upper"),
        ("'a'.upper", "KV333", "upper is a method", ".upper()"),
        ("max(1, 2, key=3)", "KV333", "max() does not take these arguments", "max(values)"),
        ("[1][1]", "KV331", "IndexError", ""),
        ("1 / 0", "KV331", "ZeroDivisionError", ""),
        ("[1] + (2,)", "KV331", "+ is not defined for a list and a tuple", ""),
        ("zip(words)", "KV331", "one by one", "list(...)"),
        ("open('/etc/hostname')", "KV321", "open is not available", "len"),
        ("'%s' % 1", "KV331", "% does not format", "f-string"),
        ("f'{1:{2}d}'", "KV320", "format", "{x:.2f}"),
    ],
)
def test_a_failure_says_what_and_what_to_do(source: str, code: str, words: str, hint: str) -> None:
    (problem,) = report(f">>> [0, {source}]\n[]\n").diagnostics
    assert problem.code == code
    assert problem.place.line == 4
    assert words in problem.message
    assert hint in problem.hint


def test_the_place_of_a_failure_is_that_of_the_part_that_failed() -> None:
    lines = ">>> [1,\n...  double(2),\n...  2 / 0]\n[]\n"
    assert str(report(lines).diagnostics[0].place) == "page.md:6:6"


def test_a_page_may_call_its_values_what_python_calls_other_things() -> None:
    assert report(">>> id = 'x'\n>>> id\n'x'\n>>> [type for type in (1,)]\n[1]\n").ok


def test_a_page_that_names_a_value_like_a_function_is_told_so_when_it_calls_it() -> None:
    (problem,) = report(">>> double = double(1)\n>>> double(2)\n4\n").diagnostics
    assert "this page gave the name to a value" in problem.hint


def test_the_steps_of_all_examples_together_are_bounded() -> None:
    text = "```pycon\n" + ">>> [x for x in range(300)][0]\n0\n" * 20 + "```\n"
    found = run(find(text, path="p.md"), {}, Limits(example_steps=1_000, page_steps=5_000))
    assert found.results[0].outcome == "passed"
    assert found.results[-1].outcome == "error"
    assert found.steps <= 5_000
    assert "together" in found.diagnostics[-1].message


def test_a_run_is_the_same_every_time() -> None:
    document = find("```pycon\n>>> sum(range(100))\n4950\n>>> x\n```\n", path="p.md")
    assert run(document, NAMES) == run(document, NAMES)


# -- evaluate -----------------------------------------------------------------------------------


def test_one_expression_gives_its_value_and_its_text() -> None:
    assert evaluate("double(KiB, plus=1)", NAMES) == (2049, "2049")
    assert evaluate("  [x\r\n for x in words]\n", NAMES) == (["a", "b"], "['a', 'b']")


@pytest.mark.parametrize(
    ("source", "words", "place"),
    [
        ("1 +", "not Python", "<expression>:1:4"),
        ("(1,\n x.__class__)", "__class__", "<expression>:2:2"),
        ("a = 1", "no expression", "<expression>:1:1"),
        ("", "no expression", "<expression>:1:1"),
        ("refuse('x')", "unknown word", "<expression>:1:1"),
        ("1 + nothing", "unknown name", "<expression>:1:5"),
        ("double", "is a function", "<expression>:1:1"),
        ("[x for x in range(10 ** 9)]", "steps", "<expression>"),
    ],
)
def test_an_expression_that_cannot_be_evaluated_is_an_input_error(
    source: str, words: str, place: str
) -> None:
    with pytest.raises(InputError, match=words) as caught:
        evaluate(source, NAMES)
    assert str(caught.value.place).startswith(place)


# -- the package's own names --------------------------------------------------------------------


def test_the_default_names_are_the_public_ones_of_the_package() -> None:
    import kvgate

    names = default_namespace()
    assert sorted(names) == sorted(kvgate.__all__)
    assert names["KiB"] == 1024
    assert "__version__" not in names
    with pytest.raises(KeyError):
        names["import_module"]


def test_a_public_name_is_imported_only_when_it_is_used() -> None:
    code = (
        "import sys; from kvgate.claims import default_namespace, evaluate;"
        "names = default_namespace(); assert 'gpu' in names and 'model' in names;"
        "evaluate('1 + 1', names); print('kvgate.catalog' in sys.modules);"
        "evaluate('gpu(\"H100\").sm', names); print('kvgate.catalog' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["False", "True"]


def test_claims_about_the_catalogue_run() -> None:
    lines = '>>> gpu("H100").sm\n(9, 0)\n>>> gpu("H10O").sm\nInputError: unknown GPU \'H10O\'\n'
    assert report(lines, default_namespace()).diagnostics == ()


# -- like Python --------------------------------------------------------------------------------

NUMBERS = st.sampled_from(["0", "1", "2", "7", "-3", "0.5", "True", "n", "m"])
LISTS = st.sampled_from(
    ["[]", "[1, 2]", "(3, 1, 2)", "xs", "range(4)", "'abc'", "{1: 2}", "{2, 1}"]
)

OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<", "==", "!=", ">=", "in", "not in"]
CALLS = [
    "abs", "all", "any", "bool", "dict", "divmod", "float", "int", "len", "list", "max", "min",
    "repr", "round", "set", "sorted", "str", "sum", "tuple",
]  # fmt: skip


def _bigger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    either = inner | LISTS
    return st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS), either).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(either, inner).map(lambda t: f"({t[0]})[{t[1]}]"),
        st.tuples(either, inner, inner).map(lambda t: f"({t[0]})[{t[1]}:{t[2]}]"),
        st.tuples(st.sampled_from(CALLS), either).map(
            lambda t: f"{t[0]}({t[1]})"
        ),
        st.tuples(inner, either, inner).map(lambda t: f"[{t[0]} for n in {t[1]} if {t[2]}]"),
        st.tuples(inner, inner, either).map(lambda t: f"{{{t[0]}: {t[1]} for m in {t[2]}}}"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"({t[0]} and {t[1]} or not {t[0]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} < {t[1]} <= {t[2]})"),
        st.tuples(inner, either).map(lambda t: f"[{t[0]}, *{t[1]}]"),
        st.tuples(inner, inner).map(lambda t: f"f'{{{t[0]}}} {{{t[1]}!r}}'"),
        st.tuples(inner, either).map(lambda t: f"sum(n * {t[0]} for n in {t[1]})"),
        st.tuples(inner, either).map(lambda t: f"dict(zip([{t[0]}, 5], {t[1]}))"),
        st.tuples(either,).map(lambda t: f"[i * x for i, x in enumerate({t[0]})]"),
    )  # fmt: skip


def _python(source: str, names: dict[str, object]) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(source, dict(names))


EXPRESSIONS = st.recursive(NUMBERS, _bigger, max_leaves=8)


@settings(max_examples=400, deadline=None)
@given(EXPRESSIONS)
@example("(f'{0} {0!r}' % [])")
def test_an_expression_gives_what_python_gives(source: str) -> None:
    names: dict[str, object] = {"n": 3, "m": 2.5, "xs": [4, 6]}
    try:
        value, text = evaluate(source, names)
    except InputError as error:
        # What claims refuse on purpose, and Python doesn't.
        if re.search("may not exceed|complex|does not format strings", error.message):
            return
        with pytest.raises(Exception):  # noqa: B017, PT011 - any: Python must refuse it as well
            _python(source, names)
        return
    expected = _python(source, names)
    assert value == expected or value != value
    assert type(value) is type(expected)
    if not isinstance(value, (set, frozenset)) and "{" not in source:
        assert text == repr(expected)


ORDINARY = r"""
'a,b, c'.split(','), 'a b'.split(maxsplit=1), 'a\nb'.splitlines(), 'a-b'.partition('-')
'abc'.upper(), 'ABC'.lower(), 'aB'.casefold(), 'ab cd'.title(), ' a '.strip(), 'xax'.strip('x')
'abcabc'.replace('b', 'xy'), 'abcabc'.replace('b', '', 1), 'ab'.replace('', '-'), 'a'.replace('z', 'y')
'-'.join(['a', 'b']), '-'.join(x for x in 'abc'), ''.join([]), ', '.join(sorted({'b', 'a'}))
'abc'.startswith(('b', 'a')), 'abc'.endswith('c'), 'abc'.count('b'), 'abc'.find('z'), 'abc'.index('c')
'vllm==1'.removeprefix('vllm=='), 'a.json'.removesuffix('.json'), '12'.isdigit(), 'abc'.rfind('c')
[1, 2, 2].count(2), [1, 2].index(2), (1, 2, 2).count(2), (1, 2).index(1)
{1: 2}.get(1), {1: 2}.get(3), {1: 2}.get(3, 4), list({1: 2}.items()), 2 in {1: 2}.values()
sorted({1: 2, 3: 4}.keys() & {3}), sorted({1, 2} - {2}), sorted({1} ^ {2}), {1} <= {1, 2}
sorted({1, 2}.union({3})), {1, 2}.intersection({2}), {1}.isdisjoint({2}), {1}.issubset({1, 2})
{1: 2} | {3: 4}, {**{1: 2}, 3: 4}, dict(a=1, b=2), dict([(1, 2)], a=3), dict({1: 2}, a=3), dict()
(1.5).is_integer(), (255).bit_length(), 7 // 2, -7 // 2, 7 % 3, 2 ** -1, 1 << 4, 255 >> 2, 6 & 3, 6 | 1, 6 ^ 2
~5, -5, +5, not 5, not [], True + True, 0.1 + 0.2, 1e308 * 10, 10 ** 20
[1] + [2], (1,) + (2,), 'a' + 'b', [0] * 3, 3 * 'ab', (1,) * 2, 'ab' * 0, [1] * -1
[1, 2, 3][-1], [1, 2, 3][1:], [1, 2, 3][::-1], 'abc'[1], (1, 2)[0], range(5)[1:3], range(5)[2]
any([0, 1]), all([1, 0]), any(x > 1 for x in (1, 2)), all([]), sum([1, 2], 10), sum(x for x in (1, 2))
max(1, 2), min([3, 1]), max([], default=0), min('b', 'a'), max({1: 2}), min((2, 'b'), (2, 'a'))
round(2.5), round(2.567, 2), round(1234, -2), abs(-3), divmod(7, 2), divmod(7.5, 2), int(3.9), int('42')
float('1.5'), float(3), bool([]), str(1.0), str(None), str('a'), repr('a'), len('abc'), len({1: 2}), str()
list('abc'), tuple([1]), list(range(3)), sorted([3, 1, 2]), sorted('cab', reverse=True), list(reversed([1, 2]))
list(zip([1, 2], 'ab')), list(enumerate('ab', 1)), list(zip([1], [2], strict=True)), [*zip('a', 'b')]
f'{1.5:.1f} {1000:,} {0.123:.1%} {255:x} {"a":>3} {3:03d} {True} {None} {1.5} {"a"!r} {"é"!a} {[1]!s}'
f'{1 + 1}{"a" "b"}', f'{1.0:g}', f'{12:5}|', f'{{}}', f'{[1, 2]}', f'{(1,)}', f''
1 < 2 < 3, 1 < 2 > 3, 1 == 1.0, 'a' < 'b', [1, 2] < [1, 3], (1, 2) == (1, 2), None is None, [] is not None
1 if 0 else 2, 0 or 'a', 1 and 'b', [] or 0, 1 in [1], 4 not in (1, 2), 'b' in 'abc', 3 in range(4)
[x for x in range(5) if x % 2 if x > 1], {x: x * x for x in range(3)}, [(x, y) for x in 'ab' for y in (1, 2)]
[a + b for a, b in [(1, 2), (3, 4)]], [k for k, (a, b) in [(1, (2, 3))]], [[y for y in range(x)] for x in range(3)]
[n for n in (n for n in range(3))], [*range(3), *'ab'], (*[1], 2), {*[1], 1}, [x for x in {1: 2}]
len(set([1, 1])), frozenset([1]) == {1}, set() == set([]), tuple(), list(), int(), float(), bool()
""".strip().splitlines()  # noqa: E501


@pytest.mark.parametrize("source", ORDINARY)
def test_what_is_on_offer_works_as_in_python(source: str) -> None:
    value, text = evaluate(source, {"n": 3})
    expected = eval(source)
    assert value == expected
    assert text == repr(expected)


def test_ordinary_examples_pass_and_fail_as_under_doctest() -> None:
    body = (
        ">>> a = [double(n) for n in range(3)]\n>>> a\n[0, 2, 4]\n>>> a[-1] == 5\nTrue\n"
        ">>> {n: str(n) for n in a if n}\n{2: '2', 4: '4'}\n>>> max(a,\n...     default=0)\n4\n"
        ">>> 'x' * 3\n'xx'\n\n>>> a == sorted(a) and len(a)\n3\n>>> None\n>>> 1.0\n1\n"
    )
    test = doctest.DocTestParser().get_doctest(body, dict(NAMES), "page", None, None)
    failed: list[int] = []

    class Runner(doctest.DocTestRunner):
        def report_failure(self, out, test, example, got) -> None:  # type: ignore[no-untyped-def]
            failed.append(example.lineno + 4)

    Runner(verbose=False).run(test, out=lambda text: None)
    found = report(body)
    assert [r.example.line for r in found.results if r.outcome != "passed"] == failed
    assert len(found.results) == len(test.examples)
