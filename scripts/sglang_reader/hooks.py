"""What a release's own model hooks choose, by architecture and SM, read from their branches.

Each hook is walked, not run: a condition on the platform, the architecture or on which backends the
user set has a known truth; every other condition (an option, an environment variable, another
vendor) is read as not taken, since the answer is wanted for a plain start.
"""

from __future__ import annotations

import ast
from typing import Any

from scripts.sglang_reader.source import MAJORS, boolean, constant, name_of

__all__ = ["SMS", "hook", "registered"]

SMS = ((7, 5), (8, 0), (9, 0), (10, 0), (11, 0), (12, 0))
_FIELDS = {
    "attention_backend",
    "prefill_attention_backend",
    "decode_attention_backend",
    "page_size",
    "disable_hybrid_swa_memory",
    "disable_radix_cache",
    "dtype",
}
_ARCHITECTURE = ("model_arch", "hf_config.architectures[0]", "architecture", "arch")


def registered(module: ast.Module) -> list[tuple[tuple[str, ...], ast.FunctionDef]]:
    """Functions registered for architectures by a decorator, with the architectures' names."""
    found = []
    for node in module.body:
        if isinstance(node, ast.FunctionDef):
            names: list[str] = []
            for decorator in node.decorator_list:
                if not isinstance(decorator, ast.Call):
                    continue
                called = name_of(decorator.func)
                if called in ("_register_for", "register_model_override"):
                    said = [a.value for a in decorator.args if isinstance(a, ast.Constant)]
                    names += [name for name in said if isinstance(name, str)]
                elif called == "register_model_override_predicate":
                    names += [
                        c.value
                        for c in ast.walk(decorator)
                        if isinstance(c, ast.Constant) and isinstance(c.value, str)
                    ]
            if names:
                found.append((tuple(names), node))
    return found


def hook(
    function: ast.FunctionDef,
    architecture: str,
    sm: tuple[int, int],
    was_set: str,
    names: dict[str, Any],
    helpers: dict[str, ast.FunctionDef],
) -> dict[str, Any]:
    """The settings a hook makes for one architecture on one SM.

    ``was_set`` says what the user gave: ``nothing``, ``split`` (one of the two split backends) or
    ``base`` (``--attention-backend``). ``helpers`` are functions that a hook may call by name.
    """
    reader = _Reader(architecture, sm, was_set, names, helpers)
    reader.block(function.body)
    return reader.found


class _Reader:
    def __init__(
        self,
        architecture: str,
        sm: tuple[int, int],
        was_set: str,
        names: dict[str, Any],
        helpers: dict[str, ast.FunctionDef],
    ) -> None:
        self.architecture = architecture
        self.helpers = helpers
        self.names = dict(names)
        self.found: dict[str, Any] = {}
        self.done = False
        self.known = _truths(sm, was_set)

    def block(self, body: list[ast.stmt]) -> None:
        for node in body:
            if self.done:
                return
            match node:
                case ast.If(test=test, body=then, orelse=other):
                    self.block(then if self.true(test) else other)
                case ast.Return(value=value):
                    if isinstance(value, ast.Dict):
                        self.mapping(value)
                    self.done = True
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self.assign(target, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self.assign(target, value)
                case ast.Expr(value=ast.Call() as call):
                    self.call(call)
                case _:
                    pass

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, other in zip(target.elts, value.elts, strict=True):
                self.assign(one, other)
            return
        if isinstance(value, ast.Dict):
            self.mapping(value)
            return
        literal = self.value(value)
        if isinstance(target, ast.Name) and (told := boolean(value, self.known)) is not None:
            self.known[target.id] = told
        elif isinstance(target, ast.Name) and isinstance(value, (ast.Compare, ast.BoolOp)):
            self.known[target.id] = False  # a condition that can't be told, kept under a name
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            self.set(str(target.slice.value), literal)
        elif isinstance(target, ast.Attribute):
            self.set(target.attr, literal)
        elif isinstance(target, ast.Name) and literal is not None:
            self.names[target.id] = literal

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.IfExp):
            return self.value(node.body if self.true(node.test) else node.orelse)
        return constant(node, self.names)

    def mapping(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                self.set(str(key.value), self.value(value))

    def call(self, call: ast.Call) -> None:
        keywords = {k.arg: self.value(k.value) for k in call.keywords if k.arg}
        if name_of(call.func) == "_handle_mamba_radix_cache":
            self.found["mamba"] = {k: v for k, v in sorted(keywords.items()) if v is not None}
        elif name_of(call.func) in self.helpers:
            self.block(self.helpers[name_of(call.func)].body)

    def set(self, name: str, value: Any) -> None:
        if name in _FIELDS and value is not None:
            self.found[name] = value

    def true(self, test: ast.expr) -> bool:
        known = self.known | _membership(test, self.architecture, self.names)
        return boolean(test, known) is True


def _truths(sm: tuple[int, int], was_set: str) -> dict[str, bool]:
    known = {}
    for name, majors in MAJORS.items():
        known[f"get_platform().{name}"] = known[f"{name}()"] = sm[0] in majors
    number = sm[0] * 10 + sm[1]
    for name in ("is_cuda", "has_flashinfer"):
        known[f"get_platform().{name}"] = known[f"{name}()"] = True
    for name in ("is_npu", "is_xpu", "is_hip", "is_musa", "is_mps", "is_cpu"):
        known[f"get_platform().{name}"] = known[f"{name}()"] = False
    for of in ("get_platform().device_sm >= 80", "get_device_sm() >= 80"):
        known[of] = number >= 80
    known["get_platform().device_sm in (100, 103)"] = number in (100, 103)
    unset = {"nothing": (True, True), "split": (True, False), "base": (False, True)}[was_set]
    for of in ("cfg", "self", "server_args", "resolving_view(server_args)"):
        known[f"{of}.attention_backend is None"] = unset[0]
        known[f"{of}.attention_backend is not None"] = not unset[0]
        for split in ("prefill", "decode"):
            known[f"{of}.{split}_attention_backend is None"] = unset[1]
        known[f"{of}.device == 'cpu'"] = False
        known[f"{of}.device != 'cpu'"] = True
        known[f"{of}.page_size is None"] = True
        known[f"{of}.speculative_algorithm is not None"] = False
        known[f"{of}.speculative_algorithm != 'DSPARK'"] = True
        known[f"is_attention_backend_not_set({of})"] = all(unset)
        known[f"{of}.is_attention_backend_not_set()"] = all(unset)
    # A hook that asks for a sliding pattern or mamba layers is asked about a model that has them.
    known["hf_config.sliding_window_pattern is not None"] = True
    known["has_mamba"] = True
    known["has_sparse_attention"] = True
    return known


def _membership(test: ast.expr, architecture: str, names: dict[str, Any]) -> dict[str, bool]:
    found = {}
    for node in ast.walk(test):
        if not (isinstance(node, ast.Compare) and len(node.ops) == 1):
            continue
        left, right = node.left, node.comparators[0]
        of, against = ast.unparse(left), constant(right, names)
        if of in _ARCHITECTURE and against is not None:
            match node.ops[0]:
                case ast.In():
                    found[ast.unparse(node)] = architecture in against
                case ast.NotIn():
                    found[ast.unparse(node)] = architecture not in against
                case ast.Eq():
                    found[ast.unparse(node)] = architecture == against
                case ast.NotEq():
                    found[ast.unparse(node)] = architecture != against
                case _:
                    pass
        elif isinstance(left, ast.Constant) and ast.unparse(right) in _ARCHITECTURE:
            found[ast.unparse(node)] = str(left.value) in architecture
    return found
