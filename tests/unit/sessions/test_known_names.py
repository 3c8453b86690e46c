"""Names in allow lists: how many of them are searched for, which nobody else can write beside."""

from typing import Any, cast

import pytest

from understudy.core.errors import Invalid
from understudy.core.principal import Principal, Role
from understudy.sessions.known_names import MOST_SEARCHED, SHOWN, KnownNames, NamesOfKind
from understudy.sessions.scopes import read_capability_scope

ADA = Principal(user_id="ada", role=Role.OPERATOR)
USUAL = tuple(f"usual-{number}" for number in range(1_000))


class Searches:
    """Skills that are known by usual names; the others that it finds begin with `Rare`."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def check(self, *names: str) -> None:
        kind = NamesOfKind(has=lambda _, __, name: self._has(name), some=lambda *_: USUAL)
        scope = read_capability_scope({"skill_allow": list(names)})
        unit = cast("Any", None)
        KnownNames(kinds={"skill": kind}).check_scope(unit, ADA, scope, where="capability_scope")

    def _has(self, name: str) -> bool:
        self.asked.append(name)
        return name.startswith("Rare")


def test_usual_names_are_not_searched_for() -> None:
    searches = Searches()

    searches.check(*USUAL, "Rare One", "Rare One")

    assert searches.asked == ["Rare One"]


def test_a_search_ends_after_as_many_unknown_names_as_are_shown() -> None:
    searches = Searches()

    with pytest.raises(Invalid) as refused:
        searches.check(*(f"none-{number}" for number in range(50_000)))

    assert len(searches.asked) == len(refused.value.errors) == SHOWN
    assert refused.value.params["name"] == "none-0"


def test_more_names_than_may_be_searched_for_are_refused() -> None:
    searches = Searches()

    with pytest.raises(Invalid) as refused:
        searches.check(*(f"Rare {number}" for number in range(50_000)))

    assert len(searches.asked) == MOST_SEARCHED
    assert [it.pointer for it in refused.value.errors] == ["/capability_scope/skill_allow"]
    assert str(MOST_SEARCHED) in str(refused.value)
