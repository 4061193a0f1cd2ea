"""What of a release's pool moved is named, and what has no effect isn't."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

OLDER = '''
"""Specs."""
@dataclass
class FullSpec(Spec):
    """A layer that keeps everything."""

    head_size: int
    padding: int = 0

    def page_size(self) -> int:
        """Bytes."""
        return self.block_size * self.head_size * 2

def groups(specs: dict) -> list:
    # comment
    return [specs]

def gone():
    pass
'''
NEWER = '''
@dataclass
class FullSpec(Spec):
    head_size: int
    padding: int = 0

    def page_size(self) -> "Bytes":
        return self.block_size * self.head_size * 4

def groups(specs):
    """Other words, same work."""
    return [specs]

class StateSpec(Spec):
    states: int
'''
FILE = "v1/kv_cache_interface.py"


@pytest.fixture
def releases(tmp_path: Path) -> Path:
    for version, text in (("1.0", OLDER), ("1.1", NEWER)):
        path = tmp_path / version / "vllm" / FILE
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_only_what_does_something_else_is_a_change(program: Callable[[str], ModuleType]) -> None:
    module = program("compare_pool_rules")
    two = [{FILE: module.definitions(text)} for text in (OLDER, NEWER)]
    found = {(c.name, c.kind) for c in module.changes(*two)}
    assert found == {
        ("FullSpec.page_size", "changed"), ("StateSpec", "new"), ("gone", "gone"),
    }  # fmt: skip
    (page,) = [c for c in module.changes(*two) if c.kind == "changed"]
    assert "+    return self.block_size * self.head_size * 4" in page.diff


def test_what_went_to_another_file_as_it_was_is_no_change(
    program: Callable[[str], ModuleType],
) -> None:
    module = program("compare_pool_rules")
    one, other = "v1/core/kv_cache_utils.py", "v1/core/kv_cache_planning.py"
    older = {one: {"f": "def f(): ...", "g": "def g(): ..."}, other: {}}
    newer = {one: {}, other: {"f": "def f(): ...", "g": "def g(): pass"}}
    found = {(c.file, c.name, c.kind) for c in module.changes(older, newer)}
    assert found == {(one, "g", "gone"), (other, "g", "new")}


def test_it_says_where_to_look_and_fails_where_anything_moved(
    program: Callable[[str], ModuleType], releases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = program("compare_pool_rules").main
    assert main(["1.0", "1.1", "--diff", "--cache", str(releases)]) == 1
    out = capsys.readouterr().out
    assert "look at kvgate/kvcache/vllm_pages.py" in out
    assert "changed  FullSpec.page_size" in out
    assert "self.head_size * 4" in out
    assert "3 definitions differ" in out
    assert main(["1.0", "1.0", "--cache", str(releases)]) == 0


def test_every_module_that_it_names_is_there(program: Callable[[str], ModuleType]) -> None:
    root = Path(__file__).resolve().parents[2]
    for where in program("compare_pool_rules").FILES.values():
        first = where.partition(" ")[0]
        assert (root / first).is_file(), first
