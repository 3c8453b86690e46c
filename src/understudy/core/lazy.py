"""Names of a package, and modules, that are imported when somebody asks for them."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


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
        if isinstance(sys.modules.get(package), _DeferredModule):
            sys.modules.pop(package, None)
        return getattr(import_module(self.__name__), name)
