"""Ask for each outside address of the records and the pages, and say which are gone.

    python scripts/check_links.py [FOLDER]

Never part of the tests or of CI: it needs the network, and other sites have bad days. What is gone
(404, 410, no such host) fails; what couldn't be reached, or moved, is only said. Addresses that
can't be asked are in suppressed_hosts.toml, each with its reason.
"""

from __future__ import annotations

import argparse
import http.client
import re
import socket
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urlsplit

from kvgate.errors import InputError, Place

__all__ = ["Answer", "Link", "Opener", "Suppressed", "check", "links", "read_suppressed"]

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("*.md", "docs/**/*.md", "gotchas/*.md")
SUPPRESSED = Path(__file__).with_name("suppressed_hosts.toml")

_ADDRESS = re.compile(r"https?://[^\s<>()\[\]{}\"'`|\\]+")
# Names that are kept for examples, and this machine.
_NOBODY = re.compile(r"(?:localhost|127\.[\d.]+|(?:.+\.)?example(?:\.com|\.org|\.net)?)\Z")
_TRIES = 3
_PAUSE = 1.0  # seconds between two questions to one host
_TIMEOUT = 20.0


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """An address without its fragment, and where it stands."""

    place: Place
    url: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a site said: the status, and the address that it came from in the end."""

    status: int
    url: str


Opener = Callable[[str, str], Answer]
"""Method and address to an answer; raises OSError where there is none."""


@dataclass(frozen=True, slots=True)
class Suppressed:
    """Addresses that aren't asked for, by host and the beginning of their path, and why."""

    host: str
    path: str
    reason: str
    line: int

    def covers(self, url: str) -> bool:
        """Whether the address is one of them."""
        parts = urlsplit(url)
        return parts.hostname == self.host and parts.path.startswith(self.path)


def links(root: Path = ROOT) -> Iterator[Link]:
    """Every outside address in the Markdown of the project, in the order of files and lines."""
    for path in sorted({p for pattern in PAGES for p in root.glob(pattern)}):
        name = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            for found in _ADDRESS.finditer(line):
                url = urldefrag(found.group().rstrip(".,;:!?*_…")).url
                if _NOBODY.match(urlsplit(url).hostname or "localhost"):
                    continue
                yield Link(Place(name, number, found.start() + 1), url)


def read_suppressed(path: Path = SUPPRESSED) -> tuple[Suppressed, ...]:
    """The suppressed addresses. Raises InputError for an entry without a host or a reason."""
    text = path.read_text(encoding="utf-8")
    lines = [n for n, line in enumerate(text.split("\n"), 1) if line.startswith("[[suppressed]]")]
    entries: list[dict[str, Any]] = tomllib.loads(text).get("suppressed", [])
    found = []
    for entry, line in zip(entries, lines, strict=True):
        host, reason = entry.get("host"), entry.get("reason")
        if not (isinstance(host, str) and host and isinstance(reason, str) and reason.strip()):
            raise InputError("an entry has a host and a reason", place=Place(path.name, line))
        found.append(Suppressed(host, str(entry.get("path", "")), reason, line))
    return tuple(found)


def check(
    found: Iterable[Link],
    suppressed: Iterable[Suppressed],
    opener: Opener,
    *,
    pause: Callable[[float], None] = time.sleep,
    say: Callable[[str], None] = print,
) -> int:
    """Ask for each address once and say what isn't well; the number of those that are gone.

    ``pause`` waits so many seconds; ``say`` gets one line for each finding. An entry of
    ``suppressed`` that covers no link counts as gone too, so that the list stays short.
    """
    held = tuple(suppressed)
    places: dict[str, list[Place]] = {}
    used: set[Suppressed] = set()
    for link in found:
        covering = [s for s in held if s.covers(link.url)]
        used.update(covering)
        if not covering:
            places.setdefault(link.url, []).append(link.place)
    gone = 0
    for url in _mixed(places):
        message, is_gone = _ask(url, opener, pause)
        gone += is_gone
        for place in places[url] if message else ():
            say(f"{place}: {url} {message}")
    for entry in held:
        if entry not in used:
            gone += 1
            name = f"{entry.host}{entry.path}"
            say(f"{SUPPRESSED.name}:{entry.line}:1: no link needs {name} any more; remove it")
    say(f"{len(places)} addresses asked, {gone} gone")
    return gone


def _mixed(urls: Iterable[str]) -> list[str]:
    """The addresses with those of one host as far apart as may be."""
    turn: dict[str, int] = {}
    ranked: list[tuple[int, int, str]] = []
    for url in urls:
        host = urlsplit(url).hostname or ""
        turn[host] = turn.get(host, 0) + 1
        ranked.append((turn[host], len(ranked), url))
    return [url for _, _, url in sorted(ranked)]


def _ask(url: str, opener: Opener, pause: Callable[[float], None]) -> tuple[str, bool]:
    """What is to be said of an address, "" when all is well; and whether it is gone."""
    why = ""
    for attempt in range(_TRIES):
        pause(_PAUSE * 4**attempt)
        try:
            answer = opener("HEAD", url)
            if answer.status in (403, 404, 405, 501):
                # Some sites answer a HEAD otherwise than the GET of a reader.
                answer = opener("GET", url)
        except OSError as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, socket.gaierror):
                return f"is gone: no such host ({reason})", True
            why = f"could not be reached: {reason}"
            continue
        if answer.status in (404, 410):
            return f"is gone: {answer.status}", True
        if answer.status < 400:
            moved = urldefrag(answer.url).url != url and urlsplit(answer.url).path != "/login"
            return (f"moved to {answer.url}" if moved else ""), False
        why = f"could not be reached: {answer.status}"
        if answer.status not in (408, 425, 429) and answer.status < 500:
            break
    return why, False


def ask_web(method: str, url: str) -> Answer:
    """Ask the web; at most five redirects, https only from the second address on.

    Raises OSError where no answer comes, or one that is no HTTP.
    """
    request = urllib.request.Request(
        url,
        method=method,
        headers={"User-Agent": "kvgate-links (+https://github.com/kvgate/kvgate)"},
    )
    try:
        with _WEB.open(request, timeout=_TIMEOUT) as response:
            return Answer(response.status, response.url)
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.url or url)
    except (http.client.HTTPException, ValueError) as error:
        # What comes back is no HTTP, or the address can't be asked for: neither is an OSError.
        raise OSError(f"{type(error).__name__}: {error}") from None


class _Redirects(urllib.request.HTTPRedirectHandler):
    max_redirections = 5

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        if not newurl.startswith("https://"):
            raise urllib.error.URLError(f"it leads to {newurl}, which is no https address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_WEB = urllib.request.build_opener(_Redirects)


def main() -> int:
    """Check the links; exit 1 when one is gone, 2 when the list of suppressed ones is broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT, help="default: this checkout")
    parser.add_argument("--list", action="store_true", help="print the addresses and ask nothing")
    options = parser.parse_args()
    found = list(links(options.folder))
    if options.list:
        print("\n".join(f"{link.place}: {link.url}" for link in found))
        return 0
    try:
        suppressed = read_suppressed()
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if check(found, suppressed, ask_web) else 0


if __name__ == "__main__":
    sys.exit(main())
