"""Custom resources of Kubernetes: LeaderWorkerSet, Dynamo's graphs, KServe's services."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from kvgate.deployment.container import Around, Container
from kvgate.deployment.node import Node
from kvgate.deployment.pods import container_of, environment_of, find_pods, gpu_count
from kvgate.deployment.script import Word, read_script

__all__ = [
    "dynamo_graph",
    "inference_service",
    "leader_worker_set",
    "llm_inference_service",
    "serving_runtime",
]


def leader_worker_set(node: Node) -> Iterator[Container]:
    """The leader and the workers of a LeaderWorkerSet; ``size`` counts the hosts of a group."""
    template = node.get("spec", "leaderWorkerTemplate")
    if template is None:
        return
    size = template.words("size")
    nodes = int(size) if size.isdecimal() and len(size) < 5 else 1
    name = node.words("metadata", "name")
    around = Around(name=name, roles=(name,) if name else (), nodes=nodes)
    for part in ("leaderTemplate", "workerTemplate"):
        pod = template.get(part)
        if pod is not None:
            yield from find_pods(pod, around)


def dynamo_graph(node: Node) -> Iterator[Container]:
    """The workers of a DynamoGraphDeployment."""
    services = node.get("spec", "services")
    shared = environment_of(node.get("spec", "envs"))
    for name, service in services.entries() if services is not None else ():
        main = service.get("extraPodSpec", "mainContainer")
        if main is None:
            continue
        sub = service.words("subComponentType")
        hosts = service.words("multinode", "nodeCount")
        around = Around(
            gpu_count=gpu_count(service.get("resources")),
            nodes=int(hosts) if hosts.isdecimal() and len(hosts) < 5 else 1,
            name=name,
            roles=tuple(n for n in (sub, name) if n),
        )
        container = container_of(main, around)
        own = environment_of(service.get("envs"))
        env = {**shared, **own, **container.env}
        named = replace(container.around, name=name)
        yield replace(container, env=env, around=named)


def serving_runtime(node: Node) -> Iterator[Container]:
    """A KServe ServingRuntime or ClusterServingRuntime."""
    name = node.words("metadata", "name")
    yield from find_pods(node, Around(name=name, roles=(name,) if name else ()))


def inference_service(
    node: Node, runtimes: Mapping[str, Node] = MappingProxyType({})
) -> Iterator[Container]:
    """A KServe InferenceService.

    Its model runs in a runtime of the cluster. Where ``runtimes`` (by name) has it, the service's
    arguments are added to the runtime's; else only they are known, and the runtime is taken for
    KServe's own Hugging Face one (vLLM) unless its name says another engine.
    """
    name = node.words("metadata", "name")
    predictor = node.get("spec", "predictor")
    if predictor is None:
        return
    model = predictor.get("model")
    around = Around(
        name=name,
        roles=tuple(n for n in (name,) if n),
        model=_uri(predictor.get("model", "storageUri") or predictor.get("storageUri")),
    )
    if model is None or not model.is_map:
        yield from find_pods(predictor, around)
        return
    container = container_of(model, around)
    runtime_node = runtimes.get(model.words("runtime"))
    if runtime_node is not None:
        for base in serving_runtime(runtime_node):
            own = container.around
            merged = replace(
                base.around,
                gpu_count=own.gpu_count if own.gpu_count is not None else base.around.gpu_count,
                host_memory_bytes=own.host_memory_bytes or base.around.host_memory_bytes,
                name=name,
                roles=own.roles,
                model=own.model,
            )
            yield replace(
                base,
                args=(*base.args, *container.args),
                env={**base.env, **container.env},
                around=merged,
            )
        return
    if container.command is None and not container.image:
        runtime = (model.words("runtime") + model.words("modelFormat", "name")).casefold()
        first: tuple[str, ...] = ("python3", "-m", "huggingfaceserver")
        if "sglang" in runtime:
            first = ("sglang", "serve")
        elif "vllm" in runtime:
            first = ("vllm", "serve")
        elif "huggingface" not in runtime and not container.args:
            return
        words = tuple(Word(text, model.place) for text in first)
        container = replace(container, command=words)
    yield container


def llm_inference_service(node: Node) -> Iterator[Container]:
    """A KServe LLMInferenceService: its own template (decode, or both) and the prefill one.

    KServe's templates start ``vllm serve MODEL`` and append ``VLLM_ADDITIONAL_ARGS``
    (kserve/kserve config/llmisvcconfig at aaac4e294dae).
    """
    spec = node.get("spec")
    if spec is None:
        return
    uri = spec.get("model", "uri")
    name = spec.words("model", "name")
    model = _uri(uri) if uri is not None and uri.text.startswith("hf://") else name or _uri(uri)
    prefill = spec.get("prefill")
    service = node.words("metadata", "name")
    for part, role in ((spec, "decode" if prefill is not None else ""), (prefill, "prefill")):
        template = part.get("template") if part is not None else None
        if part is None or template is None:
            continue
        around = Around(name=service, roles=tuple(n for n in (role, service) if n), model=model)
        for container in find_pods(template, around):
            named = replace(container.around, roles=around.roles)
            if container.command is not None:
                yield replace(container, around=named)
                continue
            place = container.place
            words = [Word("vllm", place), Word("serve", place), Word(model, place)]
            words += _parallelism(part.get("parallelism") or spec.get("parallelism"))
            words += container.args
            words += _additional(container.env.get("VLLM_ADDITIONAL_ARGS"))
            yield replace(container, command=tuple(words), args=(), around=named)


def _parallelism(node: Node | None) -> Iterator[Word]:
    flags = {
        "tensor": "--tensor-parallel-size",
        "pipeline": "--pipeline-parallel-size",
        "data": "--data-parallel-size",
        "dataLocal": "--data-parallel-size-local",
    }
    if node is None:
        return
    for key, flag in flags.items():
        value = node.get(key)
        if value is not None and value.is_text:
            yield Word(flag, value.place)
            yield Word(value.text, value.place)
    if node.words("expert") == "true":
        yield Word("--enable-expert-parallel", node.place)


def _additional(word: Word | None) -> tuple[Word, ...]:
    if word is None or not word.text:
        return ()
    script = read_script(word.text, word.place, block=word.block, one=True)
    return tuple(w for command in script.commands for w in command.words)


def _uri(node: Node | None) -> str:
    """The model of a storage URI: the repository of ``hf://``, else the URI as it stands."""
    if node is None or not node.is_text:
        return ""
    return node.text.removeprefix("hf://").partition(":")[0] if "hf://" in node.text else node.text
