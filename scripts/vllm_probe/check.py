"""Compare kvgate's answers with a release's own, on random configurations."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from kvgate.attention.batch import answer
from kvgate.catalog.engines import release

__all__ = ["compare", "random_rows"]

_HEADS = (16, 40, 64, 72, 80, 96, 100, 112, 128, 160, 192, 256, 320, 384, 512, 576, 640)
_LATENTS = (320, 512, 576, 576, 576, 640)
_WORDS = ("valid", "auto", "invalid", "forced_ok_extra", "fa")


def random_rows(
    version: str, count: int, seed: int, devices: list[str]
) -> dict[str, list[dict[str, Any]]]:
    """``count`` rows, spread over the devices: ``{"9.0": [row, …]}``. The seed decides them."""
    dice = random.Random(f"{version} {seed}")
    dtypes = release(f"vllm=={version}").data()["kv_cache_dtypes"]
    rows: dict[str, list[dict[str, Any]]] = {}
    for number in range(count):
        sm = devices[number % len(devices)]
        rows.setdefault(sm, []).append({"v": version, "sm": sm, **_row(dice, dtypes)})
    return rows


def _row(dice: random.Random, dtypes: list[str]) -> dict[str, Any]:
    def often(chance: float) -> bool:
        return dice.random() < chance

    row: dict[str, Any] = {}
    if often(0.4):
        row["mla"] = True
        row["head_size"] = dice.choice(_LATENTS)
        row["num_heads"] = dice.choice((1, 4, 8, 16, 17, 20, 32, 64, 128))
        if often(0.5):
            row["sparse"] = True
        if row.get("sparse") and often(0.3):
            row["index_topk"] = dice.choice((512, 1000, 1024, 2048, 4096))
        if often(0.3):
            row["kv_lora_rank"] = dice.choice((256, 512))
            row["qk_rope_head_dim"] = dice.choice((0, 32, 64))
            row["qk_nope_head_dim"] = dice.choice((64, 128, 192, 256))
            row["v_head_dim"] = dice.choice((64, 128, 256))
    else:
        row["head_size"] = dice.choice(_HEADS)
        if often(0.3):
            row["num_heads"] = dice.choice((8, 16, 64))
            row["num_kv_heads"] = dice.choice((1, 4, 8))
        if often(0.1):
            row["flash_attn_version"] = dice.choice((2, 3, 4))
        if often(0.1):
            row["trtllm"] = "off"
    row["kv"] = dice.choice(dtypes) if often(0.7) else "auto"
    if often(0.2):
        row["dtype"] = dice.choice(("float16", "float32"))
    if often(0.4):
        row["block_size"] = dice.choice((1, 8, 16, 32, 48, 64, 80, 128, 192, 256, 512))
    if often(0.15):
        row["attn_type"] = dice.choice(("encoder", "encoder_only", "encoder_decoder"))
    for word, chance in (
        ("window", 0.3), ("sink", 0.2), ("mm_prefix", 0.2), ("non_causal", 0.1),
        ("per_head_scales", 0.1), ("kv_connector", 0.1), ("adaptive_verification", 0.1),
        ("rswa", 0.05), ("dcp", 0.15), ("pcp", 0.1), ("batch_inv", 0.1),
    ):  # fmt: skip
        if often(chance):
            row[word] = True
    return row


def compare(
    version: str, rows: Mapping[str, list[dict[str, Any]]], told: Mapping[str, list[Any]]
) -> int:
    """Print each difference and the sum; the number of rows that differ."""
    total = wrong = 0
    for sm, asked in rows.items():
        for row, theirs in zip(asked, told[sm], strict=True):
            total += 1
            ours = answer(row)
            differs = {
                word: (ours.get(word), theirs.get(word))
                for word in _WORDS
                if ours.get(word) != theirs.get(word)
            }
            if differs or list(ours["invalid"]) != list(theirs["invalid"]):
                wrong += 1
                if wrong <= 5:
                    print(f"{row}\n   kvgate, vllm: {differs or 'another order'}")
    print(f"vllm {version}: {total - wrong} of {total} configurations answered alike", flush=True)
    return wrong
