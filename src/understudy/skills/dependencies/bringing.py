"""Packages for one skill: all of them together, or else those that can be had."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.skills.dependencies.install_plans import Plan

if TYPE_CHECKING:
    from understudy.skills.dependencies.installing import PackageInstaller


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What the environment of a skill holds now, and why it does not hold the rest."""

    names: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


def bring(
    installer: "PackageInstaller", plan: Plan, *, held: frozenset[str], until: float
) -> Brought:
    """Have an environment hold what a plan says. Where that fails, each package is tried alone, and
    those that can be had come without the others; never in the place of more that it `held`."""
    cause = installer.install(plan.slug, plan.manager, plan.names, within_s=_left(until))
    if cause is None:
        return Brought(names=plan.names)
    together = Brought(errors=(f"{plan.manager} for {plan.slug}: {cause}",))
    if len(plan.names) == 1:
        return together
    causes = {
        name: installer.fetch(plan.slug, plan.manager, name, within_s=_left(until))
        for name in plan.names
    }
    had = tuple(name for name, why in causes.items() if why is None)
    if len(had) == len(plan.names):
        return together
    errors = tuple(
        f"{plan.manager}:{name} for {plan.slug}: {why}" for name, why in causes.items() if why
    )
    if not had or not held <= {*had}:
        return Brought(errors=errors)
    cause = installer.install(plan.slug, plan.manager, had, within_s=_left(until))
    if cause is None:
        return Brought(names=had, errors=errors)
    return Brought(errors=(*errors, f"{plan.manager} for {plan.slug}: {cause}"))


def _left(until: float) -> float:
    return until - time.monotonic()
