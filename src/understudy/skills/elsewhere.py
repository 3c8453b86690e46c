"""Skills that are not kept: who would change one is told where that is done."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

from understudy.core.errors import NotFound, Rejected
from understudy.skills import caller_errors
from understudy.skills.author import Author
from understudy.skills.model import Skill, SkillOrigin

P = ParamSpec("P")
R = TypeVar("R")

# What is not kept that an author means by a slug, as they see it; None when there is none.
BesideLookup = Callable[[Author, str], Skill | None]
NOT_FOUND: Final = "skill_not_found"
_DENIALS: Final[Mapping[SkillOrigin, Callable[[str], Rejected]]] = {
    SkillOrigin.LOCAL: caller_errors.is_local,
    SkillOrigin.PROMOTED: caller_errors.is_promoted,
}


class SkillChanger(Protocol):
    """Somebody who changes kept skills, and can ask what there is beside them."""

    beside: BesideLookup


S = TypeVar("S", bound=SkillChanger)


def nothing_beside(author: Author, ref: str) -> Skill | None:
    """Every skill is kept."""
    del author, ref
    return None


def told_where(
    change: Callable[Concatenate[S, Author, str, P], R],
) -> Callable[Concatenate[S, Author, str, P], R]:
    """A change of what an author names; what they can see and nobody keeps is not told to be missing."""

    @wraps(change)
    def changing(self: S, author: Author, ref: str, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return change(self, author, ref, *args, **kwargs)
        except NotFound as problem:
            found = self.beside(author, ref) if problem.code == NOT_FOUND else None
            if found is None or found.origin not in _DENIALS:
                raise
            raise _DENIALS[found.origin](ref) from None

    return changing
