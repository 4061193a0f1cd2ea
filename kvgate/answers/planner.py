"""A plan as the planner page shows it: what check says, both KV answers, and a chart."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from kvgate.answers.checking import Checked, checked
from kvgate.answers.form import Form, architecture, ranks, share
from kvgate.architecture.released import model as released
from kvgate.deployment import Deployment, deployments, form_of
from kvgate.kvcache.size import Sizing, size
from kvgate.rules import Case
from kvgate.units import parse_count

__all__ = ["Planned", "Read", "planned", "read_line"]

Read = Callable[[str, str | None], tuple[Deployment, ...]]
"""Makes deployments of a pasted text and the engine that was named."""

_FILES = {"yaml": "deployment.yaml", "dockerfile": "Dockerfile", "unit": "engine.service"}


def read_line(text: str, engine: str | None = None) -> tuple[Deployment, ...]:
    """Those of a text that needs no YAML to be read."""
    return deployments(text, engine=engine)


@dataclass(frozen=True, slots=True)
class Planned:
    """The answer to a form.

    ``line`` is the command line that was asked about, or the manifest; ``file`` is what a manifest
    is called in ``commands``, empty for a command line. ``commands`` are those of kvgate that give
    the same answer in a terminal. ``sizings`` belong to ``checks``, one each, None where nothing
    could be sized.
    """

    line: str
    commands: tuple[str, ...]
    checks: tuple[Checked, ...]
    sizings: tuple[Sizing | None, ...]
    file: str = ""

    @property
    def engine(self) -> str:
        """The engine that the line starts, the first where it starts several."""
        return self.checks[0].plan.engine


def planned(form: Form, cases: tuple[Case, ...], read: Read = read_line) -> Planned:
    """What comes of a form, with the rules of these records.

    ``read`` makes deployments of a pasted text. Raises InputError for a model, GPU, engine or field
    that can't be used, and for a text that starts no engine.
    """
    line = form.command()
    arch = architecture(form.config)
    if arch is None and not form.line:
        arch = released(form.model)
    spec = _spec(form, line, read)
    checks = tuple(checked(read(line, spec), cases, gpu=form.gpu or None, model=arch))
    sizings = [one.plan.sizing for one in checks]
    file = _FILES.get(form_of(line), "") if form.line else ""
    commands = [_command("check", file or line, form, spec, model=bool(form.config))]
    if not form.line and form.engine not in ("vllm", "sglang"):
        # For these two, check knows what the model needs and size what the engine reserves.
        sizings[0] = _size(form)
        commands.append(_size_command(form))
    return Planned(line, tuple(commands), checks, tuple(sizings), file)


def _spec(form: Form, line: str, read: Read) -> str | None:
    """The engine to answer for: a pasted line may start another one than the form names."""
    if not form.line:
        return form.spec
    if not form.version:
        return None
    started = read(line, None)[0].engine
    return form.spec if started == form.engine else None


def _size(form: Form) -> Sizing:
    options: dict[str, object] = {}
    if form.engine == "llama.cpp" and form.kv not in ("", "auto"):
        from kvgate.kvcache.llamacpp import LlamaOptions

        options["options"] = LlamaOptions(cache_type_k=form.kv, cache_type_v=form.kv)
    elif form.engine == "tensorrt-llm" and form.util:
        from kvgate.kvcache.trtllm import TrtllmOptions

        options["options"] = TrtllmOptions(free_gpu_memory_fraction=share(form.util))
    if form.engine == "tensorrt-llm":
        options["kv_cache_dtype"] = form.kv or "auto"
    return size(
        architecture(form.config) or form.model, gpu=form.gpu or None, engine=form.spec,
        tp=ranks(form.tp), pp=ranks(form.pp),
        max_model_len=parse_count(form.context) if form.context else None,
        **options,  # type: ignore[arg-type]
    )  # fmt: skip


def _command(verb: str, subject: str, form: Form, spec: str | None, *, model: bool) -> str:
    words = ["kvgate", verb, _quoted(subject)]
    if form.gpu:
        words += ["--gpu", shlex.quote(form.gpu)]
    if spec:
        words += ["--engine", spec]
    if model:
        words += ["--model-config", "config.json"]
    return " ".join(words)


def _size_command(form: Form) -> str:
    subject = "config.json" if form.config else form.model
    words = [_command("size", subject, form, form.spec, model=False)]
    if ranks(form.tp) > 1:
        words.append(f"--tp {form.tp}")
    if ranks(form.pp) > 1:
        words.append(f"--pp {form.pp}")
    if form.context:
        words.append(f"--max-model-len {parse_count(form.context)}")
    if form.kv and form.kv != "auto":
        if form.engine == "llama.cpp":
            words.append(f"--cache-type-k {form.kv} --cache-type-v {form.kv}")
        else:
            words.append(f"--kv-cache-dtype {form.kv}")
    if form.util:
        words.append(f"--free-gpu-memory-fraction {share(form.util)}")
    return " ".join(words)


def _quoted(text: str) -> str:
    plain = not any(character in text for character in '"$`\\!')
    return f'"{text}"' if plain and " " in text else shlex.quote(text)
