"""Kubernetes pods, wherever in a document they stand: their containers, GPUs, names and roles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kvgate.deployment.container import Around, Container, memory_bytes, reference_word
from kvgate.deployment.node import Node
from kvgate.deployment.script import Word

__all__ = ["around_pod", "container_of", "environment_of", "find_pods", "gpu_count"]

_GPU_KEYS = (
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
    "eks.amazonaws.com/instance-gpu-name",
    "k8s.amazonaws.com/accelerator",
    "gpu.nvidia.com/model",
    "gpu.nvidia.com/class",
    "amd.com/gpu.product-name",
    "accelerator",
    "gpu",
)
# Labels of clusters that name a GPU as no driver does: Google's accelerators, CoreWeave's classes.
_GPU_LABELS = {
    "nvidia-tesla-a100": "A100 40GB",
    "nvidia-tesla-v100": "V100 16GB",
    "nvidia-h100-mega-80gb": "H100 SXM",
    "h100_nvlink_80gb": "H100 SXM",
    "a100_nvlink_80gb": "A100 80GB SXM",
}
_GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "gpu", "gpus")
_ROLE_LABELS = ("llm-d.ai/role", "role", "nvidia.com/dynamo-sub-component-type", "app")
_DEEPEST = 40


def find_pods(node: Node, around: Around, *, trail: tuple[str, ...] = ()) -> Iterator[Container]:
    """Every container below a node, with what the pod, its names and its selectors say of it.

    Nested deeper than 40 levels, nothing is looked for.
    """
    if len(trail) > _DEEPEST:
        return
    if node.is_map:
        here = _with_names(node, around)
        containers = node.get("containers")
        if containers is not None and containers.is_list:
            pod = around_pod(node, here)
            for element in containers.elements():
                yield container_of(element, pod)
        elif node.get("image") is not None and (node.get("args") or node.get("command")):
            yield container_of(node, around_pod(node, here))
            return
        for key, inside in node.entries():
            if key not in ("containers", "initContainers", "env", "args", "command", "data"):
                named = here.named(key) if key in ("prefill", "decode") else here
                yield from find_pods(inside, named, trail=(*trail, key))
    elif node.is_list:
        for element in node.elements():
            yield from find_pods(element, around, trail=(*trail, "[]"))


def container_of(node: Node, around: Around) -> Container:
    """One container of a pod's list."""
    env = environment_of(node.get("env"))
    name = node.words("name")
    image_node = node.get("image")
    image = _image(image_node)
    command = node.get("command")
    args = node.get("args")
    count = gpu_count(node.get("resources"))
    around = replace(
        around,
        image=image,
        image_place=image_node.place if image_node is not None else None,
        gpu_count=count if count is not None else around.gpu_count,
        host_memory_bytes=memory_bytes(node.words("resources", "limits", "memory"))
        or around.host_memory_bytes,
        name=name or around.name,
        container=True,
    ).named(*((name,) if name else ()))
    words = _words(command, env)
    return Container(node.place, image, words or None, _words(args, env), env, around)


def around_pod(node: Node, around: Around) -> Around:
    """What a pod's node selector or affinity says of its GPU."""
    for key, value in _selected(node):
        if key in _GPU_KEYS and value.is_text:
            name = _GPU_LABELS.get(value.text.casefold(), value.text)
            name = name.removesuffix("-SHARED").removesuffix("_OAM")
            return replace(around, gpu=name, gpu_place=value.place)
    return around


def environment_of(node: Node | None) -> dict[str, Word]:
    """``env`` as Kubernetes writes it (a list of name and value) or as a plain map.

    A value from a secret or a field is a word with something unresolved.
    """
    env: dict[str, Word] = {}
    if node is None:
        return env
    for element in node.elements():
        name, value = element.words("name"), element.get("value")
        if not name:
            continue
        if value is not None and not value.is_map and not value.is_list:
            word = reference_word(value, env)
        else:
            word = Word("", element.place, (f"the value of {name} from elsewhere",))
        env[name] = word
    for name, value in node.entries():
        if value.is_text:
            env[name] = Word(value.text, value.place)
    return env


def gpu_count(resources: Node | None) -> int | None:
    """GPUs of ``resources``: the limit, else the request; None where there is none.

    A MIG slice counts as one GPU here: how much of it there is, its name tells.
    """
    if resources is None:
        return None
    for part in ("limits", "requests"):
        for key, value in (resources.get(part) or Node({}, "", resources.place)).entries():
            is_gpu = key in _GPU_RESOURCES or key.startswith("nvidia.com/mig-")
            if is_gpu and value.is_text and value.text.isdecimal() and len(value.text) < 5:
                return int(value.text)
    return None


def _words(node: Node | None, env: Mapping[str, Word]) -> tuple[Word, ...]:
    if node is None:
        return ()
    if node.is_list:
        return tuple(reference_word(element, env) for element in node.elements())
    return (reference_word(node, env),) if node.is_text else ()


def _image(node: Node | None) -> str:
    """An image as one text, or as a chart's map of repository and tag."""
    if node is None:
        return ""
    if node.is_map:
        repository = node.words("repository") or node.words("name")
        registry, tag = node.words("registry"), node.words("tag")
        full = f"{registry}/{repository}" if registry and repository else repository
        return f"{full}:{tag}" if tag else full
    return node.text


def _with_names(node: Node, around: Around) -> Around:
    """Names and labels of an object, which may tell its role."""
    labels = [
        label.text
        for holder in ("labels", "matchLabels")
        for base in (node.get("metadata", holder), node.get(holder))
        for key, label in (base.entries() if base is not None else ())
        if key in _ROLE_LABELS and label.is_text
    ]
    name = node.words("metadata", "name")
    if name:
        around = replace(around, name=name)
    sub = node.words("subComponentType") or node.words("role")
    return around.named(*([sub] if sub else []), *labels, *([name] if name else []))


def _selected(node: Node) -> Iterator[tuple[str, Node]]:
    for holder in ("nodeSelector", "nodeSelectorTerms"):
        selector = node.get(holder)
        if selector is not None:
            yield from selector.entries()
    terms = node.get(
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    )
    for term in (*_elements(terms), *_elements(node.get("nodeSelectorTerms"))):
        yield from _expressions(term)


def _expressions(term: Node) -> Iterator[tuple[str, Node]]:
    for expression in _elements(term.get("matchExpressions")):
        values = list(_elements(expression.get("values")))
        operator = expression.words("operator")
        key = expression.words("key")
        if len(values) == 1 and operator == "In":
            yield key, values[0]


def _elements(node: Node | None) -> Iterator[Node]:
    if node is not None:
        yield from node.elements()
