"""The page on how a pool is computed says what the code does: its examples are run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "pool.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_example_of_the_page_is_true() -> None:
    fences = FENCE.findall(PAGE.read_text(encoding="utf-8"))
    assert {language for language, _ in fences} == {"pycon"}
    example = doctest.DocTestParser().get_doctest(
        "\n".join(code for _, code in fences), {}, "pool.md", str(PAGE), 0
    )
    said: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    assert result.attempted >= 15
    assert not result.failed, "".join(said)
