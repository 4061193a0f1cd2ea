"""Add a GPU to the catalogue, from what its driver prints on a machine that has one.

    nvidia-smi --query-gpu=name,compute_cap,memory.total --format=csv,noheader > card.csv
    python scripts/add_gpu.py card.csv --name "RTX PRO 5000" --fp8 --fp4 \\
        --source "nvidia-smi on a machine of ours, 2026-11-30"

The driver's name becomes an alias, its memory and compute capability the entry's. What it doesn't
print is given: the bandwidth (``--bandwidth``, 1e9 bytes a second) and whether the tensor cores
compute in FP8 and FP4. Where a backend or kernel has code for a generation that is new is not known
by its number: read the engines' releases and kernels.toml anew.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from kvgate.catalog import gpu, gpus
from kvgate.errors import InputError, Place
from kvgate.records.atomic import write_text

__all__ = ["Card", "entry", "main", "read_card", "with_entry"]

CATALOG = Path(__file__).resolve().parents[1] / "kvgate" / "catalog" / "gpus.toml"
_MEMORY = re.compile(r"(\d+)\s*MiB\Z")


@dataclass(frozen=True, slots=True)
class Card:
    """What the driver prints: its name, compute capability (major, minor), memory in MiB."""

    name: str
    sm: tuple[int, int]
    memory_mib: int


def read_card(text: str, path: str) -> Card:
    """The card in nvidia-smi's lines of name, compute_cap and memory.total; several may be alike.

    Raises InputError where the lines are others, or of several kinds of card.
    """
    cards: set[Card] = set()
    for number, row in enumerate(csv.reader(text.splitlines()), 1):
        cells = [cell.strip() for cell in row]
        if not cells or cells[0] == "name":
            continue
        capability = re.fullmatch(r"(\d+)\.(\d)", cells[1]) if len(cells) == 3 else None
        memory = _MEMORY.match(cells[2]) if len(cells) == 3 else None
        if capability is None or memory is None:
            raise InputError(
                "this is no line of name, compute_cap and memory.total",
                hint="nvidia-smi --query-gpu=name,compute_cap,memory.total --format=csv,noheader",
                place=Place(path, number),
            )
        sm = int(capability[1]), int(capability[2])
        cards.add(Card(cells[0], sm, int(memory[1])))
    if len(cards) != 1:
        raise InputError(
            f"there are {len(cards)} kinds of card here", hint="give the lines of one kind",
            place=Place(path),
        )  # fmt: skip
    return cards.pop()


def entry(
    card: Card, name: str, *, fp8: bool, fp4: bool, source: str, bandwidth: float | None = None,
    aliases: tuple[str, ...] = (),
) -> str:  # fmt: skip
    """The entry of a card as TOML. Raises InputError where one of its names is another GPU's."""
    names = dict.fromkeys(a.casefold() for a in (card.name, *aliases) if a != name)
    for known in (name, *names):
        try:
            other = gpu(known)
        except InputError as error:
            if "several" not in error.message:
                continue
            raise
        raise InputError(f"{known!r} is in the catalogue already, as {other.name}")
    lines = [
        "[[gpu]]",
        f"name = {json.dumps(name)}",
        'vendor = "nvidia"',
        f"sm = [{card.sm[0]}, {card.sm[1]}]",
        f"memory_mib = {card.memory_mib}",
        *([f"bandwidth_gb_s = {bandwidth:g}"] if bandwidth is not None else []),
        f"fp8 = {json.dumps(fp8)}",
        f"fp4 = {json.dumps(fp4)}",
        f"aliases = [{', '.join(map(json.dumps, names))}]",
        f"sources = [{json.dumps(source)}]",
    ]
    return "\n".join(lines) + "\n"


def with_entry(text: str, new: str, sm: tuple[int, int]) -> str:
    """The catalogue's text with an entry more: behind the last of its SM, else of one before it."""
    parts = re.split(r"(?m)^(?=\[\[gpu\]\]|\[ambiguous\])", text)
    of = {
        index: (int(found[1]), int(found[2]))
        for index, part in enumerate(parts)
        if (found := re.search(r"(?m)^sm = \[(\d+), (\d+)\]", part))
    }
    same = [index for index, other in of.items() if other == sm]
    before = same or [index for index, other in of.items() if other < sm]
    at = before[-1] + 1 if before else 1
    parts[at - 1] = parts[at - 1].rstrip("\n") + "\n\n"
    return "".join([*parts[:at], new + "\n", *parts[at:]])


def main(arguments: list[str] | None = None) -> int:
    """Add the card; 2 where that can't be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("card", help="a file with nvidia-smi's lines, or - for standard input")
    parser.add_argument("--name", required=True, help="the catalogue's name for it")
    parser.add_argument("--alias", action="append", default=[], help="another name; repeatable")
    parser.add_argument("--bandwidth", type=float, help="peak, in 1e9 bytes a second")
    parser.add_argument("--fp8", action="store_true", help="its tensor cores compute in FP8")
    parser.add_argument("--fp4", action="store_true", help="its tensor cores compute in FP4")
    parser.add_argument("--source", required=True, help="where and when that was read")
    parser.add_argument("--catalog", type=Path, default=CATALOG, help="default: %(default)s")
    options = parser.parse_args(arguments)
    try:
        text = sys.stdin.read() if options.card == "-" else Path(options.card).read_text("utf-8")
        card = read_card(text, options.card)
        new = entry(
            card, options.name, fp8=options.fp8, fp4=options.fp4, source=options.source,
            bandwidth=options.bandwidth, aliases=tuple(options.alias),
        )  # fmt: skip
        old = options.catalog.read_text(encoding="utf-8")
        write_text(options.catalog, with_entry(old, new, card.sm), newline="\n")
    except (InputError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{options.name}: compute capability {card.sm[0]}.{card.sm[1]}, {card.memory_mib:,} MiB")
    if card.sm not in {g.sm for g in gpus()}:
        print(
            "its generation is new: read the engines' releases and kernels.toml anew before "
            "trusting an answer for it"
        )
    print("next: make test, approve the answers that it names, a line in changes/ (catalogue)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
