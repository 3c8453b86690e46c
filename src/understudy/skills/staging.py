"""The files of a bundle on their way: written before anybody has to wait for who writes them."""

from collections.abc import Iterator
from contextlib import contextmanager

from understudy.skills.bundles.bundle import Bundle
from understudy.skills.ports import SkillUnits


@contextmanager
def staged(units: SkillUnits, bundle: Bundle) -> Iterator[None]:
    """While a bundle may become a version; what did not is gone afterwards."""
    with units.read() as unit:
        unit.skill_bundles.stage(bundle)
    try:
        yield
    finally:
        with units.read() as unit:
            unit.skill_bundles.unstage(bundle)
