"""The map: every record as a point among those of its concept, and what leads to what.

The page holds titles, as any list of links does; where scripts run, points stand in their place.
The links between records travel as numbers: at a thousand records, their names would be half of
the page.
"""

from __future__ import annotations

from collections import Counter

from kvgate.records.record import Record
from kvgate.site.addresses import Addresses
from kvgate.site.book import GONE, SEVERITIES, Book, generations
from kvgate.site.fragments import fragment
from kvgate.site.virtual import WIDE, Virtual

__all__ = ["map_page"]

_LARGE = 40  # records under one concept, from which on they may stand in more than one column
_HUB = 5  # records that lead to one, from which on its point is a large one


def map_page(book: Book, addresses: Addresses) -> Virtual:
    """The map of the records that stand, each under the first of its concepts."""
    path = "map.md"
    groups: dict[str, list[Record]] = {n: [] for n in book.library.vocabulary.concepts}
    for record in book.records:
        if record.front.status not in GONE:
            groups.setdefault(record.front.concepts[0], []).append(record)
    number = {record.id: n for n, record in enumerate(r for rs in groups.values() for r in rs)}
    edges = sorted(
        {
            (number[e.source], number[e.target], e.type)
            for e in book.graph.edges
            if e.source in number and e.target in number
        }
    )
    types = sorted({type_ for *_, type_ in edges})
    leading = Counter(target for _, target in {(source, target) for source, target, _ in edges})
    found: Counter[str] = Counter(r.front.severity for records in groups.values() for r in records)
    counts = {name: found[name] for name in book.by_severity if found[name]}
    body = fragment(
        "map.html.j2", groups=groups, generations=generations, counts=counts, meanings=SEVERITIES,
        hubs={id_ for id_, n in number.items() if leading[n] >= _HUB}, hub=_HUB, large=_LARGE,
        links={"types": types, "edges": [(s, t, types.index(type_)) for s, t, type_ in edges]},
        say=book.library.vocabulary.concepts, severities=list(book.by_severity),
        engines=list(book.by_engine), concepts=list(book.by_concept), gpus=list(book.by_gpu),
        to=lambda target: addresses.between(path, target),
    )  # fmt: skip
    about = "Every record by its main concept, and what leads to what."
    return Virtual(path, "Map", "# Map of the records\n", about, body, hide=WIDE)
