"""A new GPU comes into the catalogue by what its driver prints."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from kvgate.errors import InputError

LINE = "NVIDIA RTX PRO 5000 Blackwell, 12.0, 48935 MiB\n"
GIVEN = ["--name", "RTX PRO 5000", "--fp8", "--fp4", "--source", "nvidia-smi, 2026-11-30"]


@pytest.fixture
def add(program: Callable[[str], ModuleType], tmp_path: Path) -> Callable[..., int]:
    module = program("add_gpu")
    catalog = tmp_path / "gpus.toml"
    shutil.copy(module.CATALOG, catalog)

    def run(text: str, *arguments: str) -> int:
        (tmp_path / "card.csv").write_text(text, encoding="utf-8")
        command = [str(tmp_path / "card.csv"), *arguments, "--catalog", str(catalog)]
        return int(module.main(command))

    return run


def test_a_card_is_added_in_its_generation_with_what_the_driver_says(
    add: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tomllib.loads((tmp_path / "gpus.toml").read_text(encoding="utf-8"))
    # Two of a kind are one card, and a head line is none.
    text = f"name, compute_cap, memory.total [MiB]\n{LINE}{LINE}"
    assert add(text, *GIVEN, "--bandwidth", "1344", "--alias", "rtx-pro-5000-48gb") == 0
    after = tomllib.loads((tmp_path / "gpus.toml").read_text(encoding="utf-8"))
    (new,) = [g for g in after["gpu"] if g not in before["gpu"]]
    assert new == {
        "name": "RTX PRO 5000", "vendor": "nvidia", "sm": [12, 0], "memory_mib": 48935,
        "bandwidth_gb_s": 1344, "fp8": True, "fp4": True,
        "aliases": ["nvidia rtx pro 5000 blackwell", "rtx-pro-5000-48gb"],
        "sources": ["nvidia-smi, 2026-11-30"],
    }  # fmt: skip
    assert [g for g in after["gpu"] if g != new] == before["gpu"]
    assert after["ambiguous"] == before["ambiguous"]
    names = [g["name"] for g in after["gpu"]]
    assert names.index("RTX PRO 6000") < names.index("RTX PRO 5000") < names.index("GB10")
    out = capsys.readouterr().out
    assert "make test" in out
    assert "generation is new" not in out


def test_a_new_generation_is_said(
    add: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert add("NVIDIA X1, 13.0, 90000 MiB\n", "--name", "X1", "--source", "a test") == 0
    assert "its generation is new" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "arguments", "says"),
    [
        (LINE, ["--name", "H100", "--source", "x"], "H100 SXM"),
        ("NVIDIA H100 80GB HBM3, 9.0, 81559 MiB\n", GIVEN, "in the catalogue already"),
        ("NVIDIA X1, 13.0, 90 GB\n", GIVEN, "card.csv:1:1: this is no line"),
        ("", GIVEN, "0 kinds of card"),
        (LINE + "NVIDIA X1, 13.0, 90000 MiB\n", GIVEN, "2 kinds of card"),
    ],
)
def test_what_can_t_be_added_is_said_and_nothing_is_written(
    add: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    text: str, arguments: list[str], says: str,
) -> None:  # fmt: skip
    before = (tmp_path / "gpus.toml").read_text(encoding="utf-8")
    assert add(text, *arguments) == 2
    assert says in capsys.readouterr().err
    assert (tmp_path / "gpus.toml").read_text(encoding="utf-8") == before


def test_an_ambiguous_name_is_no_name_for_one(program: Callable[[str], ModuleType]) -> None:
    module = program("add_gpu")
    card = module.Card("NVIDIA X1", (9, 0), 90000)
    with pytest.raises(InputError, match="several"):
        module.entry(card, "V100", fp8=True, fp4=False, source="a test")
