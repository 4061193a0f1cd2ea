"""The closed list of concepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvgate.errors import InputError
from kvgate.records.home import records_home
from kvgate.records.vocabulary import FILE, read_vocabulary

SEED = (
    "long-context", "flash-attention", "flashmla", "flashinfer", "head-dim-256", "hopper-sm90",
    "blackwell-sm100", "sm80", "split-kv", "mla", "sliding-window",
)  # fmt: skip


def test_the_words_of_the_first_record_are_in_it() -> None:
    vocabulary = read_vocabulary(records_home() / FILE)
    assert [word for word in SEED if word not in vocabulary] == []


def test_every_concept_has_a_meaning_of_its_own_in_one_sentence() -> None:
    concepts = read_vocabulary(records_home() / FILE).concepts.values()
    meanings = [concept.meaning for concept in concepts]
    assert len(set(meanings)) == len(meanings)
    for concept in concepts:
        assert concept.meaning[0].isupper() or concept.meaning.startswith("llama"), concept
        assert ". " not in concept.meaning.replace("e.g. ", ""), concept
        assert 10 < len(concept.meaning) <= 130, concept


def test_concepts_are_listed_by_group(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_text('[one]\na = "An A."\nb = "A B."\n[two]\nc = "A C."\n')
    groups = read_vocabulary(path).groups
    assert {name: [c.name for c in held] for name, held in groups.items()} == {
        "one": ["a", "b"],
        "two": ["c"],
    }


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("", "empty", 1),
        ("[a]\nb = \nc = 1", "no TOML", 2),
        ('[a]\nB = "It."', "no name", 2),
        ('[a]\nb = "it has no end"', "no meaning", 2),
        ("[a]\n\nb = 3", "no meaning", 3),
        ('[a]\nb = "It."\n[c]\nb = "It."', "groups a and c", 2),
        ('a = "It."', "no group", 1),
    ],
)
def test_what_is_wrong_with_it_is_said_with_its_line(
    tmp_path: Path, text: str, says: str, line: int
) -> None:
    path = tmp_path / FILE
    path.write_text(text)
    with pytest.raises(InputError, match=says) as error:
        read_vocabulary(path)
    assert error.value.place is not None
    assert error.value.place.line == line


@pytest.mark.parametrize("data", [b"\xff", None])
def test_an_unreadable_file_is_an_input_error(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / FILE
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError, match=FILE):
        read_vocabulary(path)
