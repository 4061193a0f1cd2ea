"""The findings of this floor: each code with what it means, in one sentence."""

from __future__ import annotations

__all__ = ["CODES"]

CODES: dict[str, str] = {
    "KV310": "an example is not valid Python",
    "KV311": "text in a pycon fence belongs to no example, so nothing checks it",
    "KV312": "a pycon fence holds no example",
    "KV313": "a code fence is never closed",
    "KV314": "a fence shows prompts but is not a pycon fence, so its examples do not run",
    "KV315": "a named example yields nothing that could be evidence",
    "KV316": "two examples of a page have the same name",
    "KV317": "the name of a claim cannot be read",
    "KV318": "a prompt is malformed or its lines are not aligned",
    "KV319": "a page or an example is too large",
    "KV320": "an example uses a construct that claims do not have",
    "KV321": "an example uses a name that claims do not have",
    "KV322": "an example is nested too deeply, or a literal in it is too large",
    "KV330": "the computed value is not the one on the page",
    "KV331": "an example could not be computed",
    "KV332": "an example was stopped at a bound of time or size",
    "KV333": "an example asks for a name, attribute, method or argument that does not exist",
    "KV334": "an example rests on one that could not be computed",
    "KV335": "nothing ran, so nothing was proved",
}
