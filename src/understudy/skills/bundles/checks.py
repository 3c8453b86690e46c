"""Reading versions exactly as they were kept, and telling of those that are not any more."""

import threading
from typing import TYPE_CHECKING, Final

from understudy.core.errors import DamagedRecord
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.model import SkillVersion
from understudy.skills.ports import require_bundle

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# More of them are one trouble and not many.
_MOST: Final = 100


class BundleChecks:
    """Notes which damaged versions anybody met; one that is whole again is forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._damaged: dict[tuple[str, int], None] = {}

    def require(self, unit: "Unit", slug: str, version: SkillVersion) -> Bundle:
        """All files of a version, or `DamagedRecord` where one is not what it was."""
        met = (slug, version.number)
        try:
            bundle = require_bundle(unit, slug, version)
        except DamagedRecord:
            with self._lock:
                if len(self._damaged) < _MOST:
                    self._damaged[met] = None
            raise
        with self._lock:
            self._damaged.pop(met, None)
        return bundle

    def damaged(self) -> tuple[tuple[str, int], ...]:
        """The slugs and numbers of those that were met."""
        with self._lock:
            return tuple(self._damaged)
