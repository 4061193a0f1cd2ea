"""Write requirements/dev.lock anew from pyproject.toml: every package pinned, with hashes.

Needs uv (``pip install uv``). One lock serves Python 3.11 to 3.14 on every platform.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements" / "dev.lock"


def main() -> int:
    """Run uv's resolver; exit 2 where uv is missing."""
    uv = shutil.which("uv")
    if uv is None:
        print("lock: uv is not installed; pip install uv", file=sys.stderr)
        return 2
    command = [
        uv, "pip", "compile", "--quiet", "--upgrade", "--universal", "--python-version", "3.11",
        "--generate-hashes", "--no-emit-index-url", "--no-header", "--no-annotate",
        "--extra", "site", "--group", "dev", "pyproject.toml", "--output-file", str(LOCK),
    ]  # fmt: skip
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
