"""What is to be installed for which skill."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from understudy.skills.dependencies.names import Dependency, Manager, check_dependency
from understudy.skills.dependencies.needs import Needs

# Names that pip takes for one another.
_SEPARATORS: Final = re.compile(r"[-_.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The packages that the environment of a skill is to hold, of one package manager."""

    slug: str
    manager: Manager
    names: tuple[str, ...]


def plans_for_missing(needs: Needs) -> Iterator[Plan]:
    """For each manager that has something to bring, all of it: an environment sees no other."""
    lacking = {check_dependency(label).manager for label in needs.missing}
    for manager, names in _packages(needs):
        if manager in lacking:
            yield Plan(slug=needs.skill.slug, manager=manager, names=names)


def plans_for_one(needs: Needs, dependency: Dependency) -> Iterator[Plan]:
    """One package for a skill that needs it or could use it, beside those that it does not lack."""
    wanted = {_key(label) for label in (*needs.requirements.listed, *needs.requirements.optional)}
    if _key(dependency.label) not in wanted:
        return
    lacking = {_key(label) for label in needs.missing} - {_key(dependency.label)}
    for manager, names in _packages(needs):
        if manager is dependency.manager:
            kept = {_key(f"{manager}:{name}"): name for name in names}
            kept.setdefault(_key(dependency.label), dependency.name)
            held = tuple(name for key, name in kept.items() if key not in lacking)
            yield Plan(slug=needs.skill.slug, manager=manager, names=held)


def _packages(needs: Needs) -> tuple[tuple[Manager, tuple[str, ...]], ...]:
    return (Manager.PIP, needs.requirements.pip), (Manager.NPM, needs.requirements.npm)


def _key(label: str) -> str:
    is_pip = label.startswith("pip:")
    return _SEPARATORS.sub("-", label).casefold() if is_pip else label
