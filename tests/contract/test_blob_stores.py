"""The bytes of assets, as files and as rows: one contract."""

import hashlib
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contract.conftest import UnitsOnDatabase
from understudy.assets.model import MAX_ASSET_BYTES, BlobStore
from understudy.core.errors import Unavailable
from understudy.storage.assets import FileBlobs, SqlBlobs


def named(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def listed(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


HELLO = named(b"hello")


class Store:
    """A store that is opened anew for every look."""

    def __init__(self, database: UnitsOnDatabase, directory: Path | None) -> None:
        self._house = database
        self._directory = directory

    @contextmanager
    def __call__(self) -> Iterator[BlobStore]:
        with self._house.units.write() as unit:
            directory = self._directory
            yield SqlBlobs(unit.connection) if directory is None else FileBlobs(directory)


@pytest.fixture(params=["files", "rows"])
def store(request: pytest.FixtureRequest, empty_database: UnitsOnDatabase, tmp_path: Path) -> Store:
    return Store(empty_database, tmp_path / "assets" if request.param == "files" else None)


@pytest.fixture
def files(tmp_path: Path) -> FileBlobs:
    return FileBlobs(tmp_path / "assets")


@pytest.mark.parametrize("data", [b"hello", b"\x00\xff" * 500, b"x" * MAX_ASSET_BYTES])
def test_bytes_come_back_as_they_were_put(store: Store, data: bytes) -> None:
    with store() as blobs:
        blobs.put(named(data), data)

    with store() as blobs:
        assert blobs.get(named(data)) == data
        assert blobs.names() == (named(data),)


def test_what_was_never_put_is_not_there(store: Store) -> None:
    with store() as blobs:
        assert blobs.get(HELLO) is None
        assert blobs.names() == ()
        blobs.delete(HELLO)


def test_putting_again_changes_nothing(store: Store) -> None:
    for _ in range(2):
        with store() as blobs:
            blobs.put(HELLO, b"hello")

    with store() as blobs:
        assert (blobs.get(HELLO), len(blobs.names())) == (b"hello", 1)


def test_putting_again_mends_what_was_damaged(store: Store) -> None:
    with store() as blobs:
        blobs.put(HELLO, b"jello")
        assert blobs.get(HELLO) == b"jello"
        blobs.put(HELLO, b"hello")

    with store() as blobs:
        assert blobs.get(HELLO) == b"hello"


def test_deleted_bytes_are_gone_and_others_stay(store: Store) -> None:
    with store() as blobs:
        blobs.put(HELLO, b"hello")
        blobs.put(named(b"other"), b"other")
        blobs.delete(HELLO)
        blobs.delete(HELLO)

    with store() as blobs:
        assert blobs.names() == (named(b"other"),)


def test_several_may_put_the_same_bytes_at_once(store: Store) -> None:
    def put(_: int) -> None:
        with store() as blobs:
            blobs.put(HELLO, b"hello")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(put, range(12)))

    with store() as blobs:
        assert (blobs.get(HELLO), blobs.names()) == (b"hello", (HELLO,))


def test_a_file_is_named_by_its_hash_and_for_its_owner_alone(
    files: FileBlobs, tmp_path: Path
) -> None:
    files.put(HELLO, b"hello")

    assert listed(tmp_path / "assets") == [HELLO]
    assert stat.S_IMODE((tmp_path / "assets" / HELLO).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "assets").stat().st_mode) == 0o700


def test_a_link_in_the_place_of_a_file_is_not_followed(files: FileBlobs, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"hello")
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / HELLO).symlink_to(tmp_path / "secret")

    assert files.get(HELLO) is None
    files.put(HELLO, b"hello")

    assert not (tmp_path / "assets" / HELLO).is_symlink()
    assert files.get(HELLO) == b"hello"


def test_deleting_a_link_leaves_what_it_leads_to(files: FileBlobs, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"hello")
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / HELLO).symlink_to(tmp_path / "secret")

    files.delete(HELLO)

    assert (tmp_path / "secret").exists()
    assert listed(tmp_path / "assets") == []


def test_a_directory_that_is_a_link_is_not_used(files: FileBlobs, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "assets").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(Unavailable) as problem:
        files.put(HELLO, b"hello")

    assert problem.value.code == "asset_storage_unavailable"
    assert listed(tmp_path / "elsewhere") == []


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_plain_file_is_as_good_as_missing(
    files: FileBlobs, tmp_path: Path, make: object
) -> None:
    (tmp_path / "assets").mkdir()
    make(tmp_path / "assets" / HELLO)  # type: ignore[operator]

    assert files.get(HELLO) is None


def test_a_file_that_grew_without_end_is_not_read_to_it(files: FileBlobs, tmp_path: Path) -> None:
    files.put(HELLO, b"hello")
    with (tmp_path / "assets" / HELLO).open("r+b") as file:
        file.truncate(4 * 1024**3)

    read = files.get(HELLO)

    assert read is not None
    assert len(read) == MAX_ASSET_BYTES + 1


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "", ".", "..", "x", HELLO + "\n"])
def test_a_name_that_is_no_hash_leads_nowhere(files: FileBlobs, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_bytes(b"hello")
    files.put(HELLO, b"hello")

    assert files.get(name) is None
    files.delete(name)

    assert (tmp_path / "secret").exists()
    assert files.names() == (HELLO,)


def test_what_a_crash_left_half_written_is_listed_and_can_be_removed(
    files: FileBlobs, tmp_path: Path
) -> None:
    files.put(HELLO, b"hello")
    left = ".new-0123456789abcdef"
    (tmp_path / "assets" / left).write_bytes(b"half")
    (tmp_path / "assets" / "README").write_bytes(b"mine")

    assert set(files.names()) == {HELLO, left}
    files.delete(left)

    assert listed(tmp_path / "assets") == sorted([HELLO, "README"])


def test_a_disk_that_fails_leaves_nothing_half_written(files: FileBlobs, tmp_path: Path) -> None:
    files.put(named(b"first"), b"first")
    (tmp_path / "assets" / HELLO).mkdir()

    with pytest.raises(Unavailable):
        files.put(HELLO, b"hello")

    assert listed(tmp_path / "assets") == sorted([HELLO, named(b"first")])
