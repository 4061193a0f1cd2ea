"""What vLLM's own classes answered, kept in small tables, is what kvgate answers."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from kvgate.attention.batch import answer, query_of
from kvgate.attention.vllm.release import Device
from kvgate.attention.vllm.selector import judge, valid_elsewhere
from kvgate.catalog.engines import release, releases

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
TABLES = sorted(GOLDEN.glob("attention_vllm_*.json"))
SHARED = Path(__file__).resolve().parents[2] / "../shared/oracle"

_NUMBERS = {
    "num_heads", "num_kv_heads", "block_size", "index_topk", "kv_lora_rank", "qk_rope_head_dim",
    "qk_nope_head_dim", "v_head_dim", "flash_attn_version",
}  # fmt: skip
_TEXTS = ("selected", "error", "impl_init")


def read(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The rows of one table, and the engine's answers."""
    body = json.loads(path.read_text(encoding="utf-8"))
    words = body["words"]
    for line in body["rows"]:
        number, sm, size, kv, *rest = line.split(" ")
        row: dict[str, Any] = {"v": body["version"], "sm": sm, "head_size": int(size), "kv": kv}
        for part in rest:
            name, given, value = part.partition("=")
            row[name] = (int(value) if name in _NUMBERS else value) if given else True
        told = dict(body["answers"][int(number)])
        if "invalid" in told:
            told["invalid"] = [
                (words[backend], [words[r] for r in why]) for backend, why in told["invalid"]
            ]
        for name in ("valid", "forced_ok_extra"):
            if name in told:
                told[name] = [words[i] for i in told[name]]
        for name in _TEXTS:
            if name in told:
                told[name] = words[told[name]]
        yield row, told


def differences(row: dict[str, Any], told: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Where an answer isn't the engine's, order included."""
    mine = dict(ours)
    if "invalid" in mine:
        mine["invalid"] = list(mine["invalid"].items())
    return {n: (mine.get(n), v) for n, v in told.items() if mine.get(n) != v}


@pytest.mark.parametrize("path", TABLES, ids=lambda p: p.stem.removeprefix("attention_vllm_"))
def test_every_row_is_answered_as_the_engine_answered_it(path: Path) -> None:
    wrong = [
        (row, found) for row, told in read(path) if (found := differences(row, told, answer(row)))
    ]
    assert wrong == []


# The last patches that were promised, and some between; patches without a table were read by the
# same program, and nobody has compared them with their engine row by row yet.
COMPARED = {
    "0.13.0", "0.15.1", "0.17.1", "0.19.1", "0.20.2", "0.22.0", "0.24.0", "0.26.0", "0.29.0",
    "0.31.0", "0.33.0",
}  # fmt: skip


def test_the_promised_releases_have_a_table_and_every_table_a_release() -> None:
    named = {path.stem.removeprefix("attention_vllm_").removesuffix("_oracle") for path in TABLES}
    assert named >= COMPARED
    assert named <= {str(version) for version in releases("vllm")}


@pytest.mark.parametrize("version", ["0.33.0", "0.20.2"])
@pytest.mark.parametrize("kind", ["oracle", "forced"])
def test_the_whole_oracle_is_answered_alike(version: str, kind: str) -> None:
    path = SHARED / f"{kind}_{version}.jsonl"
    if not path.exists():
        pytest.skip("the shared facts are not beside this checkout")
    answers = ("valid", "auto", "invalid", "forced_ok_extra", "fa", *_TEXTS)
    count = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        told = {n: v for n, v in row.items() if n in answers}
        if str(told.get("impl_init", "")).startswith("(harness)"):
            del told["impl_init"]
        asked = {n: v for n, v in row.items() if n not in answers}
        ours = answer(asked)
        assert {n: ours.get(n) for n in told} == told, asked
        assert list(ours.get("invalid", {})) == list(told.get("invalid", {})), asked
        count += 1
    assert count > 800


# What a cell can be flipped to: anything it isn't.
def _flip(dice: random.Random, entry: dict[str, Any], sm: str) -> tuple[str, str] | None:
    """Change one cell that decides something on this device; say which, None for no cell."""
    orders = entry["priorities"]["order"]["at"]
    tried = {name for names in _orders(orders.get(sm, orders["*"])) for name in names}
    name = dice.choice(sorted(tried & set(entry["backends"])))
    facets = entry["backends"][name]
    word = dice.choice(("kv", "dtypes", "head_sizes", "attn_types", "yes", "no"))
    cell = facets.get(word)
    if isinstance(cell, dict):
        at = cell["at"]
        key = sm if sm in at else "*"
        if "sm" not in cell["by"] or not isinstance(at[key], list) or not at[key]:
            return None
        cell = at[key]
    if not cell:
        return None
    if word in ("yes", "no"):
        bits = {facet for facet, _ in entry["checks"]}
        known = [f for f in cell if f in bits and f not in ("accepts", "non_causal_dcp")]
        if not known:
            return None
        facet = dice.choice(known)
        cell.remove(facet)
        facets["no" if word == "yes" else "yes"].append(facet)
        return name, facet
    cell.pop(dice.randrange(len(cell)))
    return name, word


def _orders(order: Any) -> Iterator[list[str]]:
    if isinstance(order, list):
        yield order
    elif isinstance(order, dict):
        for part in order.get("at", order).values():
            yield from _orders(part)


def test_a_catalogue_entry_is_as_the_script_wrote_it() -> None:
    """The digests are written with the entries: any other cell, in any entry, is noticed here."""
    digests = json.loads((GOLDEN / "vllm_catalogue_digests.json").read_text(encoding="utf-8"))
    folder = Path(str(files("kvgate.catalog"))) / "engines" / "vllm"
    found = {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*.json")
    }
    assert found == digests


def test_flipping_a_cell_of_the_catalogue_is_noticed() -> None:
    """Sampled cells of one release on one device, each flipped alone: some row must then differ."""
    version, sm = "0.33.0", "9.0"
    rows = [
        (query_of(row), told)
        for path in GOLDEN.glob(f"attention_vllm_{version}*.json")
        for row, told in read(path)
        if row["sm"] == sm and "valid" in told
    ]
    entry = release(f"vllm=={version}").data()
    dice = random.Random(7)
    missed: list[tuple[str, str]] = []
    flipped = 0
    while flipped < 60:
        mutant = copy.deepcopy(entry)
        what = _flip(dice, mutant, sm)
        if what is None:
            continue
        flipped += 1
        device = Device(mutant, sm)
        for query, told in rows:
            ours = judge(device, query)
            if list(ours.valid) != told["valid"] or told["invalid"] != [
                (name, list(why)) for name, why in ours.invalid.items()
            ]:
                break
        else:
            missed.append(what)
    assert not missed, missed
    assert list(valid_elsewhere(Device(entry, sm), rows[0][0], [])) != []
