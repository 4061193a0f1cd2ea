"""What a GGUF file's name says of its weights."""

from __future__ import annotations

import re

__all__ = ["named_bits"]

_TYPE = re.compile(
    r"(?:^|[-._:/])(?:UD[-_])?(?:I?Q(?P<q>[1-8])(?![0-9B])|TQ(?P<t>[12])_|(?P<m>MXFP4)|"
    r"(?P<h>BF16|FP?16)|(?P<f>FP?32))(?![A-Z0-9]*B\b)",
    re.IGNORECASE,
)


def named_bits(name: str) -> tuple[int, bool] | None:
    """(bits a weight, whether that is exact) by the name of a file or repository.

    None where it says nothing. A quantised type keeps scales besides, and some tensors in more:
    its bits are the least.

    >>> named_bits("Llama-3.1-8B-Instruct-Q4_K_M.gguf"), named_bits("org/model-GGUF:BF16")
    ((4, False), (16, True))
    """
    # The last one: a model's own name comes first.
    found = next(reversed([*_TYPE.finditer(name)]), None)
    if found is None:
        return None
    if found["h"] or found["f"]:
        return (16 if found["h"] else 32), True
    return (4 if found["m"] else int(found["q"] or found["t"])), False
