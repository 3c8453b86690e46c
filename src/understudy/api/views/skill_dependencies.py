"""What skills need of the machine, as the wire shows it."""

from dataclasses import asdict

from understudy.skills.dependencies.environments import Runtimes
from understudy.skills.dependencies.service import Installed, InstalledOne, Rescan
from understudy.wire.skill_dependencies import (
    InstalledOneView,
    InstalledView,
    RescannedSkill,
    RescanView,
    RuntimesView,
    SkillProgram,
)


def rescan_view(rescan: Rescan) -> RescanView:
    """How each skill stands."""
    return RescanView(
        updated=rescan.updated,
        results=[RescannedSkill(**asdict(checked)) for checked in rescan.results],
    )


def installed_view(installed: Installed) -> InstalledView:
    """What was installed and what was not."""
    return InstalledView(
        system=list(installed.system),
        pip=list(installed.pip),
        npm=list(installed.npm),
        errors=list(installed.errors),
        message=installed.message or None,
    )


def installed_one_view(installed: InstalledOne) -> InstalledOneView:
    """Whether it is there now."""
    return InstalledOneView(ok=installed.ok, error=installed.error or None)


def runtimes_view(found: Runtimes) -> RuntimesView:
    """The programs there are."""
    return RuntimesView(
        runtimes=[
            SkillProgram(name=each.name, available=each.available, version=each.version or None)
            for each in found.runtimes
        ],
        ready=found.ready,
    )
