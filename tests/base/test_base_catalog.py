"""GPUs by any of their names, and releases by version."""

from __future__ import annotations

import pytest
from packaging.version import Version

from kvgate.catalog import gpu, gpus, release, releases
from kvgate.errors import InputError


@pytest.mark.parametrize(
    ("name", "sm"),
    [
        ("h100", (9, 0)), ("H100-80GB", (9, 0)), ("NVIDIA H100 80GB HBM3", (9, 0)),
        ("rtx4090", (8, 9)), ("4090", (8, 9)), ("NVIDIA GeForce RTX 4090", (8, 9)),
        ("A10", (8, 6)), ("L40S", (8, 9)), ("B300", (10, 3)), ("GB300", (10, 3)),
        ("dgx spark", (12, 1)), ("thor", (11, 0)), ("rtx pro 6000", (12, 0)),
    ],
)  # fmt: skip
def test_a_gpu_is_found_by_any_of_its_names(name: str, sm: tuple[int, int]) -> None:
    assert gpu(name).sm == sm


@pytest.mark.parametrize(
    ("name", "is_"),
    [
        ("NVIDIA A800-SXM4-80GB", "A800 80GB SXM"), ("NVIDIA H800", "H800 SXM"),
        ("NVIDIA H20-3e", "H20 141GB"), ("NVIDIA RTX A6000", "RTX A6000"),
        ("NVIDIA L20", "L20"), ("NVIDIA GeForce RTX 4090 D", "RTX 4090 D"),
        ("NVIDIA GB200 NVL72", "GB200"), ("AMD Instinct MI300X OAM", "MI300X"),
        ("A40-48GB", "A40"), ("MI300X 192GB", "MI300X"), ("L4-24GB", "L4"),
    ],
)  # fmt: skip
def test_a_gpu_is_found_as_drivers_and_shops_write_it(name: str, is_: str) -> None:
    assert gpu(name).name == is_


@pytest.mark.parametrize("name", ["A100-48GB", "A40-0GB", "A40-000GB"])
def test_a_size_that_is_not_the_cards_is_no_name_of_it(name: str) -> None:
    with pytest.raises(InputError, match="unknown GPU"):
        gpu(name)


@pytest.mark.parametrize("name", ["8xH100", "H100:8", "H100 x 8"])
def test_a_count_of_gpus_is_not_taken_for_a_name(name: str) -> None:
    with pytest.raises(InputError, match=r"counts GPUs.*--tp"):
        gpu(name)


def test_an_ambiguous_gpu_name_asks_which() -> None:
    with pytest.raises(InputError, match=r"several.*V100 32GB, V100 16GB"):
        gpu("V100")


def test_an_unknown_gpu_names_the_nearest() -> None:
    with pytest.raises(InputError, match="H200"):
        gpu("H201")


def test_every_gpu_has_a_source_memory_and_a_unique_name() -> None:
    names = [g.name for g in gpus()]
    assert len(set(names)) == len(names) >= 34
    for g in gpus():
        assert g.sources, g.name
        assert g.memory_mib > 4096, g.name
        assert (g.sm is None) == (g.vendor == "amd"), g.name


def test_no_alias_belongs_to_two_gpus() -> None:
    for g in gpus():
        for name in (g.name, *g.aliases):
            assert gpu(name) is g, name


def test_memory_is_what_the_driver_reports_not_the_marketing_figure() -> None:
    assert gpu("H200").memory_bytes == 150_754_820_096
    assert gpu("A10").memory_mib == 23028


def test_a_release_in_the_catalogue_answers_for_itself() -> None:
    newest = releases("vllm")[-1]
    assert release(f"vllm=={newest}").read == newest
    assert release(f"vllm=={newest}").note == ""
    assert release("vllm").read == newest


def test_a_release_newer_than_the_newest_says_so() -> None:
    found = release("vllm==99.0.0")
    assert found.read == releases("vllm")[-1]
    assert "newer than the newest" in found.note


def test_a_release_between_two_is_answered_by_the_nearest_older_one_and_says_so() -> None:
    older = releases("vllm")[0]
    between = f"{older.major}.{older.minor}.{older.micro + 999}"
    found = release(f"vllm=={between}")
    assert found.read == older
    assert f"answered from {older}" in found.note


def test_a_local_build_or_pre_release_is_its_release() -> None:
    newest = releases("vllm")[-1]
    assert release(f"vllm=={newest}+cu130").note == ""
    early = release(f"vllm=={newest}rc1")
    assert early.read == newest
    assert "no final release" in early.note


@pytest.mark.parametrize("spec", ["vlm==0.33.0", "vllm==abc", "vllm>=0.33", "vllm==0.0.1", ""])
def test_an_unusable_engine_is_refused(spec: str) -> None:
    with pytest.raises(InputError):
        release(spec)


def test_versions_are_ordered_as_versions_not_as_text() -> None:
    held = releases("vllm")
    assert list(held) == sorted(held)
    assert all(isinstance(v, Version) for v in held)
