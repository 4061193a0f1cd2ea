"""The catalogue of released models, and how a name finds its entry."""

from __future__ import annotations

import pytest

from kvgate.architecture import model
from kvgate.architecture.serial import dump, load
from kvgate.catalog import models as catalog
from kvgate.errors import InputError


def test_the_catalogue_holds_models_of_all_families() -> None:
    assert len(catalog.models()) >= 80
    kinds = {kind for name in catalog.models() for kind in model(name).kinds()}
    assert kinds == {
        "full", "sliding", "chunked", "cross", "mla", "compressed", "gdn", "mamba1", "mamba2",
        "kda", "lightning", "short_conv", "none",
    }  # fmt: skip


def test_every_entry_is_what_it_says_and_names_its_source() -> None:
    for name in catalog.models():
        entry = catalog.entry(name)
        assert entry["architecture"]["id"] == name
        assert entry["source"], name
        assert len(entry["date"]) == 10, name
        assert dump(load(entry["architecture"])) == entry["architecture"], name


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("google/gemma-4-31B-it", "google/gemma-4-31B-it"),
        ("GOOGLE/GEMMA-4-31b-IT", "google/gemma-4-31B-it"),
        ("gemma-4-31b-it", "google/gemma-4-31B-it"),
        ("Qwen/Qwen3-Next-80B-A3B-Thinking", "Qwen/Qwen3-Next-80B-A3B-Instruct"),
        ("https://hub.example/openai/gpt-oss-120b", "openai/gpt-oss-120b"),
    ],
)
def test_case_and_organisation_and_known_other_names_do_not_matter(asked: str, found: str) -> None:
    assert model(asked).id == found


@pytest.mark.parametrize(
    "asked", ["google/gemma-4-31B-it-FP8", "gemma-4", "someone/gpt-oss-120b-AWQ", "", "nonsense"]
)
def test_a_model_that_is_not_there_is_not_taken_for_another(asked: str) -> None:
    with pytest.raises(InputError, match="is not in the catalogue of models"):
        model(asked)


def test_the_error_names_what_is_near_and_what_else_to_pass() -> None:
    with pytest.raises(InputError) as caught:
        model("google/gemma-4-31B-it-FP8")
    assert "'google/gemma-4-31B-it'" in str(caught.value)
    assert "config.json" in str(caught.value)
