"""``python -m tests.answers.approve``: write the digests anew, and say which groups moved."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.answers.questions import digest, groups

FILE = Path(__file__).resolve().parents[1] / "golden" / "answers.json"


def main() -> None:
    """Compare, tell, write."""
    before = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    now = {group: digest(group) for group in groups()}
    moved = [name for name in sorted(now | before) if now.get(name) != before.get(name)]
    sys.stdout.write("".join(f"{name}\n" for name in moved) + f"{len(moved)} groups moved\n")
    FILE.write_text(json.dumps(now, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
