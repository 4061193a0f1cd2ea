"""The shell reader: words, places, variables, and nothing ever run."""

from __future__ import annotations

import pytest

from kvgate.deployment.script import Word, read_script
from kvgate.errors import InputError, Place

HERE = Place("<command line>")


def words(text: str, **options: object) -> list[list[str]]:
    script = read_script(text, HERE, **options)  # type: ignore[arg-type]
    return [[word.text for word in command.words] for command in script.commands]


def test_quotes_hold_words_together_and_vanish() -> None:
    assert words("""a 'b c' "d e" f\\ g 'h'"i"j $'k\\tl'""") == [
        ["a", "b c", "d e", "f g", "hij", "k\tl"]
    ]


def test_a_backslash_or_a_caret_at_the_end_of_a_line_continues_it() -> None:
    assert words("vllm serve m \\\n  --x 1 \\\r\n --y 2 ^\r\n --z 3") == [
        ["vllm", "serve", "m", "--x", "1", "--y", "2", "--z", "3"]
    ]


def test_a_blank_behind_the_backslash_is_said_and_read_over() -> None:
    script = read_script("vllm serve m \\ \n  --x 1", HERE)
    assert [w.text for w in script.commands[0].words] == ["vllm", "serve", "m", "--x", "1"]
    assert [(p.code, p.place.line, p.place.column) for p in script.problems] == [("KV418", 1, 14)]


def test_operators_pipes_redirections_and_comments_end_or_leave_a_command() -> None:
    text = "a 1 && b 2 || c 3; d 4 | e 5 > out.log 2>&1 & # comment\nf 6 < in >> out"
    assert words(text) == [["a", "1"], ["b", "2"], ["c", "3"], ["d", "4"], ["e", "5"], ["f", "6"]]


def test_a_hash_inside_a_word_is_no_comment() -> None:
    assert words("a b#c --rev=x#1") == [["a", "b#c", "--rev=x#1"]]


def test_places_are_one_based_lines_and_columns() -> None:
    script = read_script("A=1 vllm \\\n   serve 'm'", HERE)
    assert [(w.place.line, w.place.column) for w in script.commands[0].words] == [
        (1, 5),
        (2, 4),
        (2, 10),
    ]


def test_a_block_scalar_starts_on_the_line_below() -> None:
    script = read_script("a\nb", Place("x.yaml", 7, 5), block=True)
    assert [c.words[0].place for c in script.commands] == [
        Place("x.yaml", 8, 5),
        Place("x.yaml", 9, 5),
    ]


def test_assignments_in_front_are_that_commands_environment_alone() -> None:
    first, second = read_script("A=1 B='x y' cmd 1\ncmd 2", HERE).commands
    assert {k: v.text for k, v in first.env.items()} == {"A": "1", "B": "x y"}
    assert dict(second.env) == {}


def test_exports_reach_later_commands_and_plain_assignments_do_not() -> None:
    (command,) = read_script("export A=1\nB=2\nC=3; export C\ncmd", HERE).commands
    assert {k: v.text for k, v in command.env.items()} == {"A": "1", "C": "3"}


@pytest.mark.parametrize(
    "line", ['$env:A="1"', '$env:A = "1"', "set A=1", "setx A=1", "export A=1", "declare -x A=1"]
)
def test_every_shells_way_to_set_the_environment_is_known(line: str) -> None:
    (command,) = read_script(f"{line}\nvllm serve m", HERE).commands
    assert {k: v.text for k, v in command.env.items()} == {"A": "1"}


def test_variables_set_in_the_text_are_filled_in() -> None:
    text = 'M=org/m\nARGS="--a 1 --b"\nARGS+=" --c"\nvllm serve $M $ARGS "--d=${M}" "$ARGS"'
    assert words(text) == [
        ["vllm", "serve", "org/m", "--a", "1", "--b", "--c", "--d=org/m", "--a 1 --b --c"]
    ]


def test_arrays_are_spread() -> None:
    text = 'A=(--x 1 \\\n --y "2 3")\nA+=(--z)\ncmd "${A[@]}" end'
    assert words(text) == [["cmd", "--x", "1", "--y", "2 3", "--z", "end"]]


