"""How deep a text may nest, estimated before a parser sees it.

Python's parser recurses on the machine's stack. On most platforms it notices in time that this runs
out; in a browser it does not, and the whole interpreter is lost.
"""

from __future__ import annotations

import re

__all__ = ["MOST", "nests_too_deep"]

MOST = 600
"""Brackets and operators that may stand within each other; a third of what a browser survives."""

# A string that is not closed is taken to the end: searching on within it would be quadratic.
_TEXT = re.compile(
    r"'''(?:\\[\s\S]|[^\\])*?(?:'''|\Z)|\"\"\"(?:\\[\s\S]|[^\\])*?(?:\"\"\"|\Z)"
    r"|'(?:\\.|[^'\\\n])*+'?|\"(?:\\.|[^\"\\\n])*+\"?|#[^\n]*"
)
_FORMATTED = re.compile(r"(?i)\b(?:f|t|rf|rt|fr|tr)['\"]")
_PART = re.compile(
    r"[(\[{]|[)\]}]|,|\*\*|//|<<|>>|[-+*/%~@.|&^:]|\b(?:not|if|else|for|lambda|await|and|or)\b"
)


def nests_too_deep(source: str) -> bool:
    """Whether an expression could nest deeper than is safe to parse.

    Counts upwards only where something can stand within something else: a comma or a closing
    bracket ends what was counted since the bracket opened. Strings and comments don't count, unless
    there are f-strings, whose text holds expressions.
    """
    if len(source) <= MOST:
        return False
    code = source if _FORMATTED.search(source) else _TEXT.sub("''", source)
    open_counts = [0]
    depth = 0
    for part in _PART.findall(code):
        if part in "([{":
            open_counts.append(1)
            depth += 1
        elif part == ",":
            keeps = 1 if len(open_counts) > 1 else 0
            depth -= open_counts[-1] - keeps
            open_counts[-1] = keeps
        elif part in ")]}":
            depth -= open_counts[-1]
            open_counts[-1] = 0
            if len(open_counts) > 1:
                open_counts.pop()
                # What was closed is one more part of a chain: a()()() nests to the left.
                open_counts[-1] += 1
                depth += 1
        else:
            open_counts[-1] += 1
            depth += 1
        if depth > MOST:
            return True
    return False
