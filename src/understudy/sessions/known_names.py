"""The names that a scope may allow and a persona may bring along: those that something answers to."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Final

from understudy.core.dataclass import dataclass
from understudy.core.errors import FieldError, coded_error
from understudy.core.principal import Principal
from understudy.core.scope import ALL, Scope
from understudy.core.text import quoted
from understudy.sessions.model import DefaultSkill
from understudy.sessions.scopes import Flat

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

SHOWN: Final = 8
# Each name that is no usual one is searched for while nobody else can write.
MOST_SEARCHED: Final = 200
# Lower than the library's: a slug and a display name of one skill should still be near.
NEAR: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesOfKind:
    """The names of one kind, such as `route`, as one caller knows them."""

    has: Callable[["Unit", Principal, str], bool]
    some: Callable[["Unit", Principal], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNames:
    """What scopes and personas may name; a kind that is not listed is not checked."""

    kinds: Mapping[str, NamesOfKind] = field(default_factory=dict)
    # Whether a skill answers to a slug, an id or a display name.
    is_skill: Callable[["Unit", Principal, str], bool] = lambda *_: True
    # Looks again for what is found outside the database; never while a unit is open.
    refresh: Callable[[], None] = lambda: None

    def check_scope(
        self,
        unit: "Unit",
        principal: Principal,
        asked: Scope | None,
        *,
        where: str,
        had: Flat | None = None,
    ) -> None:
        """Refuse a scope that allows what nothing answers to, which would permit nothing silently.

        A deny of what is not there yet is a precaution, and names that are stored already may stay.
        """
        if asked is None:
            return
        unknown = list(self._unknown(unit, principal, _allowed(asked, had or {}), where))
        if unknown:
            kind, name = unknown[0]
            near = nearest(name, self.kinds[kind].some(unit, principal))
            raise coded_error(
                f"sessions/invalid_scope:{'unknown_name' if near else 'no_name'}",
                errors=tuple(
                    FieldError(
                        pointer=f"/{where}/{kind}_allow",
                        code="unknown_name",
                        detail=f"nothing is named {quoted(name)}",
                    )
                    for kind, name in unknown
                ),
                field=where,
                list=f"{kind}_allow",
                name=name,
                similar=near,
            )

    def _unknown(
        self, unit: "Unit", principal: Principal, names: Iterable[tuple[str, str]], where: str
    ) -> Iterator[tuple[str, str]]:
        """The first names that nothing answers to."""
        usual: dict[str, frozenset[str]] = {}
        searched = found = 0
        for kind, name in dict.fromkeys(names):
            source = self.kinds.get(kind)
            if source is None:
                continue
            if kind not in usual:
                usual[kind] = frozenset(source.some(unit, principal))
            if name in usual[kind]:
                continue
            searched += 1
            if searched > MOST_SEARCHED:
                raise coded_error(
                    "sessions/invalid_scope:too_many_names",
                    pointer=f"/{where}/{kind}_allow",
                    field=where,
                    list=f"{kind}_allow",
                    limit=MOST_SEARCHED,
                )
            if not source.has(unit, principal, name):
                yield kind, name
                found += 1
                if found == SHOWN:
                    return

    def check_skills(
        self,
        unit: "Unit",
        principal: Principal,
        asked: Sequence[DefaultSkill],
        had: Sequence[DefaultSkill] = (),
    ) -> None:
        """Refuse default skills that nothing answers to; those that are stored already may stay."""
        kept = {skill.name for skill in had}
        for place, skill in enumerate(asked):
            if skill.name in kept or self.is_skill(unit, principal, skill.name):
                continue
            source = self.kinds.get("skill")
            near = nearest(skill.name, source.some(unit, principal) if source else ())
            raise coded_error(
                f"personas/default_skill_not_found{':similar' if near else ''}",
                pointer=f"/default_skills/{place}/name",
                name=skill.name,
                similar=near,
            )


def nearest(name: str, known: Sequence[str]) -> list[str]:
    """Known names that look like `name`; where none does, the first of them."""
    spelled = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.casefold(), spelled, n=SHOWN, cutoff=NEAR)
    return [spelled[each] for each in near] or sorted(known)[:SHOWN]


def _allowed(asked: Scope, had: Flat) -> Iterator[tuple[str, str]]:
    for kind, gate in asked.gates.items():
        kept = had.get(f"{kind}_allow", ())
        for name in gate.allow or ():
            if name != ALL and name not in kept:
                yield kind, name
