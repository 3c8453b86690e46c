"""Whether the files of a promoted skill are what its record says."""

from typing import TYPE_CHECKING

from understudy.rollout import mount_refusals
from understudy.rollout.files import bundle_of
from understudy.rollout.model import Rollout
from understudy.rollout.mount_keeper import MountKeeper

if TYPE_CHECKING:
    from understudy.storage.mount_folders import MountFolders


def is_in_place(folders: "MountFolders", rollout: Rollout) -> bool:
    """Whether every file is there, to the byte, and nothing else is."""
    try:
        found = folders.digest(rollout.source_learning_id)
    except OSError:
        return False
    return found == bundle_of(rollout.definition).digest


def require_in_place(keeper: MountKeeper, rollout: Rollout) -> None:
    """Refuse a skill whose files say anything else than its record, though only that is used."""
    if not is_in_place(keeper.folders, rollout):
        keeper.found_drifted(rollout)
        raise mount_refusals.drifted(rollout)
