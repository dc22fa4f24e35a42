"""Code is an input: a digest of the modules that a rule's result depends on.

Snakemake re-runs a job when a parameter changes but does not see a change in a module that
a script imports. `code_of` gives rules a parameter that changes when, and only when, what
the module does may have changed: the syntax trees of the module and of all modules of this
package that it imports, without comments, docstrings and layout, plus the package's data
files (templates, tables) that those modules name. Nothing is imported.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = "headwater"


def code_of(*modules: str, root: str | Path) -> str:
    """Return a short digest of `modules` and of everything of the package they import.

    Parameters
    ----------
    modules : str
        Dotted names, such as ``headwater.counts.fit``.
    root : path
        The folder that holds the package folder (``src``).

    Raises
    ------
    ModuleNotFoundError
        If a named module has no source file under `root`.
    """
    digest = hashlib.sha256()
    root = Path(root).resolve()
    for path in sorted(files_of(*modules, root=root)):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(_content(path))
    return digest.hexdigest()[:16]


def files_of(*modules: str, root: str | Path) -> set[Path]:
    """Return the source and data files that `modules` depend on inside the package."""
    root = Path(root).resolve()
    found: set[Path] = set()
    waiting = list(modules)
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        path = _source(name, root)
        if path is None:
            if name in modules:
                raise ModuleNotFoundError(f"no source file of {name} under {root}")
            continue  # a name imported from a module, not a module
        imports, data = _dependencies(path, name)
        found |= {path, *data}
        waiting += imports
        if "." in name:
            waiting.append(name.rpartition(".")[0])
    return found


def _source(name: str, root: Path) -> Path | None:
    base = root.joinpath(*name.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache
def _dependencies(path: Path, name: str) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Return the package modules a file imports and the data files beside it that it names."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    imports: set[str] = set()
    data: set[Path] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(node, package)
            imports |= {module} | {f"{module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            data |= _data_files(path.parent, node.value)
    ours = {i for i in imports if i == PACKAGE or i.startswith(PACKAGE + ".")}
    return tuple(sorted(ours)), tuple(sorted(data))


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def _data_files(folder: Path, text: str) -> set[Path]:
    """Return files of the package that a string constant names: a file or a whole folder."""
    if not text or len(text) > 80 or text in {".", ".."} or "\n" in text or "\0" in text:
        return set()
    path = folder / text
    if path.suffix and path.suffix != ".py" and path.is_file():
        return {path}
    if text.isidentifier() and path.is_dir() and not (path / "__init__.py").exists():
        return {p for p in path.rglob("*") if p.is_file() and p.suffix not in {".py", ".pyc"}}
    return set()


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def _content(path: Path) -> bytes:
    if path.suffix != ".py":
        return path.read_bytes()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_docstring(body[0]):
            node.body = body[1:]
    return ast.dump(tree).encode()


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
