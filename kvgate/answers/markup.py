"""HTML made of elements: what is put between tags or into attributes is escaped, always."""

from __future__ import annotations

from html import escape

__all__ = ["Html", "element", "joined"]


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, *children: Html | str | None, **attributes: str | bool | None) -> Html:
    """One element. A trailing or inner underscore of an attribute's name stands for a hyphen.

    Children that are not `Html` are text; None is left out, as is an attribute that is None or
    False. An attribute that is True stands alone.

    >>> element("a", "x < y", href="#a&b", data_kv_id="c", class_="d", hidden=True)
    '<a href="#a&amp;b" data-kv-id="c" class="d" hidden>x &lt; y</a>'
    """
    given = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        shown = key.rstrip("_").replace("_", "-")
        given.append(f" {shown}" if value is True else f' {shown}="{escape(value)}"')
    return Html(f"<{name}{''.join(given)}>{joined(*children)}</{name}>")


def joined(*children: Html | str | None) -> Html:
    """Children beside each other, those that are text escaped."""
    return Html(
        "".join(
            child if isinstance(child, Html) else escape(child, quote=False)
            for child in children
            if child is not None
        )
    )
