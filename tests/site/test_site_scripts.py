"""The matcher of the site's scripts, in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kvgate.diagnose.logtext import clean
from kvgate.diagnose.signature import Signature
from kvgate.records.loader import load
from kvgate.site.signed import browser_segments

SCRIPTS = Path(__file__).resolve().parents[2] / "kvgate" / "site" / "theme" / "assets" / "kvgate"
NODE = shutil.which("node")

needs_node = pytest.mark.skipif(NODE is None, reason="Node is not installed")

MATCH = """
import { readFileSync } from "node:fs";
const { find, stands } = await import(process.argv[1]);
const { records, texts } = JSON.parse(readFileSync(0, "utf-8"));
const fold = (t) => t.replace(/\\s+/g, " ");
const signatures = records.flatMap((r) => r.signatures);
const found = texts.map((t) => {
  const { whole, similar } = find(records, t);
  return {
    whole: whole.map((f) => f.record.id), similar: similar.map((f) => f.record.id),
    stands: signatures.map((s) => stands(s, fold(t))),
  };
});
console.log(JSON.stringify(found));
"""


def in_node(records: list[dict[str, Any]], texts: list[str]) -> list[dict[str, Any]]:
    """What the site's matcher makes of each text."""
    assert NODE
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", MATCH, (SCRIPTS / "matching.js").as_uri()],
        input=json.dumps({"records": records, "texts": texts}),
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def signed(id_: str, *signatures: str) -> dict[str, Any]:
    """A record as signatures.json has it."""
    made = [
        {"text": text, "segments": browser_segments(text), "weight": Signature(text).weight}
        for text in signatures
    ]
    return {"id": id_, "title": id_, "path": f"{id_}/", "severity": "slower", "signatures": made}


@needs_node
def test_the_browser_s_matcher_and_ours_agree_on_every_signature_and_sample() -> None:
    library = load()
    signatures = [s for r in library.records.values() for s in r.front.signatures]
    assert len(signatures) > 5
    records = [
        signed(r.id, *(s.text for s in r.front.signatures)) for r in library.records.values()
    ]
    found = in_node(records, [s.sample for s in signatures])
    for signature, answer in zip(signatures, found, strict=True):
        ours = [
            Signature(other.text).find(clean(signature.sample)) is not None for other in signatures
        ]
        assert answer["stands"] == ours, signature.sample


@needs_node
def test_a_sample_finds_its_record_first_inside_a_log_too() -> None:
    library = load()
    records = [
        signed(r.id, *(s.text for s in r.front.signatures)) for r in library.records.values()
    ]
    asked = [(r, s) for r in library.records.values() for s in r.front.signatures]
    noise = "(EngineCore_0 pid=1) \x1b[31mERROR\x1b[0m 11-30 [core.py:1]\n"
    texts = [f"{noise}{s.sample}\n{noise}" for _, s in asked]
    for (record, signature), answer in zip(asked, in_node(records, texts), strict=True):
        assert record.id in answer["whole"], signature.sample
        assert answer["whole"][0] in (record.id, *signature.also), signature.sample


@needs_node
@pytest.mark.parametrize(
    ("signature", "text", "whole"),
    [
        ("needs {int} of {num} GiB (in all)", "it needs 1,024 of 3.5 GiB (in all)", True),
        ("needs {int} of {num} GiB (in all)", "it needs  12\n of 3 GiB (in all)", True),
        ("needs {int} of {num} GiB (in all)", "it needs many of 3 GiB (in all)", False),
        ("the {word} backend: {*}.", "the FLASH_ATTN backend: nothing at all.", True),
        ("the {word} backend: {*}.", "the old new backend: nothing.", False),
        ("a {{brace}} and a/slash [x] ^$|?+*", "a {brace} and a/slash [x] ^$|?+*", True),
        ("head{*}tail", "head" + "x" * 3000 + "tail", True),
    ],
)
def test_holes_and_special_characters_mean_in_the_browser_what_they_mean_to_us(
    signature: str, text: str, whole: bool
) -> None:
    (found,) = in_node([signed("a", signature)], [text])
    assert (found["whole"] == ["a"]) is whole
    assert (Signature(signature).find(" ".join(text.split())) is not None) is whole


@needs_node
def test_a_text_that_shares_only_common_words_finds_nothing() -> None:
    records = [
        signed("a", "the model cannot be loaded onto the device"),
        signed("b", "the model cannot be split over the devices"),
        signed("c", "flux capacitor overheated while the model was loaded"),
    ]
    nothing, one = in_node(records, ["the weather is fine", "the flux capacitor overheated badly"])
    assert nothing == {"whole": [], "similar": [], "stands": [False] * 3}
    assert one["whole"] == []
    assert one["similar"] == ["c"]


@needs_node
def test_a_long_hostile_text_takes_no_time() -> None:
    records = [
        signed("a", "aaaa{*}aaaa{*}aaaa{*}b"),
        signed("b", "x {word} x {word} x {word} y"),
        signed("c", "a{word}a{word}a{word}z"),
        signed("d", "1{int}1{int}1{int}z"),
    ]
    (found,) = in_node(records, ["a" * 50_000 + " 1" + "1" * 50_000 + "x " * 20_000])
    assert found["whole"] == []
