"""The program that asks for outside addresses, tried on a web that isn't there, and on our own."""

from __future__ import annotations

import http.server
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kvgate.errors import InputError, Place

Program = Callable[[str], ModuleType]


@pytest.fixture
def links(program: Program) -> ModuleType:
    return program("check_links")


class Web:
    """A web of answers: a status, a status and another address, or the error that comes instead."""

    def __init__(self, module: ModuleType, **answers: Any) -> None:
        self.module = module
        self.answers = {f"https://site.test/{name}": given for name, given in answers.items()}
        self.asked: list[tuple[str, str]] = []

    def __call__(self, method: str, url: str) -> Any:
        self.asked.append((method, url))
        given = self.answers[url]
        if isinstance(given, list):
            given = given.pop(0)
        if isinstance(given, Exception):
            raise given
        status, final = given if isinstance(given, tuple) else (given, url)
        return self.module.Answer(status, final)


def run(links: ModuleType, web: Web, suppressed: tuple[Any, ...] = ()) -> tuple[int, list[str]]:
    said: list[str] = []
    found = [links.Link(Place("a.md", n, 1), url) for n, url in enumerate(web.answers, 1)]
    gone = links.check(found, suppressed, web, pause=lambda _: None, say=said.append)
    return gone, said


def test_addresses_come_with_their_places_and_without_what_follows(
    links: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(
        "one\nsee [it](https://site.test/a#part), <https://site.test/b>.\n"
        "and https://site.test/c. Not http://127.0.0.1:8000/ or https://api.example.com/x\n"
        "`https://site.test/d?x=1&y=2`: **https://site.test/e**\n",
        encoding="utf-8",
    )
    found = list(links.links(tmp_path))
    assert [(link.place.line, link.url.rpartition("/")[2]) for link in found] == [
        (2, "a"),
        (2, "b"),
        (3, "c"),
        (4, "d?x=1&y=2"),
        (4, "e"),
    ]
    assert str(found[0].place) == "docs/a.md:2:10"


def test_the_sources_of_the_records_are_among_the_addresses(links: ModuleType) -> None:
    from kvgate.records.loader import load

    listed = {(link.place.path.rpartition("/")[2], link.url) for link in links.links()}
    for record in load().records.values():
        for source in record.front.sources:
            assert (f"{record.id}.md", source.url.partition("#")[0]) in listed


def test_what_is_gone_fails_and_is_named_at_its_place(links: ModuleType) -> None:
    web = Web(links, well=200, lost=404, away=410, nowhere=urllib.error.URLError(socket.gaierror()))
    gone, said = run(links, web)
    assert gone == 3
    assert "a.md:2:1: https://site.test/lost is gone: 404" in said
    assert any("nowhere is gone: no such host" in line for line in said)
    assert not any("well" in line for line in said)


def test_a_site_with_a_bad_day_is_asked_again_and_does_not_fail(links: ModuleType) -> None:
    web = Web(links, late=[TimeoutError(), 503, 200], down=[503, 502, 500], closed=403)
    gone, said = run(links, web)
    assert gone == 0
    assert not any("late" in line for line in said)
    assert any("down could not be reached: 500" in line for line in said)
    assert any("closed could not be reached: 403" in line for line in said)


def test_a_site_that_refuses_head_is_asked_as_a_reader_would(links: ModuleType) -> None:
    web = Web(links, strict=[405, 200], odd=[404, 200])
    assert run(links, web) == (0, ["2 addresses asked, 0 gone"])
    assert [method for method, url in web.asked if url.endswith("strict")] == ["HEAD", "GET"]


def test_an_address_that_moved_is_said(links: ModuleType) -> None:
    gone, said = run(links, Web(links, old=(200, "https://site.test/new")))
    assert (gone, said[0]) == (0, "a.md:1:1: https://site.test/old moved to https://site.test/new")


def test_an_address_is_asked_once_however_often_it_stands(links: ModuleType) -> None:
    web = Web(links, one=404)
    said: list[str] = []
    found = [links.Link(Place("a.md", n, 1), "https://site.test/one") for n in (1, 5)]
    assert links.check(found, (), web, pause=lambda _: None, say=said.append) == 1
    assert len(web.asked) == 2  # HEAD, then GET
    assert [line[:6] for line in said[:2]] == ["a.md:1", "a.md:5"]


def test_between_two_questions_the_program_waits(links: ModuleType) -> None:
    waits: list[float] = []
    web = Web(links, a=200, b=[503, 503, 503])
    found = [links.Link(Place("a.md", 1, 1), url) for url in web.answers]
    links.check(found, (), web, pause=waits.append, say=lambda _: None)
    assert len(waits) == 4
    assert min(waits) >= 1
    assert waits == sorted(waits)


def test_a_suppressed_address_is_not_asked_and_an_entry_without_use_is_reported(
    links: ModuleType,
) -> None:
    entry = links.Suppressed("site.test", "/private", "asks for a login", 3)
    idle = links.Suppressed("gone.test", "", "closed", 9)
    web = Web(links, private=404)
    gone, said = run(links, web, (entry, idle))
    assert gone == 1
    assert not web.asked
    assert any(":9:1: no link needs gone.test any more" in line for line in said)


def test_the_list_of_suppressed_addresses_gives_each_its_reason_and_holds_no_idle_one(
    links: ModuleType,
) -> None:
    held = links.read_suppressed()
    found = list(links.links())
    for entry in held:
        assert len(entry.reason.split()) > 3
        assert any(entry.covers(link.url) for link in found), entry


def test_an_entry_without_a_reason_is_an_error_at_its_line(
    links: ModuleType, tmp_path: Path
) -> None:
    path = tmp_path / "list.toml"
    path.write_text('# one\n[[suppressed]]\nhost = "a.test"\nreason = ""\n', encoding="utf-8")
    with pytest.raises(InputError, match="reason") as error:
        links.read_suppressed(path)
    assert str(error.value.place) == "list.toml:2:1"


def test_the_web_itself_is_left_only_by_https(links: ModuleType) -> None:
    handler = links._Redirects()
    request = urllib.request.Request("https://site.test/a")
    with pytest.raises(urllib.error.URLError, match="no https"):
        handler.redirect_request(request, None, 302, "", {}, "file:///etc/passwd")
    following = handler.redirect_request(request, None, 302, "", {}, "https://site.test/b")
    assert following.full_url == "https://site.test/b"


# -- over the wire: a server of our own


class Site(http.server.BaseHTTPRequestHandler):
    """Answers by the name that is asked for."""

    def do_GET(self) -> None:
        name = self.path.strip("/")
        if name == "noise":
            self.wfile.write(b"220 this is mail\r\n")
        elif name == "silence":
            self.server.ended.wait(20)  # type: ignore[attr-defined]
        elif name != "hangup":
            status = {"reader": 200, "elsewhere": 302, "loop": 302}.get(name, 0) or int(name)
            if name == "reader" and self.command == "HEAD":
                status = 405
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/200" if name == "elsewhere" else "ftp://site.test/")
            self.send_header("Content-Length", "0")
            self.end_headers()

    do_HEAD = do_GET  # noqa: N815  # the name is the base class's

    def log_message(self, format: str, *given: object) -> None:  # noqa: A002
        """Nothing is told."""


@pytest.fixture
def site(links: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(links, "_TIMEOUT", 0.3)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        server.ended = threading.Event()  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.ended.set()  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("name", "gone", "says"),
    [
        ("200", 0, ""),
        ("404", 1, "is gone: 404"),
        ("410", 1, "is gone: 410"),
        ("403", 0, "could not be reached: 403"),
        ("503", 0, "could not be reached: 503"),
        ("reader", 0, ""),
        ("silence", 0, "could not be reached: timed out"),
        ("hangup", 0, "could not be reached: RemoteDisconnected: Remote end closed"),
        ("noise", 0, "could not be reached: BadStatusLine"),
        ("elsewhere", 0, "could not be reached: it leads to http://127.0.0.1"),
        ("loop", 0, "could not be reached: it leads to ftp://"),
        ("a%20b\u00e9", 0, "could not be reached: UnicodeEncodeError"),
    ],
)
def test_what_a_server_does_is_told_as_what_it_is(
    links: ModuleType, site: str, name: str, gone: int, says: str
) -> None:
    said: list[str] = []
    found = [links.Link(Place("a.md", 3, 1), site + name)]
    assert links.check(found, (), links.ask_web, pause=lambda _: None, say=said.append) == gone
    told, end = said[:-1], said[-1]
    assert end == f"1 addresses asked, {gone} gone"
    expected = [f"a.md:3:1: {site}{name} {says}"] if says else []
    assert [line[: len(expected[0])] if expected else line for line in told] == expected


def test_a_port_that_nobody_listens_on_is_a_bad_day_and_no_end(
    links: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and not listening
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        said: list[str] = []
        found = [links.Link(Place("a.md", 1, 1), url)]
        assert links.check(found, (), links.ask_web, pause=lambda _: None, say=said.append) == 0
    assert "could not be reached: [Errno" in said[0]
