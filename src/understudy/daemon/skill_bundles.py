"""Where the bundles of skills are kept."""

from typing import Final

from understudy.settings import Settings
from understudy.storage.skill_bundle_cache import BundleCache
from understudy.storage.skill_bundle_files import FileSkillBundles
from understudy.storage.skill_bundle_rows import SqlSkillBundles
from understudy.storage.unit import OpenSkillBundles

DIRECTORY: Final = "skills-store"
# Copies of what is in the database, by hash, so that files of a skill can be opened.
CACHE: Final = "skills-cache"


def open_skill_bundles(settings: Settings) -> OpenSkillBundles:
    """Files under the home of a daemon that is alone, rows where several share a database."""
    if not settings.is_sqlite:
        cache = BundleCache(settings.home / CACHE)
        return lambda unit: SqlSkillBundles(unit.connection, cache)
    return lambda unit: FileSkillBundles(settings.home / DIRECTORY, unit)
