"""The decorator `dataclass`, which generates the methods of a frozen class at their first call.

The standard library compiles six methods of every class when it is defined. A start defines 800 and
needs a third of their constructors and few other methods: 0.3 s.
"""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

__all__ = ["dataclass"]

GENERATED: Final = ("__init__", "__repr__", "__eq__", "__hash__")
# A class with other options, with one of these names, or with a dataclass as its base has its
# methods at once.
SUPPORTED: Final = frozenset({"frozen", "slots", "kw_only"})
REFUSED: Final = frozenset({"__setattr__", "__delattr__"})

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """As `dataclasses.dataclass`: the same class with the same methods.

        `inspect.signature` knows the fields after the first call of the constructor, and a field
        without a default behind one with a default fails then. There is no `InitVar`.
        """

        def made(cls: type) -> type:
            is_late = options.get("frozen") and SUPPORTED.issuperset(options)
            is_plain = REFUSED.isdisjoint(vars(cls))
            if not (is_late and is_plain) or any(map(dataclasses.is_dataclass, cls.__mro__[1:])):
                return dataclasses.dataclass(**options)(cls)
            return _frozen(cls, **(options | {"frozen": False}))

        return made if cls is None else made(cls)


@dataclasses.dataclass(frozen=True, slots=True)
class _Pickled:
    """Has the methods that frozen classes with slots share: those to copy and to pickle."""


def _frozen(cls: type, **options: bool) -> type:
    made: type = dataclasses.dataclass(cls, init=False, repr=False, eq=False, **options)
    methods = {name: _late(made, name) for name in GENERATED}
    methods |= {"__setattr__": _refuse_assignment, "__delattr__": _refuse_deletion}
    if options.get("slots"):
        methods |= {name: vars(_Pickled)[name] for name in ("__getstate__", "__setstate__")}
    for name, method in methods.items():
        # What the class defines stays; if that is `__eq__`, it has None for `__hash__`.
        if vars(made).get(name) is None:
            setattr(made, name, method)
    # Subclasses are checked by it.
    vars(made)["__dataclass_params__"].frozen = True
    return made


def _late(cls: Any, name: str) -> Callable[..., Any]:
    """A method that puts the generated one in its place, and calls it."""

    def method(self: object, /, *arguments: Any, **named: Any) -> Any:
        # With a docstring: the standard library makes a missing one from the signature, slowly.
        namespace = {"__doc__": name}
        if hasattr(cls, "__post_init__"):
            namespace["__post_init__"] = cls.__post_init__
        model = dataclasses.make_dataclass(
            cls.__qualname__,
            [(each.name, each.type, each) for each in dataclasses.fields(cls)],
            namespace=namespace,
            init=name == "__init__",
            repr=name == "__repr__",
            eq=name in {"__eq__", "__hash__"},
            frozen=True,
        )
        setattr(cls, name, getattr(model, name))
        return getattr(cls, name)(self, *arguments, **named)

    return method


def _refuse_assignment(self: Any, name: str, value: object) -> None:
    if _is_frozen(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_deletion(self: Any, name: str) -> None:
    if _is_frozen(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(record: Any, name: str) -> bool:
    """Whether this is a field, or the class is no plain subclass with attributes of its own."""
    fields = "__dataclass_fields__"
    return fields in vars(type(record)) or name in getattr(record, fields)
