"""The source relies on public names of other packages alone, and changes none of them.

Attributes of objects are ruff's part (SLF001); these are the ways round it.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import understudy

SOURCE = Path(understudy.__file__).parent
# Switches of the process, which change how everything else runs; by the only files that may.
ALLOWED_IMPORTS = {
    # Python has no other way to a Linux call that hides the keys of a daemon from its commands.
    ("tools/process_tree.py", "ctypes"),
}
TRICKS = ("ctypes", "gc")
UNDERSCORE = re.compile(r"_(?!_)\w*")
# In the source of a class: a method, a class attribute, or an attribute of the object.
PRIVATE_NAME = re.compile(
    r"(?:\b(?:self|cls|super\(\))\.|def |^    (?=\w+(?:: .*)? = ))(_(?!_)\w+)", re.MULTILINE
)


def tricks_of(source: str) -> Iterator[str]:
    """What a source file does with names that other packages do not offer."""
    tree = ast.parse(source)
    foreign: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            foreign |= {each.asname or each.name.partition(".")[0] for each in node.names}
            yield from (private for each in node.names for private in _imported(each.name, ""))
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            foreign |= {each.asname or each.name for each in node.names}
            yield from (private for each in node.names for private in _imported(module, each.name))
    foreign -= _own(tree)
    yield from _changes(tree, foreign)
    if re.search(r"noqa:.*\bSLF", source):
        yield "noqa: SLF001"


def _imported(module: str, name: str) -> Iterator[str]:
    package = module.partition(".")[0]
    if package in TRICKS:
        yield package
    if (package, name) == ("sys", "modules"):
        yield "sys.modules"
    if package not in ("understudy", "__future__", "_typeshed") and any(
        UNDERSCORE.fullmatch(part) for part in (*module.split("."), name)
    ):
        yield f"{module}.{name}".rstrip(".")


def _own(tree: ast.Module) -> set[str]:
    """Names that are imported from the project itself or from the standard library."""
    return {
        each.asname or each.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for each in node.names
        if _is_ours((isinstance(node, ast.ImportFrom) and node.module) or each.name)
    }


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in {"understudy", *sys.stdlib_module_names}


def _changes(tree: ast.Module, foreign: set[str]) -> Iterator[str]:
    """Uses of `sys.modules`, and attributes of foreign modules and classes that are set."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            if (_root(node.value), node.attr) == ("sys", "modules"):
                yield "sys.modules"
            if not isinstance(node.ctx, ast.Load) and _root(node) in foreign:
                yield f"{ast.unparse(node)} is set"
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("setattr", "delattr")
            and _root(node.args[0]) in foreign
        ):
            yield ast.unparse(node)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def private_uses(kind: type) -> Iterator[str]:
    """The underscore names of foreign base classes that a class of ours overrides or reads."""
    foreign = [base for base in kind.__mro__[1:] if not _is_ours(base.__module__)]
    ours = _private_names(kind) if foreign else frozenset()
    for base in foreign:
        theirs = {*_private_names(base), *vars(base)}
        yield from (f"{kind.__qualname__}.{name}" for name in sorted(ours & theirs))


@cache
def _private_names(kind: type) -> frozenset[str]:
    try:
        return frozenset(PRIVATE_NAME.findall(inspect.getsource(kind)))
    except (OSError, TypeError):  # a class that is made or compiled has no source
        return frozenset()


def classes_of_ours() -> Iterator[type]:
    for found in walk_packages([str(SOURCE)], "understudy."):
        if ".migrations." in found.name or found.name.endswith("__main__"):
            continue
        module = import_module(found.name)
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == found.name:
                yield kind


@pytest.mark.parametrize(
    "source",
    [
        "import sqlalchemy.sql._typing",
        "from dbos._core import start",
        "from re2 import _Anchor",
        "import gc",
        "from ctypes import CDLL",
        "import sys\nsys.modules['rich'] = None",
        "from sys import modules",
        "import dbos\ndbos.DBOS.start = None",
        "from dbos import DBOS\nsetattr(DBOS, 'start', None)",
        "row._key  # noqa: SLF001",
    ],
)
def test_a_way_round_public_names_is_found(source: str) -> None:
    assert list(tricks_of(source))


@pytest.mark.parametrize(
    "source",
    [
        "from __future__ import annotations",
        "from understudy.core import _ours",
        "import logging\nlogging.raiseExceptions = False",
        "import dbos\nstarted = dbos.DBOS.start",
    ],
)
def test_plain_use_is_left_alone(source: str) -> None:
    assert list(tricks_of(source)) == []


def test_an_overridden_private_method_of_a_library_is_found() -> None:
    from sqlalchemy.pool import QueuePool

    class OwnPool(QueuePool):
        def _do_return_conn(self, record: object) -> None: ...

    class Reads(QueuePool):
        def size_now(self) -> int:
            return int(self._max_overflow)

    assert list(private_uses(OwnPool))
    assert list(private_uses(Reads))


def test_the_source_relies_on_public_names_of_other_packages_alone() -> None:
    found = {
        (str(path.relative_to(SOURCE)), trick)
        for path in SOURCE.rglob("*.py")
        for trick in tricks_of(path.read_text())
    }

    assert found == ALLOWED_IMPORTS


def test_no_class_overrides_or_reads_a_private_name_of_its_foreign_base() -> None:
    assert [use for kind in classes_of_ours() for use in private_uses(kind)] == []
