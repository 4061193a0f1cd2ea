"""What changed between two releases: said by the build, and by the page's script for any two."""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from kvgate.catalog.engines import releases
from kvgate.site.reference.changes import Facts, facts, sentences, steps
from kvgate.site.reference.matrix import TABLES, matrix

SCRIPTS = Path(__file__).resolve().parents[2] / "kvgate" / "site" / "theme" / "assets" / "kvgate"
NODE = shutil.which("node")

COMPARE = """
import { readFileSync } from "node:fs";
const { statesOf, sentences } = await import(process.argv[1]);
const { steps, pairs } = JSON.parse(readFileSync(0, "utf-8"));
const states = statesOf(steps);
console.log(JSON.stringify(pairs.map(([a, b]) => sentences(states.get(a), states.get(b)))));
"""


@pytest.fixture(scope="module")
def known() -> dict[str, Facts]:
    """Some releases of vLLM, old and new."""
    versions = [str(v) for v in releases("vllm")]
    some = [*versions[:2], *versions[-4:]]
    return {v: facts("vllm", v, [matrix(v, table) for table in TABLES]) for v in some}


def test_a_flag_a_default_a_dtype_and_a_backend_are_told() -> None:
    before = {
        "flag|--old": "1", "flag|--kept": "1", "flag|--moved": "", "kv|fp8": "",
        "auto|plain|64|9.0": "A", "auto|plain|64|8.0": "A", "takes|plain|B|9.0": "64",
    }  # fmt: skip
    after = {
        "flag|--new": "", "flag|--kept": "1", "flag|--moved": "True", "kv|nvfp4": "",
        "auto|plain|64|9.0": "B", "auto|plain|64|8.0": "B", "auto|plain|64|12.0": "B",
        "takes|plain|B|9.0": "64, 128", "takes|plain|B|12.0": "64",
    }  # fmt: skip
    assert list(sentences(before, after)) == [
        ("flag", "--moved: the default is True, was unset"),
        ("flag", "--new is new"),
        ("flag", "--old is gone"),
        ("kv", "KV cache dtype fp8 is gone"),
        ("kv", "KV cache dtype nvfp4 is new"),
        ("auto", "plain heads of 64: the choice is B, was A (on 9.0, 8.0)"),
        ("takes", "plain B takes heads of 64, 128, took 64 (on 9.0)"),
    ]


def test_a_default_that_is_a_whole_configuration_is_told_by_its_settings() -> None:
    long = "Config(first=1, " + ", ".join(f"setting_{i}=None" for i in range(9))
    told = list(sentences({"flag|--c": f"{long})"}, {"flag|--c": f"{long}, more=[])"}))
    assert told == [("flag", "--c has now more=")]


def test_the_newest_release_takes_gemma_4_s_heads_where_an_older_one_did_not(
    known: dict[str, Facts],
) -> None:
    told = [said for _, said in sentences(known["0.13.0"], known["0.33.0"])]
    assert any(said.startswith("plain heads of 512: the choice is FLASH_ATTN") for said in told)
    assert "KV cache dtype nvfp4 is new" in told


def test_a_release_is_what_its_steps_make_of_the_first(known: dict[str, Facts]) -> None:
    now: dict[str, str] = {}
    for version, new, gone in steps(known):
        now = {k: v for k, v in {**now, **new}.items() if k not in gone}
        assert now == known[version]


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_the_page_s_script_says_what_the_build_says(known: dict[str, Facts]) -> None:
    assert NODE
    pairs = [*pairwise(known), ("0.13.0", "0.33.0"), ("0.33.0", "0.13.0")]
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", COMPARE, (SCRIPTS / "changes.js").as_uri()],
        input=json.dumps({"steps": steps(known), "pairs": pairs}),
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for (a, b), told in zip(pairs, json.loads(done.stdout), strict=True):
        assert [tuple(one) for one in told] == list(sentences(known[a], known[b])), (a, b)
