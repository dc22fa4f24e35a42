"""Code is an input: a digest of the modules that a rule's result depends on.

Snakemake re-runs a job when a parameter changes but does not see a change in a module that
a script imports. `code_of` gives rules a parameter that changes when, and only when, what
the module does may have changed: the syntax trees of the module and of all modules of this
package that it imports, without comments, docstrings and layout, plus the package's data
files (templates, tables) that those modules name. Nothing is imported.

Every start of Snakemake asks for this, also on each node of a cluster, so what was read from a
source file is kept beside Python's own byte code and, like that, is good as long as time and
size of the file are the same.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .io import write_text

PACKAGE = "headwater"
KEPT = Path(PACKAGE, "__pycache__", "code_of.json")
VERSION = [1, *sys.version_info[:3]]  # the text of a syntax tree differs between Pythons
SETTLED = 2.0  # seconds: a file changed later may change again within its time stamp


class Source(NamedTuple):
    """What is read from a source file: package modules, words that may name files, digest."""

    imports: tuple[str, ...]
    words: tuple[str, ...]
    digest: str


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
    store = _store(root)
    for path in sorted(_files(modules, root, store)):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(_digest(path, root, store).encode())
    store.save()
    return digest.hexdigest()[:16]


def files_of(*modules: str, root: str | Path) -> set[Path]:
    """Return the source and data files that `modules` depend on inside the package."""
    root = Path(root).resolve()
    return _files(modules, root, _store(root))


def _files(modules: tuple[str, ...], root: Path, store: Store) -> set[Path]:
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
        source = store.get(path)
        found.add(path)
        found.update(_data_files(path.parent, source.words))
        waiting += source.imports
        if "." in name:
            waiting.append(name.rpartition(".")[0])
    return found


@cache
def _source(name: str, root: Path) -> Path | None:
    base = root.joinpath(*name.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _digest(path: Path, root: Path, store: Store) -> str:
    if path.suffix == ".py":
        return store.get(path).digest
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _data_files(folder: Path, words: tuple[str, ...]) -> Iterator[Path]:
    """Yield files of the package that words name: files, or whole folders."""
    there = _names(folder)
    for word in words:
        if word.partition("/")[0] not in there:
            continue
        path = folder / word
        if path.suffix and path.is_file():
            yield path
        elif path.is_dir() and not (path / "__init__.py").exists():
            yield from (
                p for p in path.rglob("*") if p.is_file() and p.suffix not in {".py", ".pyc"}
            )


@cache
def _names(folder: Path) -> frozenset[str]:
    return frozenset(path.name for path in folder.iterdir())


class Store:
    """What was read from the source files under `root`, now or by an earlier process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = root / KEPT
        self.known: dict[str, Source] = {}
        self.kept: dict[str, Any] = {}
        self.changed = False
        try:
            kept = json.loads(self.file.read_text(encoding="utf-8"))
            if kept["version"] == VERSION:
                self.kept = dict(kept["files"])
        except (OSError, ValueError, KeyError, TypeError):
            pass  # none, or none that can be read: it is written anew

    def get(self, path: Path) -> Source:
        """Return what stands in a source file."""
        name = str(path.relative_to(self.root))
        if name not in self.known:
            stat = path.stat()
            stamp = [stat.st_mtime_ns, stat.st_size]
            old = self.kept.get(name)
            if old and old[0] == stamp:
                self.known[name] = Source(tuple(old[1]), tuple(old[2]), old[3])
            else:
                self.known[name] = _read(path, name)
                if time.time() - stat.st_mtime > SETTLED:
                    self.kept[name] = [stamp, *self.known[name]]
                    self.changed = True
        return self.known[name]

    def save(self) -> None:
        """Write down what is new; without a right to write it is read again next time."""
        if self.changed and not sys.dont_write_bytecode:
            self.changed = False
            with suppress(OSError):
                write_text(self.file, json.dumps({"version": VERSION, "files": self.kept}))


@cache
def _store(root: Path) -> Store:
    return Store(root)


def _read(path: Path, relative: str) -> Source:
    """Read a source file."""
    parts = list(Path(relative).with_suffix("").parts)
    package = ".".join(parts[:-1])  # also of an __init__.py
    imports: set[str] = set()
    words: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(node, package)
            imports |= {module} | {f"{module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and _may_name_a_file(node.value):
            words.add(node.value)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_docstring(body[0]):
            node.body = body[1:]
    ours = {i for i in imports if i == PACKAGE or i.startswith(PACKAGE + ".")}
    digest = hashlib.sha256(ast.dump(tree).encode()).hexdigest()
    return Source(tuple(sorted(ours)), tuple(sorted(words)), digest)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def _may_name_a_file(text: object) -> bool:
    """Return whether a constant can be the name of a data file or of a folder of them."""
    if (
        not isinstance(text, str)
        or not text
        or len(text) > 80
        or text in {".", ".."}
        or "\n" in text
        or "\0" in text
    ):
        return False
    return text.isidentifier() or ("." in text and not text.endswith(".py"))


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
