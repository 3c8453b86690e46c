"""Assets: kept once, checked on every read, held by what refers to them."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ADMIN, ALICE, NOW
from understudy.assets import service as assets_service
from understudy.assets.contents import draft_of_bytes, keep, refer
from understudy.assets.model import Asset, ReferenceKind
from understudy.assets.service import GRACE_MS, AssetService
from understudy.core.audit import AuditEntry
from understudy.core.errors import Conflict, Invalid, NotFound, UnderstudyError
from understudy.core.page import PageRequest
from understudy.storage.assets import FileBlobs, SqlBlobs
from understudy.storage.schema import asset_blobs
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock


class Cellar:
    """Assets on one database, with their bytes where a daemon on it keeps them."""

    def __init__(self, database: UnitsOnDatabase, directory: Path) -> None:
        self.clock = FrozenClock()
        self.directory = directory
        self.engine = database.engine
        files = FileBlobs(directory)
        self.in_files = database.engine.dialect.name == "sqlite"
        self.units = Units(
            database.engine,
            enqueue=lambda *_: None,
            bell=database.bell,
            blobs=(lambda _: files) if self.in_files else SqlBlobs,
        )
        self.assets = AssetService(self.units, self.clock)

    def upload(self, data: bytes = b"hello", name: str = "a.txt", kind: str | None = None) -> Asset:
        self.clock.advance()
        draft = draft_of_bytes(data, file_name=name, media_type=kind)
        return self.assets.upload(ALICE, draft)[0]

    def use(self, asset: Asset, ref_id: str = "run_1") -> None:
        with self.units.write() as unit:
            unit.assets.hold()
            refer(unit, asset.asset_id, ReferenceKind.RUN, ref_id)

    def spoil(self, asset: Asset, data: bytes | None) -> None:
        """Change what is stored behind our back; None takes it away."""
        if self.in_files:
            path = self.directory / asset.sha256
            if data is None:
                path.unlink()
            else:
                path.write_bytes(data)
            return
        row = asset_blobs.c.sha256 == asset.sha256
        gone = sa.delete(asset_blobs).where(row)
        with self.engine.begin() as connection:
            connection.execute(
                gone if data is None else sa.update(asset_blobs).where(row).values(content=data)
            )

    def blobs(self) -> set[str]:
        with self.units.read() as unit:
            return set(unit.blobs.names())

    def ids(self) -> list[str]:
        return [asset.asset_id for asset in self.assets.page(ALICE, PageRequest()).items]

    def audited(self, action: str) -> list[AuditEntry]:
        with self.units.read() as unit:
            found = unit.audit.page(PageRequest(limit=200), resource="assets", actor=None).items
        return [entry for entry in found if entry.action == action]


@pytest.fixture
def cellar(database: UnitsOnDatabase, tmp_path: Path) -> Cellar:
    return Cellar(database, tmp_path / "assets")


def refusal(error: type[UnderstudyError], work: Callable[..., object], *arguments: object) -> str:
    with pytest.raises(error) as problem:
        work(*arguments)
    return f"{problem.value.domain}/{problem.value.code}"


# Keeping and reading


def test_an_asset_comes_back_with_its_bytes(cellar: Cellar) -> None:
    asset = cellar.upload(b"hello", "notes/a.txt")

    assert cellar.assets.get(ALICE, asset.asset_id) == asset
    assert cellar.assets.read(ALICE, asset.asset_id).data == b"hello"
    assert asset.asset_id.startswith("ast_")
    assert (asset.file_name, asset.media_type, asset.size) == ("a.txt", "text/plain", 5)
    assert (asset.owner_id, asset.created_at_ms) == ("alice", cellar.clock.now_ms())


def test_the_same_type_and_content_is_the_same_asset(cellar: Cellar) -> None:
    first = cellar.upload(b"hello", "a.txt")
    again, is_new = cellar.assets.upload(ALICE, draft_of_bytes(b"hello", file_name="b.txt"))

    assert (again, is_new) == (first, False)
    assert len(cellar.audited("assets.upload")) == 1


def test_each_owner_sees_the_name_and_the_time_of_their_own_upload(cellar: Cellar) -> None:
    first = cellar.upload(b"hello", "alice-salary.txt")
    cellar.clock.advance()
    again, is_new = cellar.assets.upload(ADMIN, draft_of_bytes(b"hello", file_name="b.txt"))

    assert (again.asset_id, is_new) == (first.asset_id, False)
    assert (again.file_name, again.owner_id) == ("b.txt", ADMIN.user_id)
    assert again.created_at_ms > first.created_at_ms
    for principal, own in ((ADMIN, again), (ALICE, first)):
        assert cellar.assets.get(principal, first.asset_id) == own
        assert cellar.assets.page(principal, PageRequest()).items == (own,)
        assert cellar.assets.read(principal, first.asset_id).asset == own


def test_another_type_is_another_asset_over_the_same_bytes(cellar: Cellar) -> None:
    first = cellar.upload(b"{}", kind="text/plain")
    second = cellar.upload(b"{}", kind="application/json")

    assert first.asset_id != second.asset_id
    assert cellar.blobs() == {first.sha256}


def test_assets_are_listed_newest_first(cellar: Cellar) -> None:
    uploaded = [cellar.upload(bytes([65 + n])).asset_id for n in range(3)]

    page = cellar.assets.page(ALICE, PageRequest(limit=2))

    assert [asset.asset_id for asset in page.items] == uploaded[:0:-1]
    assert page.next_cursor


def test_an_unknown_asset_is_not_found(cellar: Cellar) -> None:
    for work in (cellar.assets.get, cellar.assets.read):
        assert refusal(NotFound, work, ALICE, "ast_none") == "assets/asset_not_found"
    assert refusal(NotFound, cellar.assets.delete, ALICE, "ast_none") == "assets/asset_not_found"


@pytest.mark.parametrize("spoiled", [b"hellO", b"", b"hello ", None], ids=repr)
def test_bytes_that_changed_or_vanished_are_not_given_out(
    cellar: Cellar, spoiled: bytes | None
) -> None:
    asset, other = cellar.upload(b"hello"), cellar.upload(b"other")
    cellar.spoil(asset, spoiled)

    problem = refusal(Conflict, cellar.assets.read, ALICE, asset.asset_id)

    assert problem == "assets/asset_integrity_mismatch"
    assert cellar.assets.read(ALICE, other.asset_id).data == b"other"


@pytest.mark.parametrize("spoiled", [b"hellO", None], ids=repr)
def test_uploading_again_mends_a_damaged_asset(cellar: Cellar, spoiled: bytes | None) -> None:
    asset = cellar.upload(b"hello")
    cellar.spoil(asset, spoiled)

    assert cellar.upload(b"hello") == asset
    assert cellar.assets.read(ALICE, asset.asset_id).data == b"hello"


# References and deletion


def test_a_deleted_asset_is_gone_with_its_bytes(cellar: Cellar) -> None:
    asset = cellar.upload()

    cellar.assets.delete(ALICE, asset.asset_id)

    assert (cellar.ids(), cellar.blobs()) == ([], set())
    assert [entry.resource_id for entry in cellar.audited("assets.delete")] == [asset.asset_id]


def test_an_asset_in_use_cannot_be_deleted_and_says_by_what(cellar: Cellar) -> None:
    asset = cellar.upload()
    for ref_id in ("run_2", "run_1", "run_1"):
        cellar.use(asset, ref_id)

    problem = refusal(Conflict, cellar.assets.delete, ALICE, asset.asset_id)

    assert problem == "assets/asset_delete_blocked"
    page = cellar.assets.references(asset.asset_id, PageRequest())
    assert [(item.kind, item.ref_id) for item in page.items] == [("run", "run_1"), ("run", "run_2")]
    assert cellar.assets.read(ALICE, asset.asset_id).data == b"hello"
    assert cellar.audited("assets.delete") == []


def test_bytes_that_another_asset_has_too_stay(cellar: Cellar) -> None:
    text, json = cellar.upload(b"{}", kind="text/plain"), cellar.upload(b"{}", kind="text/json")

    cellar.assets.delete(ALICE, text.asset_id)

    assert cellar.assets.read(ALICE, json.asset_id).data == b"{}"


# Garbage collection


def test_collecting_removes_old_assets_that_nothing_needs(cellar: Cellar) -> None:
    old, used = cellar.upload(b"old"), cellar.upload(b"used")
    cellar.use(used)
    cellar.clock.advance(GRACE_MS)
    young = cellar.upload(b"young")

    done = cellar.assets.collect(ADMIN)

    assert [asset.asset_id for asset in done.assets] == [old.asset_id]
    assert (done.blobs, done.has_more) == (1, False)
    assert cellar.ids() == [young.asset_id, used.asset_id]
    assert cellar.blobs() == {used.sha256, young.sha256}
    assert [entry.resource_id for entry in cellar.audited("assets.gc")] == [old.asset_id]


def test_a_dry_run_tells_the_same_and_removes_nothing(cellar: Cellar) -> None:
    cellar.upload(b"{}", kind="text/plain")
    kept = cellar.upload(b"{}", kind="text/json")
    cellar.use(kept)
    cellar.upload(b"old")
    before = (cellar.ids(), cellar.blobs())

    told = cellar.assets.collect(ADMIN, older_than_ms=0, dry_run=True)

    assert (cellar.ids(), cellar.blobs()) == before
    done = cellar.assets.collect(ADMIN, older_than_ms=0)
    assert done == told
    assert (len(done.assets), done.blobs) == (2, 1)
    assert cellar.assets.read(ALICE, kept.asset_id).data == b"{}"


def test_bytes_without_an_asset_are_collected_too(cellar: Cellar) -> None:
    kept = cellar.upload(b"kept")
    cellar.use(kept)
    orphan = draft_of_bytes(b"orphan", file_name="x")
    with cellar.units.write() as unit:
        unit.blobs.put(orphan.sha256, orphan.data)

    done = cellar.assets.collect(ADMIN)

    assert (done.assets, done.blobs) == ((), 1)
    assert cellar.blobs() == {kept.sha256}


@pytest.mark.parametrize("age", [-1, 2**62])
def test_an_age_without_sense_is_refused(cellar: Cellar, age: int) -> None:
    with pytest.raises(Invalid) as problem:
        cellar.assets.collect(ADMIN, older_than_ms=age)

    assert problem.value.errors[0].pointer == "/older_than_ms"


def test_a_collection_is_bounded_and_says_that_there_is_more(
    cellar: Cellar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assets_service, "MAX_COLLECTED", 2)
    for number in range(3):
        cellar.upload(bytes([65 + number]))

    first = cellar.assets.collect(ADMIN, older_than_ms=0)
    second = cellar.assets.collect(ADMIN, older_than_ms=0)

    assert (len(first.assets), first.has_more) == (2, True)
    assert (len(second.assets), second.has_more) == (1, False)


# All at once


def test_many_uploads_of_one_file_make_one_asset(cellar: Cellar) -> None:
    draft = draft_of_bytes(b"hello", file_name="a.txt")

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: cellar.assets.upload(ALICE, draft), range(16)))

    assert len({asset.asset_id for asset, _ in made}) == 1
    assert [is_new for _, is_new in made].count(True) == 1


def test_a_unit_that_fails_leaves_no_asset(cellar: Cellar) -> None:
    draft = draft_of_bytes(b"hello", file_name="a.txt")
    with suppress(ZeroDivisionError), cellar.units.write() as unit:
        keep(unit, ALICE, draft, now_ms=NOW)
        raise ZeroDivisionError

    assert cellar.ids() == []
    cellar.assets.collect(ADMIN)
    assert cellar.blobs() == set()


@pytest.mark.slow
def test_no_race_loses_the_bytes_of_an_asset_in_use(cellar: Cellar) -> None:
    """Uploads that are referred to, against deletions and collections of the very same content."""
    stop = threading.Event()
    kept: list[tuple[str, bytes]] = []

    def remove() -> None:
        while not stop.is_set():
            cellar.assets.collect(ADMIN, older_than_ms=0)
            for asset in cellar.assets.page(ALICE, PageRequest()).items:
                with suppress(Conflict, NotFound):
                    cellar.assets.delete(ADMIN, asset.asset_id)

    def add(number: int) -> None:
        draft = draft_of_bytes(b"content %d" % (number // 4), file_name="x")
        if number % 2:
            # By upload, then by name, as a caller does it: it may be gone in between.
            asset, _ = cellar.assets.upload(ALICE, draft)
            with cellar.units.write() as unit:
                unit.assets.hold()
                if unit.assets.get(asset.asset_id) is None:
                    return
                refer(unit, asset.asset_id, ReferenceKind.RUN, f"run_{number}")
        else:
            with cellar.units.write() as unit:
                asset, _ = keep(unit, ALICE, draft, now_ms=NOW)
                refer(unit, asset.asset_id, ReferenceKind.RUN, f"run_{number}")
        kept.append((asset.asset_id, draft.data))

    with ThreadPoolExecutor(6) as pool:
        removers = [pool.submit(remove) for _ in range(2)]
        list(pool.map(add, range(120)))
        stop.set()
        for remover in removers:
            remover.result()

    assert kept
    for asset_id, data in kept:
        assert cellar.assets.read(ALICE, asset_id).data == data
