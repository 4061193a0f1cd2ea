"""The command line options of an SGLang release, read from its annotations and parser calls."""

from __future__ import annotations

import ast
from typing import Any

from scripts.sglang_reader.source import constant, name_of

__all__ = ["options"]

_SCALARS = ("str", "int", "float")


def options(modules: list[ast.Module], names: dict[str, Any]) -> list[dict[str, Any]]:
    """Every option: spellings, destination, choices, default, type, nargs, action, namespace.

    Keys whose value is null or false are left out. ``modules`` are the files that declare fields
    and the one that adds arguments by hand.
    """
    fields: dict[str, Any] = {}
    found: list[dict[str, Any]] = [{"flags": ["-h", "--help"], "dest": "help", "action": "help"}]
    for module in modules:
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                found += _of_class(node, names, fields)
    for module in modules:
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef) and node.name == "add_cli_args":
                local = dict(names)
                found += [o for c in _calls(node, local) if (o := _added(c, local, fields))]
    seen: dict[str, dict[str, Any]] = {}
    for option in found:
        worth = {
            k: v for k, v in option.items() if v is not None and (v is not False or k == "default")
        }
        seen.setdefault(option["flags"][0], worth)
    for dest, namespace in _namespaces(modules, names).items():
        for option in seen.values():
            if option["dest"] == dest:
                option.setdefault("namespace", namespace)
    return list(seen.values())


def _namespaces(modules: list[ast.Module], names: dict[str, Any]) -> dict[str, Any]:
    """Field -> namespace, for the options that are added by hand beside their field."""
    found: dict[str, Any] = {}
    for module in modules:
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                path = next(
                    (constant(i.value, names) for i in node.body
                     if isinstance(i, ast.Assign) and name_of(i.targets[0]) == "_NS_PATH"), None,
                )  # fmt: skip
                if path:
                    found |= {
                        i.target.id: path for i in node.body
                        if isinstance(i, ast.AnnAssign) and isinstance(i.target, ast.Name)
                    }  # fmt: skip
    return found


def _of_class(
    node: ast.ClassDef, names: dict[str, Any], fields: dict[str, Any]
) -> list[dict[str, Any]]:
    namespace = None
    found = []
    for item in node.body:
        if isinstance(item, ast.Assign) and name_of(item.targets[0]) == "_NS_PATH":
            namespace = constant(item.value, names)
        if not (isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)):
            continue
        name = item.target.id
        default = _default(item.value, names)
        fields[name] = default
        if option := _annotated(name, item, default, names):
            own = _marked(item.annotation, names) if namespace is None else namespace
            found.append({**option, "namespace": own})
    return found


def _marked(annotation: ast.expr, names: dict[str, Any]) -> Any:
    for node in ast.walk(annotation):
        if isinstance(node, ast.Call) and name_of(node.func) == "NS" and node.args:
            return constant(node.args[0], names)
    return None


def _default(value: ast.expr | None, names: dict[str, Any]) -> Any:
    if value is None:
        return None
    if isinstance(value, ast.Call):
        factory = next((k.value for k in value.keywords if k.arg == "default_factory"), None)
        return [] if factory is not None and name_of(factory) == "list" else None
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        left, right = _default(value.left, names), _default(value.right, names)
        return left * right
    try:
        return ast.literal_eval(value)
    except ValueError:
        return constant(value, names)


