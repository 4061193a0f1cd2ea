"""Manifests that name an engine's settings by keys of their own: charts and custom resources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kvgate.deployment.container import Around, Container
from kvgate.deployment.node import Node
from kvgate.deployment.pods import around_pod, container_of, environment_of, gpu_count
from kvgate.deployment.script import Word

__all__ = ["is_modelservice", "is_production_stack", "modelservice", "production_stack", "runtime"]

# vLLM production-stack, helm/templates/deployment-vllm-multi.yaml at a6c01db05f65 (2026-08-05).
_STACK_FLAGS = {
    "maxModelLen": "--max-model-len",
    "dtype": "--dtype",
    "tensorParallelSize": "--tensor-parallel-size",
    "maxNumSeqs": "--max-num-seqs",
    "gpuMemoryUtilization": "--gpu-memory-utilization",
    "maxLoras": "--max-loras",
    "runner": "--runner",
    "convert": "--convert",
}
_TRANSFER = '{{"kv_connector":"LMCacheConnectorV1","kv_role":"{role}"}}'


def is_production_stack(node: Node) -> bool:
    """Whether these are values of vLLM's production-stack chart."""
    return node.get("servingEngineSpec", "modelSpec") is not None


def production_stack(node: Node) -> Iterator[Container]:
    """The engines of production-stack values, with the flags that the chart itself adds.

    The chart turns prefix caching off where ``enablePrefixCaching`` isn't true.
    """
    spec = node.get("servingEngineSpec")
    models = node.get("servingEngineSpec", "modelSpec")
    if spec is None or models is None:
        return
    for model in models.elements() if models.is_list else (models,):
        env = {**environment_of(spec.get("env")), **environment_of(model.get("env"))}
        repository, tag = model.get("repository"), model.words("tag")
        image = (repository.text if repository is not None else "") + (f":{tag}" if tag else "")
        requested = model.words("requestGPU")
        around = Around(
            image=image,
            image_place=(model.get("tag") or repository or model).place,
            gpu_count=gpu_count(model.get("resources"))
            or (int(requested) if requested.isdecimal() and len(requested) < 5 else None),
            name=model.words("name"),
            roles=tuple(
                n for n in (model.words("lmcacheConfig", "kvRole"), model.words("name")) if n
            ),
            container=True,
        )
        around = around_pod(model, around_pod(spec, around))
        words = (Word("vllm", model.place), Word("serve", model.place), *_stack_words(model))
        yield Container(model.place, image, words, (), env, around)


def _stack_words(model: Node) -> Iterator[Word]:
    url = model.get("modelURL")
    if url is not None:
        yield Word(url.text, url.place)
    config = model.get("vllmConfig")
    if config is not None:
        chunked = config.get("enableChunkedPrefill")
        if chunked is not None:
            no = "" if chunked.value is True else "no-"
            yield Word(f"--{no}enable-chunked-prefill", chunked.place)
        caching = config.get("enablePrefixCaching")
        on = caching is not None and caching.value is True
        place = caching.place if caching is not None else config.place
        yield Word(f"--{'' if on else 'no-'}enable-prefix-caching", place)
        for key, flag in _STACK_FLAGS.items():
            value = config.get(key)
            if value is not None and value.is_text:
                yield Word(flag, value.place)
                yield Word(value.text, value.place)
        extra = config.get("extraArgs")
        for element in extra.elements() if extra is not None else ():
            yield Word(element.text, element.place)
    cache = model.get("lmcacheConfig")
    if cache is not None and cache.get("enabled") is not None and cache.words("enabled") == "true":
        role = cache.words("kvRole") or "kv_both"
        yield Word("--kv-transfer-config", cache.place)
        yield Word(_TRANSFER.format(role=role), cache.place)


