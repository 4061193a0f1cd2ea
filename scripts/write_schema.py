"""Write docs/schema/record.schema.json from the model that records are read with.

``--check`` writes nothing and exits with 1 when the file is out of date.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from kvgate.records.published import record_schema

TARGET = Path(__file__).resolve().parents[1] / "docs" / "schema" / "record.schema.json"


def main(arguments: list[str] | None = None) -> int:
    """Write the schema, or compare it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument(
        "--target", type=Path, default=TARGET, help="the file (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    target: Path = options.target
    text = json.dumps(record_schema(), indent=2, ensure_ascii=False) + "\n"
    current = target.read_text(encoding="utf-8") if target.is_file() else ""
    if current == text:
        return 0
    if options.check:
        print(f"{target} is out of date: run python scripts/write_schema.py", file=sys.stderr)
        return 1
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8", newline="\n")
    print(f"wrote {target}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