def test_a_default_is_used_and_said() -> None:
    script = read_script("cmd --tp ${TP:-8} ${1:-org/m}", HERE)
    assert [w.text for w in script.commands[0].words] == ["cmd", "--tp", "8", "org/m"]
    assert [p.code for p in script.problems] == ["KV415", "KV415"]


@pytest.mark.parametrize(
    "piece",
    ["$(rm -rf /)", "`rm -rf /`", "$((1+2))", "$UNSET", "${UNSET}", "${A%x}", "$1", "*.gguf", "m?"],
)
def test_what_a_shell_would_expand_stays_as_it_is_written_and_is_marked(piece: str) -> None:
    (command,) = read_script(f"cmd --x {piece} --y", HERE).commands
    assert [w.text for w in command.words] == ["cmd", "--x", piece, "--y"]
    assert [bool(w.unresolved) for w in command.words] == [False, False, True, False]


def test_nothing_is_expanded_in_single_quotes() -> None:
    (command,) = read_script("cmd '$(x) $A *'", HERE).commands
    assert command.words[1] == Word("$(x) $A *", Place("<command line>", 1, 5))


def test_a_variable_that_a_branch_or_a_loop_sets_stays_unresolved() -> None:
    for text in (
        "TP=4\nif [ -n x ]; then TP=8; fi\ncmd $TP",
        "for TP in 1 2; do cmd $TP; done",
        "while true; do TP=3; done; cmd $TP",
    ):
        last = read_script(text, HERE).commands[-1]
        assert last.words[-1].unresolved, text


def test_commands_in_branches_and_functions_are_seen() -> None:
    text = "if x; then\n  cmd 1\nelse\n  cmd 2\nfi\nserve() {\n  cmd 3\n}"
    assert [w for w in words(text) if w[0] == "cmd"] == [["cmd", "1"], ["cmd", "2"], ["cmd", "3"]]


def test_heredocs_are_kept_by_the_file_they_are_written_to() -> None:
    script = read_script("cat > a.yml <<'E'\nx: $Y\nE\ntee b.yml <<-E\n\tz: 1\n\tE\nrun", HERE)
    assert {k: (v.text, v.place.line) for k, v in script.files.items()} == {
        "a.yml": ("x: $Y\n", 2),
        "b.yml": ("z: 1\n", 5),
    }
    assert [c.words[0].text for c in script.commands] == ["cat", "tee", "run"]


def test_unquoted_json_is_marked_because_a_shell_takes_it_apart() -> None:
    (command,) = read_script('cmd {"a":1,"b":2} {"a":1}', HERE).commands
    assert [bool(w.unresolved) for w in command.words[1:]] == [True, False]
    assert command.words[2].text == "{a:1}"


def test_windows_paths_keep_their_backslashes() -> None:
    assert words("C:\\llama\\llama-server.exe -m .\\models\\x.gguf --m=D:\\y.gguf") == [
        ["C:\\llama\\llama-server.exe", "-m", ".\\models\\x.gguf", "--m=D:\\y.gguf"]
    ]


@pytest.mark.parametrize(
    ("text", "column"), [("a 'b", 3), ('a "b', 3), ("a $(b", 4), ("a `b", 3), ("A=(b", 3)]
)
def test_what_never_closes_is_an_error_with_its_place(text: str, column: int) -> None:
    with pytest.raises(InputError) as error:
        read_script(text, HERE)
    assert error.value.place == Place("<command line>", 1, column)


def test_variables_that_double_each_other_stop_at_a_bound() -> None:
    text = "A=xxxxxxxxxxxxxxxx\n" + 'A="$A$A"\n' * 40 + "cmd $A"
    with pytest.raises(InputError, match="without bounds"):
        read_script(text, HERE)
    arrays = "A=(x y)\n" + 'A+=("${A[@]}")\n' * 40 + 'cmd "${A[@]}"'
    with pytest.raises(InputError, match="without bounds"):
        read_script(arrays, HERE)


def test_a_text_longer_than_any_script_is_refused() -> None:
    with pytest.raises(InputError, match="too long"):
        read_script("a " * (3 * 2**20), HERE)
