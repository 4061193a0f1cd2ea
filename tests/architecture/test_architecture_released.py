"""Released models outside the catalogue: what each keeps, worked out by hand from its config.

The configs were written down from the published files, with the keys that say anything about the
layers. Bytes are those of a dtype of 16 bits, as engines run them: per token, in full windows,
and in states, for one sequence on one rank.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvgate.architecture import parse
from kvgate.errors import InputError
from kvgate.kvcache import needs

GOLDEN = Path(__file__).parent.parent / "golden" / "architecture-released.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in GOLDEN.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=[row["model"] for row in ROWS])
def test_what_a_released_model_keeps(row: dict[str, Any]) -> None:
    need = needs(parse(row["config"], id=row["model"]))
    assert need.bytes_per_token == row["bytes_per_token"]
    assert need.window_bytes_per_sequence == row["window_bytes"]
    assert need.state_bytes_per_sequence == row["state_bytes"]


def test_there_are_enough_of_them() -> None:
    assert len(ROWS) >= 80


@pytest.mark.parametrize("model_type", ["phi3small", "plamo2", "zamba", "idefics", "xlstm"])
def test_a_type_whose_layers_are_not_known_is_refused_by_name(model_type: str) -> None:
    config = dict(ROWS[0]["config"]["text_config"], model_type=model_type)
    with pytest.raises(InputError, match=model_type):
        parse(config, id="x/y")
