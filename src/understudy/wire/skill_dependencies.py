"""What skills need of the machine, on the wire."""

from typing import Literal

from understudy.wire.base import Omitted, View


class RescannedSkill(View):
    """A skill and what it misses; `ok` when it needs nothing, `damaged` when it cannot be read."""

    slug: str
    status: Literal["ok", "active", "archived", "damaged"]
    missing: list[str]


class RescanView(View):
    """What looking again found; `updated` counts the skills whose status changed."""

    updated: int
    results: list[RescannedSkill]


class InstalledView(View):
    """What was installed, by its kind, and what could not be; `message` when there was nothing."""

    system: list[str]
    pip: list[str]
    npm: list[str]
    errors: list[str]
    message: Omitted[str] = None


class InstalledOneView(View):
    """Whether one thing was installed, and why not."""

    ok: bool
    error: Omitted[str] = None


class SkillProgram(View):
    """A program that skills run with."""

    name: str
    available: bool
    version: Omitted[str] = None


class RuntimesView(View):
    """The programs there are; `ready` when those are that nothing works without."""

    runtimes: list[SkillProgram]
    ready: bool
