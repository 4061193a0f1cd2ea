"""Ranks of one replica against the GPUs that the deployment gives it.

Sources: vllm 0.13.0 to 0.33.0, config/parallel.py ("World size … is larger than the number of
available GPUs"); a rank of SGLang takes the GPU of its number.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvgate.architecture.model import Architecture
from kvgate.deployment.model import Deployment
from kvgate.errors import Diagnostic
from kvgate.plan.values import count

__all__ = ["TOO_MANY", "available", "ranks_beyond_the_gpus"]

TOO_MANY = "KV437"

_SIZES = {
    "vllm": ("tensor_parallel_size", "pipeline_parallel_size", "prefill_context_parallel_size"),
    "sglang": ("tp_size", "pp_size"),
}


def available(deployment: Deployment) -> int | None:
    """GPUs that the ranks of one replica may take; None where nothing says, or others add some.

    Hosts that Ray or ``--nnodes`` put together may have more than the one that is described.
    """
    if deployment.gpu_count is None or deployment.hidden:
        return None
    get = deployment.flags.get
    if "ray" in (get("distributed_executor_backend"), get("data_parallel_backend")):
        return None
    hosts = max(deployment.nodes, count(deployment.flags, "nnodes") or 1)
    return deployment.gpu_count * hosts


def ranks_beyond_the_gpus(
    deployment: Deployment, arch: Architecture | None
) -> Iterator[Diagnostic]:
    """A finding where the parallel sizes ask for more GPUs than there are."""
    names = _SIZES.get(deployment.engine)
    have = available(deployment)
    if names is None or have is None:
        return
    sizes = {name: count(deployment.flags, name) or 1 for name in names}
    world = 1
    for size in sizes.values():
        world *= size
    # A limit of none says nothing of how many the process will see.
    if world <= have or have == 0:
        return
    written = {n: g for n in names if (g := deployment.last(n)) is not None}
    asked = " x ".join(f"{g.written.partition('=')[0]} {sizes[n]}" for n, g in written.items())
    rest = world // sizes[names[0]]
    most = max((n for n in range(1, have // rest + 1) if _divides(arch, n)), default=None)
    smaller = f", or set {_flag(deployment, names[0])} {most}" if most is not None else ""
    given = next(iter(written.values()), None)
    yield Diagnostic(
        TOO_MANY,
        given.place if given is not None else deployment.place,
        f"{asked} asks for {world} GPUs, and {have} are there: "
        f"World size ({world}) is larger than the number of available GPUs ({have})",
        f"give it {world} GPUs{smaller}",
    )


def _divides(arch: Architecture | None, ranks: int) -> bool:
    return arch is None or arch.query_heads % ranks == 0


def _flag(deployment: Deployment, name: str) -> str:
    given = deployment.last(name)
    written = given.written.partition("=")[0] if given is not None else ""
    return written if written.startswith("-") else f"--{name.replace('_', '-')}"
