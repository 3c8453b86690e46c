"""What both skills and rollouts look at: the content guard, and the folders of the machine."""

from collections.abc import Sequence
from typing import Final

from understudy.daemon.ground import Ground
from understudy.daemon.stores import SKILLS, SKILLS_CACHE
from understudy.settings import Settings
from understudy.skills.content_guard import ContentGuard, scan_skill
from understudy.skills.local.roots import Root, RootScope, roots_for
from understudy.skills.local.skills import LocalSkills
from understudy.storage.mount_folders import MountFolders

ENVIRONMENTS: Final = "skills-env"


class SkillSources:
    """One of each."""

    def __init__(self, ground: Ground) -> None:
        settings = ground.settings
        self.guard = ContentGuard(allow_acknowledged=settings.guard_allow_acknowledged)
        self.mounts = MountFolders(settings.home)
        self.roots = _roots(settings)
        self.local = LocalSkills(
            roots=self.roots,
            guard=scan_skill,
            clock=ground.clock,
            stores=[settings.home / name for name in (SKILLS, SKILLS_CACHE, ENVIRONMENTS)],
            mounts=[self.mounts.root],
        )


def _roots(settings: Settings) -> Sequence[Root]:
    if settings.local_skills:
        return roots_for(
            explicit=settings.skill_roots, workspace=settings.workspace, home=settings.user_home
        )
    return [Root(path=path, scope=RootScope.EXPLICIT) for path in settings.skill_roots]
