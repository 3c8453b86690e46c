"""Bundles as rows, for daemons that share a database; each file is stored once, by its hash."""

from collections.abc import Collection, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.errors import Invalid, LimitExceeded, coded_error
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.store import Places, Settled
from understudy.skills.slug import check_slug
from understudy.storage.bundle_folders import is_path
from understudy.storage.rows import insert_new, insert_new_of
from understudy.storage.schema import skill_blobs, skill_bundle_files, skill_bundles, skill_trash
from understudy.storage.skill_bundle_cache import BundleCache
from understudy.storage.skill_bundle_places import free_name
from understudy.storage.visible_connection import VisibleConnection


class SqlSkillBundles:
    """Bundles in tables. The rows of the versions alone say which are in the trash."""

    def __init__(self, connection: VisibleConnection, cache: BundleCache | None = None) -> None:
        self._connection = connection
        self._cache = cache

    def stage(self, bundle: Bundle) -> None:
        """Do nothing: rows need no staging."""

    def unstage(self, bundle: Bundle) -> None:
        """Do nothing: nothing was staged."""

    def put(self, slug: str, number: int, bundle: Bundle) -> None:
        """Store a bundle; `Conflict` when the number is in use."""
        key = {"slug": check_slug(slug), "number": number}
        if not insert_new(self._connection, skill_bundles, {**key, "digest": bundle.digest}):
            raise coded_error("skills/skill_version_taken", number=number, slug=slug)
        named = {path: sha256(data).hexdigest() for path, data in bundle.items()}
        self._keep({named[path]: data for path, data in bundle.items()})
        self._connection.execute(
            sa.insert(skill_bundle_files),
            [
                {**key, "path": path, "size": len(data), "sha256": named[path]}
                for path, data in bundle.items()
            ],
        )

    def get(self, slug: str, number: int) -> Bundle | None:
        """The whole bundle; None when there is none."""
        found = self._connection.execute(_CONTENTS, {"slug": slug, "number": number})
        files = {path: bytes(content) for path, content in found}
        try:
            return Bundle(files) if files else None
        except (Invalid, LimitExceeded):
            # The bundle is damaged.
            return None

    def read(self, slug: str, number: int, path: str) -> bytes | None:
        """One file of a version; None when there is none of that path."""
        if not is_path(path):
            # Some databases reject unprintable values.
            return None
        values = {"slug": slug, "number": number, "path": path}
        content = self._connection.execute(_CONTENT, values).scalar()
        return None if content is None else bytes(content)

    def folder(self, slug: str, number: int, *, unpack: bool = True) -> Path | None:
        """The folder of a copy of the bundle on this machine, made if `unpack` is set."""
        if self._cache is None:
            raise coded_error("skills/skill_storage_unavailable:no_folder")
        values = {"slug": slug, "number": number}
        digest = self._connection.execute(_DIGEST, values).scalar()
        if digest is None:
            return None
        held = self._cache.find(digest)
        if held is not None or not unpack:
            return held
        return self._cache.keep(self._whole(slug, number, digest))

    def numbers(self, slug: str) -> frozenset[int]:
        """Every number in use."""
        return frozenset(self._connection.execute(_NUMBERS, {"slug": slug}).scalars())

    def trash(self, slug: str, *, at_ms: int) -> str:
        """A name in the trash for the versions of a slug, whose bundles stay in place."""
        return free_name(check_slug(slug), at_ms // 1000, self._is_in_trash)

    def restore(self, slug: str, trash_name: str) -> None:
        """Do nothing: the rows of the versions say which are in the trash."""
        if not trash_name.startswith(f"{slug}.") or not self._is_in_trash(trash_name):
            raise coded_error("skills/skill_trash_not_found", trash_name=trash_name)

    def erase(self, slug: str, numbers: Collection[int]) -> None:
        """Delete the files of versions, and cached copies of them; the numbers stay in use."""
        files, blobs, bundles = skill_bundle_files, skill_blobs, skill_bundles
        these = files.c.slug == slug, files.c.number.in_(numbers)
        named = self._connection.execute(sa.select(files.c.sha256).where(*these)).scalars().all()
        digests = sa.select(bundles.c.digest).where(
            bundles.c.slug == slug, bundles.c.number.in_(numbers)
        )
        if self._cache is not None:
            for digest in self._connection.execute(digests).scalars():
                self._cache.drop(digest)
        self._connection.execute(sa.delete(files).where(*these))
        in_use = sa.select(files.c.sha256)
        self._connection.execute(
            sa.delete(blobs).where(blobs.c.sha256.in_(named), blobs.c.sha256.not_in(in_use))
        )

    def settle(self, places: Places) -> Settled:
        """Sweep the cache of copies; the bundles are rows of the same transactions."""
        return Settled(removed=0 if self._cache is None else self._cache.sweep())

    def _keep(self, blobs: Mapping[str, bytes]) -> None:
        # In one order, to avoid a deadlock between writers of the same files.
        rows: list[dict[str, Any]] = [
            {"sha256": name, "content": blobs[name]} for name in sorted(blobs)
        ]
        for row in rows:
            self._connection.execute(_KEEP[self._connection.dialect.name], row)

    def _whole(self, slug: str, number: int, digest: str) -> Bundle:
        bundle = self.get(slug, number)
        if bundle is None or bundle.digest != digest:
            raise coded_error("skills/skill_bundle_damaged", number=number, slug=slug)
        return bundle

    def _is_in_trash(self, name: str) -> bool:
        query = sa.select(skill_trash.c.trash_name).where(skill_trash.c.trash_name == name)
        return self._connection.execute(query).first() is not None


_KEEP: Final = insert_new_of(skill_blobs)
_THIS: Final = (
    skill_bundle_files.c.slug == sa.bindparam("slug"),
    skill_bundle_files.c.number == sa.bindparam("number"),
)
_WITH_BLOBS: Final = skill_bundle_files.join(
    skill_blobs, skill_blobs.c.sha256 == skill_bundle_files.c.sha256
)
_CONTENTS: Final = (
    sa.select(skill_bundle_files.c.path, skill_blobs.c.content)
    .select_from(_WITH_BLOBS)
    .where(*_THIS)
)
_CONTENT: Final = (
    sa.select(skill_blobs.c.content)
    .select_from(_WITH_BLOBS)
    .where(*_THIS, skill_bundle_files.c.path == sa.bindparam("path"))
)
_DIGEST: Final = sa.select(skill_bundles.c.digest).where(
    skill_bundles.c.slug == sa.bindparam("slug"), skill_bundles.c.number == sa.bindparam("number")
)
_NUMBERS: Final = sa.select(skill_bundles.c.number).where(
    skill_bundles.c.slug == sa.bindparam("slug")
)
