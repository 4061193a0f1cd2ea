"""From the start of an engine to the deployment: flags, version, model, GPU and role."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from packaging.version import Version

from kvgate.catalog.flags import FlagTable, flag_table
from kvgate.catalog.gpus import gpu as find_gpu
from kvgate.deployment.configfile import ConfigFiles, config_words
from kvgate.deployment.environment import from_environment, not_read
from kvgate.deployment.images import read_image
from kvgate.deployment.model import Deployment, EnvVar, Given
from kvgate.deployment.options import Options, read_options
from kvgate.deployment.problems import problem
from kvgate.deployment.role import role_of
from kvgate.deployment.script import Word
from kvgate.deployment.starts import Start
from kvgate.errors import Diagnostic, InputError

__all__ = ["Tables", "build"]

Tables = Callable[[str, Version | None], FlagTable]
_MODEL_DESTS = ("model", "model_path", "model_tag", "hf_repo", "model_url", "model_id")
_WRAPPED = {"dynamo.vllm", "dynamo.sglang", "dynamo.trtllm", "huggingfaceserver"}
_WRAPPED |= {"sglang_router.launch_server"}
_POSITIONAL_MODEL = {"vllm serve", "sglang serve", "trtllm-serve"}
_CONFIG_FLAG = {"vllm": "--config", "sglang": "--config"}


def build(
    start: Start,
    *,
    engine: tuple[str, Version | None] | None = None,
    files: ConfigFiles | None = None,
    tables: Tables = flag_table,
) -> Deployment:
    """The deployment that an engine start asks for.

    ``engine`` is the release the user named, which goes before the image's tag; ``files`` finds the
    files that the command names; ``tables`` the flags of a release.
    """
    return _Builder(start, engine, files or ConfigFiles(), tables).build()


@dataclass(slots=True)
class _Builder:
    start: Start
    engine: tuple[str, Version | None] | None
    files: ConfigFiles
    tables: Tables
    problems: list[Diagnostic] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def build(self) -> Deployment:
        start = self.start
        self.problems.extend(start.problems)
        version, source = self._version()
        tables = self._tables(version)
        config_given = self._config(tables)
        options = read_options(start.args, tables)
        self.problems += [*config_given.problems, *options.problems]
        self.hidden += [*config_given.hidden, *options.hidden]
        given = [*config_given.given, *options.given]
        model = self._model(options.positionals, given, tables[0])
        given = [*from_environment(start, tables[0], given), *given]
        flags: dict[str, Any] = {}
        for one in given:
            if one.unresolved:
                flags.pop(one.dest, None)
            elif one.dest:
                flags[one.dest] = one.value
        self.problems += not_read(start, tables[0], flags)
        around = start.around
        gpu = self._gpu()
        return Deployment(
            engine=start.engine,
            launcher=start.launcher,
            version=version,
            version_source=source,
            model=model,
            role=role_of(flags, start.env, around.roles),
            place=start.place,
            name=around.name,
            image=around.image,
            gpu=gpu,
            gpu_text=around.gpu,
            gpu_count=around.gpu_count if around.gpu_count is not None else self._visible(),
            nodes=around.nodes,
            host_memory_bytes=around.host_memory_bytes,
            flags=MappingProxyType(flags),
            given=tuple(given),
            config=MappingProxyType(self._extra_options(flags, given)),
            env=_environment(start.env),
            hidden=tuple(dict.fromkeys(self.hidden)),
            problems=tuple(dict.fromkeys(self.problems)),
        )

    # -- the engine's release

    def _version(self) -> tuple[Version | None, str]:
        start, around = self.start, self.start.around
        image = read_image(around.image) if around.image else None
        tag = image.version if image is not None and image.engine == start.engine else None
        if self.engine is not None and self.engine[0] == start.engine:
            if self.engine[1] is not None:
                return self.engine[1], "engine option"
        elif self.engine is not None:
            self._problem(
                "KV407",
                f"the engine named is {self.engine[0]}, but this starts {start.engine}",
                "its version does not count here",
            )
        if tag is not None:
            return tag, "image tag"
        if image is not None and image.why_not:
            place = around.image_place or start.place
            hint = f"name the release: --engine {start.engine}==…"
            self.problems.append(problem("KV407", place, image.why_not, hint))
        return None, ""

    def _tables(self, version: Version | None) -> tuple[FlagTable, ...]:
        table = self.tables(self.start.engine, version)
        if self.start.launcher not in _WRAPPED:
            if table.note and version is not None:
                self._problem("KV417", table.note, "what changed in between isn't seen")
            return (table,)
        # The program in front takes flags of its own, not all of which kvgate knows.
        own = self.tables("dynamo", None) if self.start.launcher.startswith("dynamo") else None
        table = replace(table, complete=False)
        return (table,) if own is None else (table, own)

    # -- files

    def _config(self, tables: Sequence[FlagTable]) -> Options:
        """What ``--config FILE`` holds: flags in front of the command's own, which so win."""
        start, flag = self.start, _CONFIG_FLAG.get(self.start.engine)
        nothing = Options((), (), (), ())
        for index, word in enumerate(start.args):
            if flag is not None and word.text.startswith(flag + "="):
                self._file_problem(
                    word,
                    f"{start.engine} reads {flag} FILE; the file of {word.text} is not read",
                    f"write {flag} {word.text.partition('=')[2]}",
                )
            if flag is None or word.text != flag or index + 1 >= len(start.args):
                continue
            name = start.args[index + 1]
            content = None if name.unresolved else self.files.find(name.text, start.files)
            if content is None:
                self.hidden.append(f"{flag} {name.text}")
                self._file_problem(
                    name,
                    f"kvgate was not given {name.text}, and what it sets stays unknown",
                    "put the file beside the input",
                )
                return nothing
            words = config_words(content, tables[0])
            return read_options(words, tables, origin="config file")
        return nothing

    def _extra_options(self, flags: Mapping[str, Any], given: Sequence[Given]) -> dict[str, Any]:
        """TensorRT-LLM's file of options, which goes before its command line."""
        dest = next((d for d in ("extra_llm_api_options", "extra_engine_args") if d in flags), "")
        if self.start.engine != "tensorrt-llm" or not dest:
            return {}
        last = next(g for g in reversed(given) if g.dest == dest)
        content = self.files.find(last.text, self.start.files)
        if content is None or not content.is_map:
            self.hidden.append(f"{last.written} {last.text}")
            self._file_problem(
                Word(last.text, last.place),
                f"kvgate was not given {last.text}, and what it sets stays unknown",
                "put the file beside the input",
            )
            return {}
        plain = content.plain()
        return dict(plain)

    def _file_problem(self, word: Word, message: str, hint: str) -> None:
        self.problems.append(problem("KV413", word.place, message, hint))

    # -- the model

    def _model(self, positionals: Sequence[Word], given: list[Given], table: FlagTable) -> str:
        """The model, from the positional word, the flags, or the manifest around the command."""
        words = list(positionals)
        named = next((g for g in reversed(given) if g.dest in _MODEL_DESTS and g.dest), None)
        model = ""
        if words and self.start.launcher in _POSITIONAL_MODEL:
            first = words.pop(0)
            if first.unresolved:
                self.problems.append(
                    problem(
                        "KV406",
                        first.place,
                        f"the model was not expanded: {', '.join(first.unresolved)[:120]}",
                        "write its name, or set the variable in the same text",
                    )
                )
            else:
                model = first.text
                # vLLM moves --model in front and its positional word then wins or is refused.
                dest = "model_path" if self.start.engine == "sglang" else "model"
                given.append(Given("MODEL", dest, model, model, first.place, "command line"))
        elif named is not None and not named.unresolved:
            model = named.text
        for word in words:
            if word.unresolved:
                self.hidden.append(word.text)
                what = f"{word.text} was not expanded: any flag may stand behind it"
                hint = "write what it holds, or set it in the same text"
                self.problems.append(problem("KV406", word.place, what, hint))
                continue
            self.problems.append(
                problem("KV416", word.place, f"{word.text!r} belongs to no flag", _stray_hint(word))
            )
        around = self.start.around.model
        if around and (not model or model.startswith("/")):
            return around
        return model

    # -- the hardware

    def _gpu(self) -> str:
        text = self.start.around.gpu
        if not text:
            return ""
        try:
            return find_gpu(text).name
        except InputError as error:
            place = self.start.around.gpu_place or self.start.place
            self.problems.append(problem("KV414", place, error.message, error.hint))
            return ""

    def _visible(self) -> int | None:
        for name in ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
            word = self.start.env.get(name)
            if word is None or word.unresolved or word.text in ("all", "none", "void", ""):
                continue
            devices = [d for d in word.text.split(",") if d.strip()]
            if all(d.strip().replace("-", "").isalnum() for d in devices):
                return len(devices)
        return None

    def _problem(self, code: str, message: str, hint: str = "") -> None:
        self.problems.append(problem(code, self.start.place, message, hint))


def _environment(env: Mapping[str, Word]) -> Mapping[str, EnvVar]:
    return MappingProxyType(
        {
            name: EnvVar(name, None if word.unresolved else word.text, word.place)
            for name, word in env.items()
        }
    )


def _stray_hint(word: Word) -> str:
    if word.text.startswith("--") and " " in word.text:
        return "one word holds a flag and its value: make two list items of it, or write ="
    if word.text.startswith(("—", "–", "−")):
        return "this dash is a typographic one; write --"
    return "take it away, or give it the flag it belongs to"
