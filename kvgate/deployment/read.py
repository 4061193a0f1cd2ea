"""The one way in: text, or its parsed YAML, to deployments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from packaging.version import Version

from kvgate.catalog.engines import ENGINES
from kvgate.catalog.flags import flag_table
from kvgate.catalog.gpus import gpu as find_gpu
from kvgate.deployment.build import Tables, build
from kvgate.deployment.charts import (
    is_modelservice,
    is_production_stack,
    modelservice,
    production_stack,
    runtime,
)
from kvgate.deployment.compose import find_services, is_compose
from kvgate.deployment.configfile import ConfigFiles
from kvgate.deployment.container import Around, Container
from kvgate.deployment.dockerfile import is_dockerfile, read_dockerfile
from kvgate.deployment.lines import lines
from kvgate.deployment.model import Deployment
from kvgate.deployment.node import Node
from kvgate.deployment.pods import container_of, find_pods
from kvgate.deployment.resources import (
    dynamo_graph,
    inference_service,
    leader_worker_set,
    llm_inference_service,
    serving_runtime,
)
from kvgate.deployment.shell import Heredoc
from kvgate.deployment.skypilot import is_task, read_task
from kvgate.deployment.starts import Start, starts_of_container, starts_of_script
from kvgate.deployment.systemd import is_unit, read_unit
from kvgate.errors import InputError, Place, nearest

__all__ = ["deployments", "engine_option", "form_of"]

_SPELLINGS = {"trtllm": "tensorrt-llm", "trt-llm": "tensorrt-llm", "llamacpp": "llama.cpp"}
_SPELLINGS |= {"llama-cpp": "llama.cpp", "ollama": "llama.cpp"}
_KEY = re.compile(
    r"(?:- +)?(?:\"[^\"]*\"|'[^']*'|[A-Za-z_.$][\w./ $-]*):(?:\s|\Z)|-\s+\S|[{\[]\s*(?:\"|\Z)"
)
_YAML_NAMES = (".yaml", ".yml", ".json")
_RESOURCES: dict[str, Callable[[Node], Iterator[Container]]] = {
    "LeaderWorkerSet": leader_worker_set,
    "DynamoGraphDeployment": dynamo_graph,
    "ServingRuntime": serving_runtime,
    "ClusterServingRuntime": serving_runtime,
    "LLMInferenceService": llm_inference_service,
    "LLMInferenceServiceConfig": llm_inference_service,
    "VLLMRuntime": runtime,
}
_MOST = 500
_LONGEST = 2**20


def form_of(text: str, path: str = "") -> str:
    """What a text is: "yaml" (JSON too), "dockerfile", "unit" (systemd) or "command".

    The name decides where it tells, else the first line that is neither empty nor a comment.

    >>> form_of("vllm serve org/model")
    'command'
    >>> form_of("services:\\n  llm:\\n    image: x")
    'yaml'
    """
    name = path.rsplit("/", 1)[-1].casefold()
    if name.endswith(_YAML_NAMES):
        return "yaml"
    if name.endswith((".sh", ".bash", ".bat", ".cmd", ".ps1")):
        return "command"
    if name.startswith(("dockerfile", "containerfile")) or name.endswith(".dockerfile"):
        return "dockerfile"
    if is_dockerfile(text):
        return "dockerfile"
    if is_unit(text):
        return "unit"
    for line in lines(text[:200_000]):
        stripped = line.strip().lstrip("\ufeff")
        if not stripped or stripped.startswith(("#", "%YAML")) or stripped == "---":
            continue
        return "yaml" if _KEY.match(stripped) else "command"
    return "command"


def engine_option(spec: str) -> tuple[str, Version | None]:
    """An engine as a user names it: ``vllm==0.33.0``, ``llama.cpp==b9600``, or ``sglang`` alone.

    Raises InputError for an engine or a version that isn't one.
    """
    name, equals, version = spec.partition("==")
    name = name.strip().casefold()
    name = _SPELLINGS.get(name, name)
    if name not in ENGINES:
        raise InputError(f"unknown engine {name!r}", hint=nearest(name, ENGINES))
    text = version.strip().removeprefix("v")
    if not equals:
        return name, None
    if name == "llama.cpp":
        text = text.removeprefix("b")
    try:
        return name, Version(text)
    except ValueError:  # no version, or a number of more digits than Python reads
        raise InputError(f"{version.strip()!r} is not a version", hint=f"write {name}==…") from None


def deployments(
    text: str,
    *,
    path: str = "<command line>",
    documents: Sequence[Node] | None = None,
    engine: str | None = None,
    gpu: str | None = None,
    files: ConfigFiles | None = None,
    tables: Tables = flag_table,
) -> tuple[Deployment, ...]:
    """Every engine that a text starts, in order, with all that is found while reading it.

    ``text`` is a command line, a script, a Dockerfile or a systemd unit. YAML can't be read here:
    ``documents`` are its parsed documents (`kvgate.manifests` makes them), and ``text`` is then not
    looked at. ``engine`` and ``gpu`` are the release and the GPU the user named; they go before
    what the text says. ``files`` finds files that commands name.

    Raises InputError where the text cannot be read, starts no engine that kvgate knows, or the
    engine or GPU named is unknown.
    """
    named = engine_option(engine) if engine else None
    if documents is None and len(text) > _LONGEST:
        raise InputError("this is too long for a command or a script", place=Place(path))
    files = files or ConfigFiles()
    origin = Place(path)
    if documents is not None:
        inside = dict(_config_maps(documents))
        files = replace(files, inside={**inside, **files.inside})
        containers = list(_of_documents(documents))
        starts = _started(containers)
        origin = documents[0].place if documents else origin
    elif form_of(text, path) == "dockerfile":
        starts = _started(read_dockerfile(text, path))
    elif form_of(text, path) == "unit":
        starts = _started(read_unit(text, path))
    else:
        starts = list(starts_of_script(text, origin))
    if not starts:
        raise InputError(
            "this starts no engine that kvgate knows",
            hint="known: vllm serve, sglang serve, trtllm-serve, llama-server, ollama serve, "
            "their containers and manifests",
            place=origin,
        )
    if len(starts) > _MOST:
        raise InputError(f"this starts more than {_MOST} engines", place=origin)
    if gpu is not None:
        find_gpu(gpu)
        starts = [replace(s, around=replace(s.around, gpu=gpu, gpu_place=None)) for s in starts]
    return tuple(build(start, engine=named, files=files, tables=tables) for start in starts)


def _started(containers: Sequence[Container]) -> list[Start]:
    if len(containers) > 20_000:
        raise InputError("this has more containers than kvgate reads", place=containers[0].place)
    return [start for container in containers for start in starts_of_container(container)]


def _of_documents(documents: Sequence[Node]) -> Iterator[Container]:
    """The containers of all documents; a KServe service is put together with its runtime."""
    runtimes = {
        document.words("metadata", "name"): document
        for document in documents
        if document.words("kind") in ("ServingRuntime", "ClusterServingRuntime")
    }
    used = {d.words("spec", "predictor", "model", "runtime") for d in documents}
    for document in documents:
        kind, name = document.words("kind"), document.words("metadata", "name")
        if kind == "InferenceService":
            yield from inference_service(document, runtimes)
        elif not (document is runtimes.get(name) and name in used):
            yield from _containers(document, 0)


def _containers(document: Node, depth: int) -> Iterator[Container]:
    """The containers of one document, by the kind of manifest it is."""
    if document.is_list:
        for element in document.elements():
            if element.get("image") is not None and element.get("kind") is None:
                yield container_of(element, Around())
            elif depth < 5:
                yield from _containers(element, depth + 1)
        return
    if document.is_text and depth == 0:
        return
    kind = document.words("kind")
    if kind == "List" and (items := document.get("items")) is not None and depth < 5:
        yield from _containers(items, depth + 1)
    elif kind in _RESOURCES:
        yield from _RESOURCES[kind](document)
    elif is_compose(document):
        yield from find_services(document)
    elif is_production_stack(document):
        yield from production_stack(document)
    elif is_modelservice(document):
        yield from modelservice(document)
    elif is_task(document):
        yield from read_task(document)
    else:
        yield from find_pods(document, Around())


def _config_maps(documents: Sequence[Node]) -> Iterator[tuple[str, Heredoc]]:
    for document in documents:
        data = document.get("data") or document.get("configs")
        for key, value in data.entries() if data is not None else ():
            if value.is_text:
                yield key, Heredoc(value.text, value.place)
