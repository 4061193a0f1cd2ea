"""A model's config that is no regular file, or has no end, is refused and not read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kvgate.cli import model_file
from kvgate.cli.model_file import read_model
from kvgate.errors import InputError


def test_a_device_behind_a_link_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "config.json"
    link.symlink_to(os.devnull)
    with pytest.raises(InputError, match="no regular file"):
        read_model(str(link))


def test_a_file_is_read_no_further_than_a_config_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_file, "_LARGEST", 100)
    file = tmp_path / "config.json"
    file.write_text(" " * 101, encoding="utf-8")
    with pytest.raises(InputError, match="too large"):
        read_model(str(file))