def _annotated(
    name: str, item: ast.AnnAssign, default: Any, names: dict[str, Any]
) -> dict[str, Any] | None:
    annotation = item.annotation
    if not (
        isinstance(annotation, ast.Subscript) and name_of(annotation.value) in ("A", "Annotated")
    ):
        return None
    parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else []
    meta: dict[str, ast.expr] | None = None
    for part in parts[1:]:
        if isinstance(part, ast.Call) and name_of(part.func) == "Arg":
            meta = {k.arg: k.value for k in part.keywords if k.arg}
        elif meta is None and not (isinstance(part, ast.Call) and name_of(part.func) == "NS"):
            meta = {}
    if meta is None or ((w := meta.get("no_cli")) is not None and constant(w, names)):
        return None
    told = {key: constant(value, names) for key, value in meta.items()}
    inner, many, literal = _type(parts[0])
    action = name_of(meta["action"]) if "action" in meta else None
    spelled = told.get("cli_name") or "--" + name.replace("_", "-")
    parser = name_of(meta["type_parser"]) if "type_parser" in meta else None
    help_text = str(told.get("help") or "")
    option: dict[str, Any] = {
        "flags": [spelled, *(told.get("aliases") or [])],
        "dest": name,
        "choices": _listed(told.get("choices")) or literal,
        "default": default,
        "deprecated": help_text.lower()
        .lstrip("[( ")
        .startswith(("deprecated", "note: deprecated")),
    }
    if action:
        if action == "BooleanOptionalAction":
            option["flags"] += [f"--no-{f[2:]}" for f in option["flags"]]
        return option | {"action": action}
    if inner == "bool" and not parser and "nargs" not in meta and literal is None:
        return option | {"action": "store_true"}
    required = told.get("required") is True or (item.value is None and told.get("required") is None)
    return option | {
        "type": parser or (inner if inner in _SCALARS else "str"),
        "nargs": told.get("nargs") or ("+" if many and not parser else None),
        "required": required,
    }


def _type(node: ast.expr) -> tuple[str, bool, list[Any] | None]:
    """(scalar type, is a list, literal choices) of an annotation, ``Optional`` taken off."""
    if isinstance(node, ast.Subscript):
        outer = name_of(node.value)
        if outer == "Optional":
            return _type(node.slice)
        if outer in ("List", "list"):
            return _type(node.slice)[0], True, None
        if outer == "Literal":
            values = constant(node.slice, {})
            return "str", False, list(values) if isinstance(values, tuple) else [values]
        return "str", False, None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _type(node.left)
    return name_of(node), False, None


def _listed(value: Any) -> list[Any] | None:
    return list(value) if isinstance(value, (list, tuple)) else None


def _calls(function: ast.FunctionDef, local: dict[str, Any]) -> list[ast.Call]:
    found = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = constant(node.value, local)
            if value is not None:
                local[node.targets[0].id] = value
        if isinstance(node, ast.Call) and name_of(node.func) == "add_argument":
            found.append(node)
    return sorted(found, key=lambda call: call.lineno)


def _added(call: ast.Call, names: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any] | None:
    said = [a.value for a in call.args if isinstance(a, ast.Constant)]
    flags = [flag for flag in said if isinstance(flag, str)]
    if not flags:
        return None
    told = {k.arg: k.value for k in call.keywords if k.arg}
    dest = constant(told["dest"], names) if "dest" in told else None
    action = name_of(told["action"]) if "action" in told else None
    if isinstance(told.get("action"), ast.Constant):
        action = str(constant(told["action"], names))
    long = next((f for f in flags if f.startswith("--")), flags[0])
    default = told.get("default")
    value = _default(default, names) if default is not None else None
    if isinstance(default, ast.Attribute):
        value = fields.get(default.attr)
    elif isinstance(default, ast.Call) and default.args:
        value = fields.get(str(constant(default.args[0], names)))
    help_text = ast.unparse(told["help"]) if "help" in told else ""
    if action == "store_true" and value is None and "default" not in told:
        value = False
    return {
        "flags": flags,
        "dest": dest or long.lstrip("-").replace("-", "_"),
        "choices": _listed(constant(told["choices"], names)) if "choices" in told else None,
        "default": value,
        "type": name_of(told["type"]) if "type" in told else None,
        "nargs": constant(told["nargs"], names) if "nargs" in told else None,
        "action": action,
        "required": constant(told["required"], names) if "required" in told else None,
        "deprecated": bool(action and "Deprecated" in action)
        or "deprecated" in help_text.lower()[:14],
    }
