"""Where the bytes of assets, run memories and bundles of skills are kept.

Files under the home of a daemon that is alone, rows where several share a database.
"""

from typing import Final

from understudy.settings import Settings
from understudy.storage.blobs import FileBlobs, SqlBlobs
from understudy.storage.run_memory_files import FileRunMemories
from understudy.storage.run_memory_rows import SqlRunMemories
from understudy.storage.skill_bundle_cache import BundleCache
from understudy.storage.skill_bundle_files import FileSkillBundles
from understudy.storage.skill_bundle_rows import SqlSkillBundles
from understudy.storage.unit import OpenBlobs, OpenRunMemories, OpenSkillBundles

ASSETS: Final = "assets"
RUN_MEMORIES: Final = "run-memories"
SKILLS: Final = "skills-store"
# Copies of what is in the database, by hash, so that files of a skill can be opened.
SKILLS_CACHE: Final = "skills-cache"


def open_blobs(settings: Settings) -> OpenBlobs:
    """The bytes of assets."""
    if not settings.is_sqlite:
        return SqlBlobs
    files = FileBlobs(settings.home / ASSETS)
    return lambda _: files


def open_run_memories(settings: Settings) -> OpenRunMemories:
    """What runs left behind."""
    if not settings.is_sqlite:
        return SqlRunMemories
    files = FileRunMemories(settings.home / RUN_MEMORIES)
    return lambda _: files


def open_skill_bundles(settings: Settings) -> OpenSkillBundles:
    """The bundles of skills."""
    if not settings.is_sqlite:
        cache = BundleCache(settings.home / SKILLS_CACHE)
        return lambda unit: SqlSkillBundles(unit.connection, cache)
    return lambda unit: FileSkillBundles(settings.home / SKILLS, unit)
