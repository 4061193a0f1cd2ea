"""Every config of the shared corpus is read as its family's layers, or refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvgate.architecture import Architecture, parse
from kvgate.architecture.serial import dump, load
from kvgate.catalog import models as catalog
from kvgate.errors import InputError

CORPUS = Path(__file__).resolve().parents[2] / "../shared/data/configs"
FILES = [*sorted(CORPUS.glob("*.json")), *sorted((CORPUS / "defaults").glob("*.json"))]

# Refused, and the words of the message that say why.
REFUSED = {
    "RWKV--rwkv-5-world-3b": "rwkv5",
    "Zyphra--Zaya.zaya.default": "zaya",
    "google--recurrentgemma-2b.recurrent_gemma.default": "recurrent_gemma",
    "LiquidAI--LFM2-8B-A1B.lfm2_moe.default": "layer_types is missing",
    "ibm-granite--granite-4.0-h-1b": "num_attention_heads is missing",
    "ibm-granite--granite-4.0-h-small": "layer_types is missing",
    "mistralai--Mistral-7B-Instruct-v0.2": "sliding_window_size=4096",
}

pytestmark = pytest.mark.skipif(not FILES, reason="the shared facts are not beside this checkout")


def _read(path: Path) -> dict[str, Any]:
    config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return config


def _parsed() -> dict[str, Architecture]:
    found = {}
    for path in FILES:
        if path.stem not in REFUSED:
            found[path.stem] = parse(_read(path), id=path.stem)
    return found


def test_all_but_the_listed_configs_are_read() -> None:
    parsed = _parsed()
    assert len(parsed) == len(FILES) - len(REFUSED)
    for name, architecture in parsed.items():
        held = {index for group in architecture.groups for index in group.indices}
        assert held == set(range(architecture.num_layers)), name
        assert load(json.loads(json.dumps(dump(architecture)))) == architecture, name


@pytest.mark.parametrize("name", REFUSED)
def test_the_listed_configs_are_refused_by_name(name: str) -> None:
    path = next(path for path in FILES if path.stem == name)
    with pytest.raises(InputError) as caught:
        parse(_read(path), id=name)
    assert REFUSED[name] in str(caught.value)


def test_no_config_of_another_family_comes_out_as_plain_full_attention() -> None:
    signals = ("kv_lora_rank", "linear_", "mamba_", "compress_", "hybrid_", "attn_type_list")
    for path in FILES:
        config = _read(path)
        text = config.get("text_config", config)
        speaking = [key for key in text if key.startswith(signals) and text[key]]
        if path.stem in REFUSED or not speaking or "cla" in str(text.get("model_type")):
            continue
        kinds = parse(config, id=path.stem).kinds()
        plain = set(kinds) == {"full"}
        assert not plain or set(speaking) == {"attn_type_list"}, (path.stem, speaking)


def test_the_catalogue_says_what_the_configs_say() -> None:
    for path in sorted(CORPUS.glob("*.json")):
        name = path.stem.replace("--", "/", 1)
        if path.stem in REFUSED or name not in catalog.models():
            continue
        entry = catalog.entry(name)
        if "hf_quant_config" in entry["source"] or name.startswith("zai-org/GLM-4.5"):
            continue  # read together with a second file, or with a key that the copy had lost
        held = load(entry["architecture"])
        assert held.groups == parse(_read(path), id=name).groups, name
