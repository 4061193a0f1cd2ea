"""The list of licences names every package that the lock files pin, with what it says of itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from types import ModuleType

import pytest
from packaging.utils import canonicalize_name

Program = Callable[[str], ModuleType]

# Under one of these a package may be used here; another one is for a person to read first. What is
# copyleft beyond its own files isn't among them.
FREE = re.compile(
    r"(?:Apache-2\.0|Apache 2\.0|Apache Software License|BSD(?:-\d-Clause| License)|ISC|MIT(?:-0)?"
    r"|MIT License|MPL-2\.0|Mozilla Public License 2\.0 \(MPL 2\.0\)|PSF(?:-2\.0)?|Python Software "
    r"Foundation License|Unlicense|0BSD)"
)


@pytest.fixture
def licences(program: Program) -> ModuleType:
    return program("write_licences")


def test_every_pinned_package_is_listed_and_nothing_else(licences: ModuleType) -> None:
    listed = set(licences.written(licences.TARGET.read_text(encoding="utf-8")))
    pins = set(licences.locked(licences.LOCK.read_text(encoding="utf-8")))
    pins |= {(n, v) for n, v, _ in licences.npm(licences.NPM.read_text(encoding="utf-8"))}
    heads = {("package", "version"), ("---", "---")}
    assert listed - heads == pins, "run scripts/write_licences.py"
    assert len(pins) > 90


def test_what_is_installed_says_of_itself_what_is_listed(licences: ModuleType) -> None:
    listed = licences.written(licences.TARGET.read_text(encoding="utf-8"))
    compared = 0
    for name, version in licences.locked(licences.LOCK.read_text(encoding="utf-8")):
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        if found.version == version:
            assert listed[name, version] == licences.said(found), "run scripts/write_licences.py"
            compared += 1
    assert compared > 60
    for name, version, licence in licences.npm(licences.NPM.read_text(encoding="utf-8")):
        assert listed[name, version] == licence


def test_every_licence_is_one_that_a_package_may_have_here(licences: ModuleType) -> None:
    listed = licences.written(licences.TARGET.read_text(encoding="utf-8"))
    strange = {
        name: licence
        for (name, _), licence in listed.items()
        if name not in ("package", "---")
        and not all(FREE.fullmatch(one) for one in re.split(r" OR | AND |, ", licence))
    }
    assert strange == {}


def test_a_row_of_what_is_not_installed_is_kept_at_its_version_only(licences: ModuleType) -> None:
    before = licences.written("| not-here | 1.0 | MIT |\n")
    pins = [("not-here", "1.0"), ("not-here", "2.0"), (canonicalize_name("PyYAML"), "0.0.1")]
    assert [licence for _, _, licence in licences.rows(pins, before)] == [
        "MIT", licences.UNKNOWN, licences.UNKNOWN,
    ]  # fmt: skip
