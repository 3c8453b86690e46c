"""The names that a scope may allow and a persona may bring along: those that something answers to."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from understudy.core.errors import FieldError, coded_error
from understudy.core.principal import Principal
from understudy.core.scope import ALL, Scope
from understudy.core.text import quoted
from understudy.sessions.model import DefaultSkill
from understudy.sessions.scopes import Flat

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

SHOWN: Final = 8
SKILL: Final = "skill"
# Each name that is no usual one is searched for while nobody else can write.
MOST_SEARCHED: Final = 200
# Lower than the library's: a slug and a display name of one skill should still be near.
NEAR: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesOfKind:
    """The names of one kind, such as `route`, as one caller knows them."""

    has: Callable[["Unit", Principal, str], bool]
    some: Callable[["Unit", Principal], Sequence[str]]
    # Whether a name may be given before it is there; then it is only warned of.
    may_come: bool = False


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
        is_strict: bool = False,
    ) -> None:
        """Refuse a scope that allows what nothing answers to, which would permit nothing silently.

        A deny of what is not there yet is a precaution, and names that are stored already may stay.
        What may come later is only told by `warnings`, unless the check `is_strict`.
        """
        if asked is None:
            return
        names = (
            (kind, name)
            for kind, name in _allowed(asked, had or {})
            if is_strict or kind not in self.kinds or not self.kinds[kind].may_come
        )
        unknown = list(self._unknown(unit, principal, names, where))
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

    def warnings(
        self,
        unit: "Unit",
        principal: Principal,
        scope: Scope | None,
        skills: Sequence[DefaultSkill] = (),
    ) -> tuple[FieldError, ...]:
        """The skills that a scope or persona names and nothing answers to, maybe not yet."""
        source = self.kinds.get(SKILL)
        if source is None:
            return ()
        allowed = dict.fromkeys(_allowed(scope, {}) if scope else ())
        named = [
            *(("/capability_scope/skill_allow", name) for kind, name in allowed if kind == SKILL),
            *((f"/default_skills/{at}/name", skill.name) for at, skill in enumerate(skills)),
        ][:MOST_SEARCHED]
        missing = [
            (pointer, name)
            for pointer, name in named
            if not source.has(unit, principal, name) and not self.is_skill(unit, principal, name)
        ][:SHOWN]
        known = source.some(unit, principal) if missing else ()
        return tuple(
            FieldError(pointer=pointer, code="unknown_name", detail=_unknown_skill(name, known))
            for pointer, name in missing
        )


def _unknown_skill(name: str, known: Sequence[str]) -> str:
    near = nearest(name, known)
    hint = f"; there are {', '.join(near)}" if near else ""
    return f"no skill is named {quoted(name)} yet{hint}"


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
