"""Make a plan: find the release, the model and the GPU, then ask the gates and the sizing."""

from __future__ import annotations

from dataclasses import replace

from kvgate.architecture.model import Architecture
from kvgate.architecture.released import model as released
from kvgate.catalog.engines import release, releases
from kvgate.catalog.gpus import Gpu
from kvgate.catalog.gpus import gpu as known_gpu
from kvgate.deployment.model import Deployment
from kvgate.errors import InputError
from kvgate.plan.draft import Draft
from kvgate.plan.model import Plan
from kvgate.plan.ranks import ranks_beyond_the_gpus

__all__ = ["plan"]

# First parts of a relative path that are no organisation's name.
_FOLDERS = {"model", "models", "checkpoint", "checkpoints", "ckpt", "weights", "data"}


def plan(
    deployment: Deployment,
    *,
    gpu: str | Gpu | None = None,
    model: Architecture | None = None,
    kv_cache_memory: int | None = None,
) -> Plan:
    """What the engine makes of a deployment.

    ``gpu`` stands in where the deployment names none, ``model`` where the model isn't in the
    catalogue; ``kv_cache_memory`` is bytes per GPU, when known from a log. What can't be settled is
    in ``unknown`` with the fact it lacks; a GPU that doesn't exist raises InputError.
    """
    draft = Draft(deployment, None, model, None, dict(deployment.flags))
    _release(draft)
    if draft.arch is None:
        _model(draft)
    draft.gpu = _gpu(draft, gpu)
    match deployment.engine:
        case "vllm":
            from kvgate.plan.vllm import fill

            fill(draft, kv_cache_memory)
        case "sglang":
            from kvgate.plan.sglang import fill

            fill(draft, kv_cache_memory)
        case _:
            from kvgate.plan.other import fill

            fill(draft, kv_cache_memory)
    draft.problems += ranks_beyond_the_gpus(deployment, draft.arch)
    return Plan(
        deployment=deployment,
        release=draft.release,
        arch=draft.arch,
        gpu=draft.gpu,
        settings=draft.settings,
        gates=draft.gates,
        outcome=draft.outcome,
        sizing=draft.sizing,
        forced_backend=draft.forced_backend,
        problems=tuple(draft.problems),
        assumed=tuple(dict.fromkeys(draft.assumed)),
        unknown=tuple(dict.fromkeys(draft.unknown)),
    )


def _release(draft: Draft) -> None:
    deployment = draft.deployment
    if not releases(deployment.engine):
        return
    draft.release = draft.attempt("version", lambda: release(deployment.spec))
    if draft.release is None:
        return
    if deployment.version is None:
        draft.assumed.append(
            f"no version is named: answered for the newest in the catalogue, {draft.release}"
        )
    elif draft.release.note:
        draft.assumed.append(draft.release.note)


def _model(draft: Draft) -> None:
    name = draft.deployment.model
    if not name:
        draft.lack("model", "the model's name" if not draft.deployment.hidden else "the model")
        return
    folder = _folder(name)
    if folder:
        try:
            draft.arch = released(folder)
        except InputError:
            draft.lack("model", f"what is in {name} (--model-config)")
            return
        draft.assumed.append(
            f"{name} is {draft.arch.id}, by its folder's name; --model-config reads its own config"
        )
    else:
        draft.arch = draft.attempt("model", lambda: released(name))
    if draft.arch is not None:
        _override(draft)


def _folder(name: str) -> str:
    """What a path that holds a model ends in, empty for a name of a repository.

    A hub's cache keeps a repository under ``models--org--name``.
    """
    path = name.rstrip("/")
    cached = next((p for p in path.split("/") if p.startswith("models--")), "")
    if cached.count("--") > 1:
        return "/".join(cached.split("--")[1:3])
    is_path = path.startswith(("/", "./", "../", "~")) or path.count("/") > 1 or "://" in path
    first = path.split("/")[0]
    is_path = is_path or first.isupper() or ("/" in path and first.casefold() in _FOLDERS)
    return path.rsplit("/", 1)[-1] if is_path else ""


def _override(draft: Draft) -> None:
    """What --hf-overrides changes of an architecture; anything but lengths leaves it unknown."""
    overrides = draft.settings.get("hf_overrides") or draft.settings.get("json_model_override_args")
    if not isinstance(overrides, dict) or draft.arch is None:
        return
    rest = set(overrides)
    longest = overrides.get("max_position_embeddings")
    if isinstance(longest, int) and longest > 0:
        draft.arch = replace(draft.arch, max_position_embeddings=longest)
        rest.discard("max_position_embeddings")
    rest -= {"rope_scaling", "rope_parameters", "rope_theta"}
    if rest:
        draft.arch = None
        draft.lack("model", f"what {', '.join(sorted(rest))} of the overridden config changes")


def _gpu(draft: Draft, given: str | Gpu | None) -> Gpu | None:
    if isinstance(given, Gpu):
        return given
    name = given or draft.deployment.gpu
    if name:
        return known_gpu(name)
    draft.lack("gpu", "the GPU (--gpu)")
    return None
