"""One record by its id, without reading the others when the id is a file's name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvgate.records import file, frontmatter
from kvgate.records.home import records_home
from kvgate.records.record import Page, read_record

if TYPE_CHECKING:
    from kvgate.records.record import Record

__all__ = ["find_page", "find_record"]


def find_record(name: str) -> Record:
    """kvgate's own record of that id or alias. Raises InputError with the nearest for others."""
    folder = records_home()
    found = _text(folder, name)
    if found is not None:
        record = read_record(*found).record
        if record is not None:
            return record
    from kvgate.records.loader import load

    return load(folder).find(name)


def find_page(name: str) -> tuple[Mapping[str, Any], Page]:
    """The same record's front matter as plain values, and its page.

    kvgate's own records are validated with the code; who only shows one doesn't do it again.
    """
    found = _text(records_home(), name)
    if found is not None:
        text, path = found
        ends, tree = frontmatter.split(text), frontmatter.tree(text, path)
        values = tree.value() if tree is not None else None
        if ends is not None and isinstance(values, Mapping):
            return values, Page(path, text, ends[1], text.count("\n", 0, ends[1]) + 1)
    record = find_record(name)
    return record.front.model_dump(mode="json", exclude_none=True), record.page


def _text(folder: Path, name: str) -> tuple[str, str] | None:
    """The text and the path of the file that is named so, None where there is none."""
    path = folder / f"{name}.md"
    if not name.replace("-", "").replace("_", "").isalnum() or not path.is_file():
        return None
    text = file.read(path, folder, path.as_posix())
    return (text, path.as_posix()) if isinstance(text, str) else None
