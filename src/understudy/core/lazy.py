"""Imports that are made when somebody first uses them."""

import sys
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Final

# Two threads that import a package and a module of it at once would wait for each other.
_IMPORTING: Final = threading.RLock()


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose names live in modules that are slow to import.

    `modules` has the names, separated by spaces, for each module. A type checker needs the same
    imports under `TYPE_CHECKING`.
    """
    places = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{places[name]}"), name)

    return get


def defer_module(name: str, *within: str) -> None:
    """Have a package, and these modules of it, imported at the first use of one of their names.

    For a library that another one imports and does not need here. Other modules of the package
    cannot be imported before.
    """
    if name in sys.modules:
        return
    sys.modules[name] = package = _DeferredModule(name)
    for each in within:
        setattr(package, each, _DeferredModule(f"{name}.{each}"))


class _DeferredModule(ModuleType):
    """Stands for a module; whoever holds it gets the names of the real one."""

    def __getattr__(self, name: str) -> Any:
        # Importing asks a module for these.
        if name.startswith("__"):
            raise AttributeError(name)
        package = self.__name__.partition(".")[0]
        with _IMPORTING:
            if isinstance(sys.modules.get(package), _DeferredModule):
                del sys.modules[package]
            value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value
