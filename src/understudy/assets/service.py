"""Use cases of assets: upload, get, list, read, delete, garbage collection."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from understudy.assets.contents import AssetContent, keep, read_asset, require_asset
from understudy.assets.model import Asset, AssetDraft, AssetReference, Cleanup
from understudy.core import audit
from understudy.core.clock import DAY_MS, Clock
from understudy.core.errors import Unavailable, coded_error
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

# An upload may precede the input that names it, so collection spares young assets.
GRACE_MS: Final = DAY_MS
MAX_AGE_MS: Final = 100 * 365 * DAY_MS
MAX_COLLECTED: Final = 1000


@dataclass(frozen=True, slots=True)
class AssetService:
    """Files that inputs name by id."""

    units: "Units"
    clock: Clock

    def upload(self, principal: Principal, draft: AssetDraft) -> tuple[Asset, bool]:
        """The asset with this type and content, and whether it is new."""
        with self.units.write() as unit:
            return keep(unit, principal, draft, now_ms=self.clock.now_ms())

    def get(self, principal: Principal, asset_id: str) -> Asset:
        """One asset, or `NotFound`."""
        with self.units.read() as unit:
            return require_asset(unit, asset_id, user_id=principal.user_id)

    def page(self, principal: Principal, request: PageRequest) -> Page[Asset]:
        """Assets, newest first."""
        with self.units.read() as unit:
            return unit.assets.page(request, user_id=principal.user_id)

    def references(self, asset_id: str, request: PageRequest) -> Page[AssetReference]:
        """The references that prevent deletion of an asset."""
        with self.units.read() as unit:
            require_asset(unit, asset_id)
            return unit.assets.references(asset_id, request)

    def read(self, principal: Principal, asset_id: str) -> AssetContent:
        """An asset with its bytes, verified against the digest of the upload."""
        with self.units.read() as unit:
            return read_asset(unit, asset_id, user_id=principal.user_id)

    def delete(self, principal: Principal, asset_id: str) -> None:
        """Delete an asset that has no references."""
        with self.units.write() as unit:
            unit.assets.hold(alone=True)
            asset = require_asset(unit, asset_id)
            if unit.assets.is_referenced(asset_id):
                raise coded_error("assets/asset_delete_blocked", asset_id=asset_id)
            unit.assets.delete(asset_id)
            now = self.clock.now_ms()
            unit.audit.add(audit.done(principal, "assets.delete", asset_id, at_ms=now))
        try:
            self._drop_unused({asset.sha256})
        except Unavailable as problem:
            # The asset's record is deleted all the same; the next collection removes the bytes.
            log.warning("assets.blob_left", asset_id=asset_id, reason=problem.detail)

    def collect(
        self, principal: Principal, *, older_than_ms: int | None = None, dry_run: bool = False
    ) -> Cleanup:
        """Collect garbage: assets without references, and blobs without an asset.

        A blob and its asset are written in one unit, and this one holds an exclusive lock on the
        assets. So blobs without an asset need no grace period.
        """
        grace = GRACE_MS if older_than_ms is None else _checked_age(older_than_ms)
        now = self.clock.now_ms()
        if dry_run:
            # A write unit sees the references of all users; what others refer to is no garbage.
            with self.units.write() as unit:
                found = unit.assets.unreferenced(before_ms=now - grace, limit=MAX_COLLECTED + 1)
                doomed = [asset.asset_id for asset in found[:MAX_COLLECTED]]
                return _cleanup(found, blobs=len(_unused(unit, besides=doomed)))
        with self.units.write() as unit:
            unit.assets.hold(alone=True)
            found = unit.assets.unreferenced(before_ms=now - grace, limit=MAX_COLLECTED + 1)
            for asset in found[:MAX_COLLECTED]:
                unit.assets.delete(asset.asset_id)
                unit.audit.add(audit.done(principal, "assets.gc", asset.asset_id, at_ms=now))
        return _cleanup(found, blobs=self._drop_unused())

    def _drop_unused(self, sha256s: Collection[str] | None = None) -> int:
        """Delete the blobs without an asset, among `sha256s` or all; returns their number.

        In a unit of its own: a rollback does not restore files, so the deletion of the records must
        be committed before the blobs go.
        """
        with self.units.write() as unit:
            unit.assets.hold(alone=True)
            unused = _unused(unit, sha256s)
            for sha256 in unused:
                unit.blobs.delete(sha256)
            return len(unused)


def _unused(
    unit: "Unit", sha256s: Collection[str] | None = None, *, besides: Collection[str] = ()
) -> frozenset[str]:
    """The blobs without an asset, among `sha256s` or all, as if `besides` were deleted."""
    candidates = frozenset(unit.blobs.names() if sha256s is None else sha256s)
    return candidates - unit.assets.used(candidates, besides=besides)


def _cleanup(found: tuple[Asset, ...], *, blobs: int) -> Cleanup:
    return Cleanup(assets=found[:MAX_COLLECTED], blobs=blobs, has_more=len(found) > MAX_COLLECTED)


def _checked_age(age_ms: int) -> int:
    if not 0 <= age_ms <= MAX_AGE_MS:
        raise coded_error("assets/invalid_age", pointer="/older_than_ms", max_age_ms=MAX_AGE_MS)
    return age_ms
