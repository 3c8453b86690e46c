"""The files of a bundle on their way: written before anybody has to wait for who writes them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from understudy.skills.bundles.bundle import Bundle

if TYPE_CHECKING:
    from understudy.storage.unit import Units


@contextmanager
def staged(units: "Units", bundle: Bundle) -> Iterator[None]:
    """While a bundle may become a version; what did not is gone afterwards."""
    with units.read() as unit:
        unit.skill_bundles.stage(bundle)
    try:
        yield
    finally:
        with units.read() as unit:
            unit.skill_bundles.unstage(bundle)
