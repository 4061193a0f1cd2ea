"""Write the lock files anew: every package pinned, with hashes, for Python 3.11 to 3.14.

``requirements/dev.lock`` holds what development needs, ``requirements/mutation.txt`` what
``scripts/mutate.py`` takes besides; those in ``.github/requirements`` what the action needs and
what workflows run. A package that dev.lock has too is of its version in mutation.txt and the
action's. Needs uv (``pip install uv``).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["LOCKS"]

ROOT = Path(__file__).resolve().parents[1]
_GITHUB = ".github/requirements"

# Each lock file with what it is made from. One serves all platforms.
LOCKS: dict[str, list[str]] = {
    "requirements/dev.lock": ["--extra", "site", "--group", "dev", "pyproject.toml"],
    "requirements/mutation.txt": [
        "--constraint",
        "requirements/dev.lock",
        "requirements/mutation.in",
    ],
    f"{_GITHUB}/action.txt": ["--constraint", "requirements/dev.lock", "pyproject.toml"],
    f"{_GITHUB}/audit.txt": [f"{_GITHUB}/audit.in"],
    f"{_GITHUB}/zizmor.txt": [f"{_GITHUB}/zizmor.in"],
}


def main() -> int:
    """Run uv's resolver; exit 2 where uv is missing."""
    uv = shutil.which("uv")
    if uv is None:
        print("lock: uv is not installed; pip install uv", file=sys.stderr)
        return 2
    for lock, source in LOCKS.items():
        command = [
            uv, "pip", "compile", "--quiet", "--upgrade", "--universal", "--python-version", "3.11",
            "--generate-hashes", "--no-emit-index-url", "--no-header", "--no-annotate",
            *source, "--output-file", lock,
        ]  # fmt: skip
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
