"""What changed between two answers: one sentence per difference, for ``kvgate backends --diff``."""

from __future__ import annotations

from kvgate.attention.report import Group, Report

__all__ = ["changes"]


def changes(before: Report, after: Report) -> list[str]:
    """Every difference between two reports on the same model and GPU, oldest answer first."""
    out: list[str] = []
    if before.selected != after.selected:
        out.append(f"selected: {before.selected or 'none'} -> {after.selected or 'none'}")
    if before.error != after.error:
        out.append(f"error: {before.error or 'none'} -> {after.error or 'none'}")
    old = {_name(g): g for g in before.groups}
    new = {_name(g): g for g in after.groups}
    for name in dict.fromkeys([*old, *new]):
        if name not in old or name not in new:
            out.append(f"{name}: only in {(after if name in new else before).engine}")
            continue
        out.extend(f"{name}: {text}" for text in _group(old[name], new[name]))
    for told, gone in ((after, before), (before, after)):
        known = {(f.backend, f.text) for f in gone.then_fails}
        verb = "then fails" if told is after else "no longer fails"
        out.extend(
            f"{f.backend} {verb} at the {f.stage}: {f.text}"
            for f in told.then_fails
            if (f.backend, f.text) not in known
        )
    return out


def _name(group: Group) -> str:
    first, last = group.layers[0], group.layers[-1]
    where = f"layer {first}" if first == last else f"layers {first}-{last}"
    return f"{where} ({group.kind}, {len(group.layers)} of head size {group.head_size})"


def _group(old: Group, new: Group) -> list[str]:
    out = []
    for word in ("selected", "kv_cache_dtype", "flash_attention", "block_size"):
        was, now = getattr(old, word), getattr(new, word)
        if was != now:
            out.append(f"{word.replace('_', ' ')} {was or 'none'} -> {now or 'none'}")
    verdicts = {b.name: b for b in old.backends}
    for backend in new.backends:
        was = verdicts.pop(backend.name, None)
        why = "; ".join(backend.reasons)
        if was is None:
            out.append(f"{backend.name} is new, {'valid' if backend.valid else 'refused: ' + why}")
        elif was.valid != backend.valid:
            out.append(f"{backend.name} is now {'valid' if backend.valid else 'refused: ' + why}")
        elif was.reasons != backend.reasons:
            out.append(f"{backend.name} is refused for other reasons: {why}")
    out.extend(f"{name} is no longer tried" for name in verdicts)
    return out
