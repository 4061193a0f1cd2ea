"""Make the README's pictures of the program itself: a terminal (SVG) and a page (PNG).

    python scripts/make_pictures.py            # both; the page needs Chromium and `make build`
    python scripts/make_pictures.py --check    # whether the terminal still shows that

The terminal's text is what the command prints today. The page is a screenshot of the built site.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import pty
import re
import shutil
import subprocess
import sys
import termios
import threading
from pathlib import Path

from rich.console import Console
from rich.text import Text

__all__ = ["COMMAND", "terminal"]

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
_WIDE = 92
# The memory is given, so that no figure in the picture is an estimate.
COMMAND = [
    "check", "vllm serve google/gemma-4-31B-it --attention-backend FLASHINFER -tp 2",
    "--gpu", "H100", "--engine", "vllm==0.19.1", "--kv-cache-memory", "36",
]  # fmt: skip
_SHOWN = """\
$ kvgate check "vllm serve google/gemma-4-31B-it --attention-backend FLASHINFER -tp 2" \\
    --gpu H100 --engine vllm==0.19.1 --kv-cache-memory 36
"""
_PAGE = "gotchas/flashinfer-rejects-large-head-dim/"


def terminal() -> str:
    """The terminal as SVG, with the colours that the command gives a terminal."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=_WIDE, file=nowhere)
        console.print(Text(_SHOWN, end=""))
        console.print(Text.from_ansi(_printed()))
        svg = console.export_svg(title="kvgate check", unique_id="kvgate")
    # The picture fetches nothing: a reader's own font does.
    return re.sub(r"\s*@font-face \{.*?\}\n", "\n", svg, flags=re.DOTALL)


def _printed() -> str:
    """What the command prints at a terminal of that width."""
    read, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (40, _WIDE))
    kvgate = [sys.executable, "-c", "from kvgate.cli import main; main()", *COMMAND]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(_WIDE)}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(kvgate, stdout=terminal, cwd=ROOT, env=environment) as running:
        os.close(terminal)
        blocks = []
        while True:
            try:
                blocks.append(os.read(read, 65_536))
            except OSError:
                break  # the program has ended, and its end of the terminal with it
            if not blocks[-1]:
                break
        running.wait()
    os.close(read)
    return b"".join(blocks).decode("utf-8").replace("\r\n", "\n").rstrip("\n")


def page(target: Path) -> None:
    """A screenshot of a record's page of the built site. Raises OSError without Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise FileNotFoundError("Chromium is not installed (Debian: apt-get install chromium)")
    if not (ROOT / "site" / _PAGE / "index.html").is_file():
        raise FileNotFoundError("there is no built site; run: make build")
    handler = functools.partial(_Quiet, directory=str(ROOT / "site"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu",
             "--window-size=1280,800", f"--screenshot={target}", "--virtual-time-budget=4000",
             f"http://127.0.0.1:{server.server_port}/{_PAGE}"],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing of what was asked for."""


def main() -> int:
    """Write both pictures, or with ``--check`` compare the terminal; 1 where it differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    check = parser.parse_args().check
    svg = PICTURES / "terminal.svg"
    text = terminal()
    if check:
        return int(not svg.is_file() or svg.read_text(encoding="utf-8") != text)
    PICTURES.mkdir(exist_ok=True)
    svg.write_text(text, encoding="utf-8")
    try:
        page(PICTURES / "page.png")
    except (OSError, subprocess.SubprocessError) as error:
        print(f"the page was not taken: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