def runtime(node: Node) -> Iterator[Container]:
    """A VLLMRuntime of production-stack's operator (operator/config/samples, same commit)."""
    spec = node.get("spec")
    if spec is None:
        return
    image = spec.get("deploymentConfig", "image")
    name = image.words("name") if image is not None else ""
    gpus = spec.words("deploymentConfig", "resources", "gpu")
    around = Around(
        image=name,
        image_place=image.place if image is not None else None,
        gpu_count=int(gpus) if gpus.isdecimal() and len(gpus) < 5 else None,
        name=node.words("metadata", "name"),
        roles=(node.words("metadata", "name"),),
        container=True,
    )
    words = [Word("vllm", spec.place), Word("serve", spec.place)]
    model = spec.get("model", "modelURL")
    if model is not None:
        words.append(Word(model.text, model.place))
    for part in ("model", "vllmConfig"):
        config = spec.get(part)
        for key, flag in _STACK_FLAGS.items():
            value = config.get(key) if config is not None else None
            if value is not None and value.is_text:
                words += [Word(flag, value.place), Word(value.text, value.place)]
        for key, flag in (
            ("enableChunkedPrefill", "enable-chunked-prefill"),
            ("enablePrefixCaching", "enable-prefix-caching"),
        ):
            value = config.get(key) if config is not None else None
            if value is not None:
                words.append(Word(f"--{'' if value.value is True else 'no-'}{flag}", value.place))
        extra = config.get("extraArgs") if config is not None else None
        words += [Word(e.text, e.place) for e in (extra.elements() if extra is not None else ())]
    env = environment_of(spec.get("vllmConfig", "env"))
    yield Container(spec.place, name, tuple(words), (), env, around)


def is_modelservice(node: Node) -> bool:
    """Whether these are values of llm-d's modelservice chart."""
    return node.get("modelArtifacts") is not None and any(
        node.get(part, "containers") is not None for part in ("decode", "prefill")
    )


def modelservice(node: Node) -> Iterator[Container]:
    """The decode and prefill engines of llm-d's modelservice values.

    ``modelCommand: vllmServe`` puts ``vllm serve MODEL``, ``imageDefault`` puts ``--model MODEL``
    in front of the arguments; ``parallelism`` adds sizes
    (llm-d-incubation/llm-d-modelservice charts/…/templates/_helpers.tpl).
    """
    model = _artifact(node)
    for role in ("decode", "prefill"):
        part = node.get(role)
        if part is None or part.words("create") == "false" or part.words("replicas") == "0":
            continue
        around = around_pod(part, Around(roles=(role,), container=True))
        containers = part.get("containers")
        for element in containers.elements() if containers is not None else ():
            container = container_of(element, around)
            # The container is called vllm on both sides: the key it stands under tells the role.
            container = replace(container, around=replace(container.around, roles=(role,)))
            command = element.words("modelCommand") or "imageDefault"
            sizes = tuple(_parallelism(part))
            if command == "vllmServe":
                front = (Word("vllm", element.place), Word("serve", element.place), model, *sizes)
                container = replace(container, command=front)
            elif command == "imageDefault":
                front = (Word("--model", element.place), model, *sizes)
                container = replace(container, command=None, args=(*front, *container.args))
            yield container


def _parallelism(part: Node) -> Iterator[Word]:
    for key, flag in (
        ("tensor", "--tensor-parallel-size"),
        ("data", "--data-parallel-size"),
        ("dataLocal", "--data-parallel-size-local"),
    ):
        value = part.get("parallelism", key)
        if value is not None and value.is_text and value.text not in ("0", "1"):
            yield Word(flag, value.place)
            yield Word(value.text, value.place)


def _artifact(node: Node) -> Word:
    name = node.words("modelArtifacts", "name")
    uri = node.get("modelArtifacts", "uri")
    if uri is None or not uri.is_text:
        return Word(name, node.place)
    text = uri.text.replace('"', "")
    scheme, _, rest = text.partition("://")
    if "{{" in rest or not rest:
        return Word(name, uri.place)
    if scheme == "pvc":
        folder = node.words("modelArtifacts", "mountPath") or "/model-cache"
        return Word(f"{folder}/{rest.partition('/')[2]}", uri.place)
    if scheme == "pvc+hf":
        return Word("/".join(rest.split("/")[-2:]), uri.place)
    return Word(rest, uri.place)
