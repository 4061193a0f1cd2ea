"""The codes of what can be wrong with links: KV200 to KV219 between pages, from KV220 on in one."""

from __future__ import annotations

__all__ = ["CODES"]

CODES: dict[str, str] = {
    "KV200": "A wiki-link names no record.",
    "KV201": "A wiki-link names a heading that its page does not have.",
    "KV202": "A wiki-link names more than one record.",
    "KV203": "A page links to itself.",
    "KV204": "A paragraph links to the same place twice.",
    "KV205": "A link or relation leads to a withdrawn record.",
    "KV206": "Two records answer to the same alias or title.",
    "KV210": "A relation names no record.",
    "KV211": "A relation names its own record.",
    "KV212": "A record has the same relation twice.",
    "KV213": "Records name each other in a circle as prerequisite, cause or successor.",
    "KV214": "A record stands alone: no link leads to it, and it leads to none.",
    "KV215": "The successor of a superseded record does not name it.",
    "KV220": "A table cell holds a wiki-link whose pipe has no backslash, so the row splits there.",
    "KV221": "A wiki-link stands inside another one that is not finished.",
    "KV222": "A wiki-link stands inside the text or the address of an ordinary link.",
    "KV223": "A fence of code is never closed.",
    "KV224": "A page is embedded in another (`![[page]]`), which kvgate does not do.",
    "KV225": "A wiki-link is stuck to the word or bracket before it and is read as an index.",
    "KV226": "A wiki-link lacks its target, its heading or its label.",
    "KV227": "A wiki-link stands inside raw HTML, where it is not rendered.",
    "KV228": "A fence of code begins or ends elsewhere on the site than on GitHub.",
    "KV229": "Backticks beside a wiki-link have no partner, so code may begin where none is meant.",
    "KV230": "The page cannot be read by the renderer.",
    "KV231": "A line begins with `<!` or `<?`, which the renderer reads in surprising ways.",
}
