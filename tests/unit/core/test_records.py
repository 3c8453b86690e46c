"""Records as plain fields."""

from dataclasses import asdict, dataclass, field
from enum import StrEnum

from understudy.core.records import plain


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    text: str
    colour: Colour = Colour.RED


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    leaves: tuple[Leaf, ...] = ()
    by_name: dict[str, list[Leaf]] = field(default_factory=dict)
    first: Leaf | None = None
    weight: float = 1.5


def test_a_record_is_given_as_its_fields_with_the_records_within_it() -> None:
    leaf = Leaf(text="a")
    tree = Tree(leaves=(leaf,), by_name={"b": [leaf]}, first=leaf)

    assert plain(tree) == {**asdict(tree), "leaves": [{"text": "a", "colour": "red"}]}


def test_what_a_record_holds_can_be_changed_in_its_fields_without_changing_it() -> None:
    tree = Tree(by_name={"b": []})

    plain(tree)["by_name"]["b"].append("new")

    assert tree.by_name == {"b": []}
