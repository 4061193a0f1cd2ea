"""Flipping any one cell of the catalogue makes a test fail: sampled cells, each flipped alone."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kvgate.catalog.formats import _format
from kvgate.catalog.gpus import _gpu
from kvgate.errors import InputError
from tests.answers.approve import FILE
from tests.answers.cells import CATALOGUE, digests_of, leaves, read_catalogue
from tests.answers.dice import Dice

DATA = read_catalogue()
SAMPLE = 40


def flipped(data: Any, path: tuple[Any, ...]) -> Any:
    """A copy with one cell that is something else than it was."""
    made = copy.deepcopy(data)
    place = made
    for key in path[:-1]:
        place = place[key]
    old = place[path[-1]]
    if isinstance(old, bool):
        place[path[-1]] = not old
    elif isinstance(old, int | float):
        place[path[-1]] = old + 1
    elif isinstance(old, list):
        place[path[-1]] = ["x"]
    else:
        place[path[-1]] = f"{old}x"
    return made


@pytest.mark.parametrize("name", DATA)
def test_flipping_a_sampled_cell_of_a_file_is_noticed(name: str) -> None:
    approved = json.loads(FILE.read_text(encoding="utf-8"))
    known = digests_of(name, DATA[name])
    assert all(approved[entry] == digest for entry, digest in known.items()), name
    cells = list(leaves(DATA[name]))
    dice = Dice(f"cells {name}")
    for path in {dice.pick(cells) for _ in range(SAMPLE)}:
        now = digests_of(name, flipped(DATA[name], path))
        moved = [entry for entry, digest in now.items() if approved.get(entry) != digest]
        assert len(moved) == 1, path


def test_no_file_of_the_catalogue_is_without_a_digest() -> None:
    approved = json.loads(FILE.read_text(encoding="utf-8"))
    digested = {name.split(" ")[1] for name in approved if name.startswith("cells ")}
    assert digested == set(DATA)
    vllm = json.loads(
        (Path(FILE).parent / "vllm_catalogue_digests.json").read_text(encoding="utf-8")
    )
    held = {p.relative_to(CATALOGUE).as_posix() for p in CATALOGUE.rglob("*.*")}
    data = {name for name in held if name.endswith((".json", ".toml"))}
    assert data == digested | {f"engines/vllm/{name}" for name in vllm}


# What decides: the width of every part of every KV format.
FORMATS = DATA["kv_formats.toml"]["format"]
WIDTHS = [
    (number, path)
    for number, entry in enumerate(FORMATS)
    for path in leaves(entry)
    if path[0] == "parts" and path[-1] in ("bits", "bytes", "group", "elements")
]


def costs(entry: dict[str, Any]) -> list[str]:
    """What a format of these cells costs: heads of several widths, a latent, a record."""
    made = _format(entry)
    asked: tuple[Callable[[], object], ...] = (
        lambda: made.record_bytes,
        lambda: made.latent_bytes(576),
        *(lambda k=k, v=v: made.head_bytes(k, v) for k, v in ((128, 128), (256, 256), (192, 72))),
        *(lambda w=w: made.breakdown(w) for w in (128, 576, 584)),
    )
    told = []
    for ask in asked:
        try:
            told.append(str(ask()))
        except InputError as error:
            told.append(str(error))
    return told


@pytest.mark.parametrize(("number", "path"), WIDTHS, ids=str)
def test_every_cell_of_a_format_s_width_decides_what_a_token_costs(
    number: int, path: tuple[Any, ...]
) -> None:
    entry = FORMATS[number]
    other = flipped(entry, path)
    if path[-1] in ("bits", "group"):  # by one, a whole number of bytes may hide it
        old = entry["parts"][path[1]][path[-1]]
        other["parts"][path[1]][path[-1]] = old * 2 if path[-1] == "bits" else old // 2
    assert costs(other) != costs(entry)


def test_every_cell_that_a_gpu_is_gated_and_sized_by_reaches_its_entry() -> None:
    for entry in DATA["gpus.toml"]["gpu"]:
        known = _gpu(entry)
        for path in leaves(entry):
            assert _gpu(flipped(entry, path)) != known, (entry["name"], path)
