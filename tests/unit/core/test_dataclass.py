"""Frozen dataclasses with late methods behave as those of the standard library."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from pydantic import TypeAdapter

from understudy.core.dataclass import GENERATED, dataclass

T = TypeVar("T")
FROZEN: Any = dataclasses.dataclass(frozen=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """At the top of a module, so that it can be pickled."""

    name: str
    tags: tuple[str, ...] = ()


def classes(decorate: Any) -> dict[str, Any]:
    """The same classes by either decorator."""

    @decorate(frozen=True, slots=True, kw_only=True)
    class Record(Generic[T]):
        """Has fields of all kinds."""

        SHARED: ClassVar[int] = 7
        name: str
        value: T | None = None
        tags: list[str] = field(default_factory=list)
        silent: int = field(default=1, repr=False, compare=False)
        derived: str = field(init=False, default="")

        def __post_init__(self) -> None:
            object.__setattr__(self, "derived", self.name.upper())

    @decorate(frozen=True, slots=True)
    class Pair:
        """Takes positions."""

        left: int
        right: int = 2

    @decorate(frozen=True)
    class Own:
        """Has methods of its own."""

        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "own"

    @decorate(frozen=True, slots=True)
    class Wider(Pair):
        """Has a base."""

        depth: int = 3

    @decorate(frozen=True, slots=True, kw_only=True)
    class Reflexive:
        """Has a field with the name of a parameter of its methods."""

        self: int

    return {made.__name__: made for made in (Record, Pair, Own, Wider, Reflexive)}


def plain(kind: Any) -> Any:
    """An instance of an undecorated subclass, which may have attributes of its own."""
    made = type("Plain", (kind,), {})(1)
    made.other = 2
    return made


LATE, USUAL = classes(dataclass), classes(dataclasses.dataclass)

USES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "repr": lambda it: repr(it["Record"](name="a", value=Stored(name="b"))),
    "fields": lambda it: dataclasses.asdict(it["Record"](name="a", tags=["x"])),
    "class attribute": lambda it: it["Record"].SHARED,
    "factory": lambda it: it["Record"](name="a").tags is it["Record"](name="a").tags,
    "equal": lambda it: it["Record"](name="a", silent=1) == it["Record"](name="a", silent=2),
    "not equal": lambda it: it["Pair"](1) == it["Pair"](2),
    "other class": lambda it: it["Pair"](1) == it["Wider"](1),
    "hash": lambda it: hash(it["Pair"](1)) == hash((1, 2)) == hash(it["Pair"](1, 2)),
    "hash of a list": lambda it: hash(it["Record"](name="a")),
    "replace": lambda it: repr(dataclasses.replace(it["Pair"](1), right=5)),
    "replace init=False": lambda it: dataclasses.replace(it["Record"](name="a"), derived="b"),
    "missing": lambda it: it["Record"](),
    "unknown": lambda it: it["Pair"](1, other=2),
    "too many": lambda it: it["Pair"](1, 2, 3),
    "positions": lambda it: it["Record"]("a"),
    "assign": lambda it: setattr(it["Pair"](1), "left", 2),
    "delete": lambda it: delattr(it["Pair"](1), "left"),
    "own methods": lambda it: (it["Own"]("a") == it["Own"]("b"), repr(it["Own"]("a"))),
    "own equality, hash": lambda it: hash(it["Own"]("a")) == hash(("a",)),
    "subclass": lambda it: (repr(it["Wider"](1)), it["Wider"](1) == it["Wider"](1, 2, 3)),
    "field named self": lambda it: repr(it["Reflexive"](self=4)),
    "match": lambda it: it["Pair"].__match_args__,
    "slots": lambda it: (it["Record"].__slots__, it["Wider"].__slots__),
    "copy": lambda it: copy.copy(it["Pair"](1)) == copy.deepcopy(it["Pair"](1)),
    "validated": lambda it: repr(TypeAdapter(it["Pair"]).validate_python({"left": "4"})),
    "serialised": lambda it: TypeAdapter(it["Pair"]).dump_json(it["Pair"](1)),
    "plain subclass": lambda it: plain(it["Own"]).other,
    "field of a plain subclass": lambda it: setattr(plain(it["Own"]), "name", 2),
    "plain subclass, deleted": lambda it: delattr(plain(it["Own"]), "other"),
    "plain subclass, deleted field": lambda it: delattr(plain(it["Own"]), "name"),
    "frozen subclass": lambda it: repr(FROZEN(type("Sub", (it["Pair"],), {}))(1)),
    "open subclass": lambda it: dataclasses.dataclass(type("Sub", (it["Pair"],), {})),
}


def outcome(use: Callable[[], Any]) -> Any:
    try:
        return use()
    except Exception as problem:  # noqa: BLE001 - compared with that of the other decorator
        return type(problem), str(problem)


@pytest.mark.parametrize("use", USES.values(), ids=list(USES))
def test_a_class_does_what_one_of_the_standard_library_does(use: Callable[[Any], Any]) -> None:
    assert outcome(lambda: use(LATE)) == outcome(lambda: use(USUAL))
    # The generated methods are in place by now.
    assert outcome(lambda: use(LATE)) == outcome(lambda: use(USUAL))


def test_a_frozen_class_cannot_define_how_it_is_assigned_to() -> None:
    with pytest.raises(TypeError, match="Cannot overwrite attribute __setattr__"):

        @dataclass(frozen=True)
        class Open:
            name: str

            def __setattr__(self, name: str, value: object) -> None:
                raise NotImplementedError


def test_a_record_can_be_pickled() -> None:
    record = Stored(name="a", tags=("x",))

    assert pickle.loads(pickle.dumps(record)) == record


def test_methods_are_generated_when_they_are_called_and_not_before() -> None:
    pair = classes(dataclass)["Pair"]
    late = {name: vars(pair)[name] for name in GENERATED}

    made = pair(1)

    assert [name for name in GENERATED if vars(pair)[name] is not late[name]] == ["__init__"]
    assert repr(made).endswith("Pair(left=1, right=2)")
    assert made == pair(1)
    assert {name for name in GENERATED if vars(pair)[name] is late[name]} == {"__hash__"}


def test_threads_may_call_a_method_first_at_once() -> None:
    for _ in range(20):
        pair = classes(dataclass)["Pair"]
        with ThreadPoolExecutor(8) as pool:
            assert {repr(each) for each in pool.map(pair, range(8))} == {
                repr(pair(number)) for number in range(8)
            }
