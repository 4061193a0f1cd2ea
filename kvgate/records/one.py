"""One record by its id, without reading the others when the id is a file's name."""

from __future__ import annotations

from kvgate.records import file
from kvgate.records.home import records_home
from kvgate.records.loader import load
from kvgate.records.record import Record, read_record

__all__ = ["find_record"]


def find_record(name: str) -> Record:
    """kvgate's own record of that id or alias. Raises InputError with the nearest for others."""
    folder = records_home()
    path = folder / f"{name}.md"
    if name.replace("-", "").replace("_", "").isalnum() and path.is_file():
        text = file.read(path, folder, path.as_posix())
        record = read_record(text, path.as_posix()).record if isinstance(text, str) else None
        if record is not None:
            return record
    return load(folder).find(name)
