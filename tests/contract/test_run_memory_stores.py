"""Run memories, as files and as rows: one contract; then what only files can meet."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.run_memory_harness import KEPT_TEXTS, make_record
from understudy.core.errors import DamagedRecord, Unavailable
from understudy.memory.ports import Found, RunMemoryStore
from understudy.memory.record import RunMemoryRecord, SemanticCapture, record_json
from understudy.runs.model import RunStatus
from understudy.storage.run_memory_files import MAX_BYTES, FileRunMemories
from understudy.storage.run_memory_rows import SqlRunMemories
from understudy.storage.schema import run_memory_bodies

FULL = make_record(
    "run-1",
    scope_keys=("session:s1", "project:garden", "workspace:default"),
    semantic_capture=SemanticCapture.PENDING,
    status=RunStatus.FAILED,
    artifact_ids=("ast_1", "art_2"),
    failure_markers=("failed", "error: boom"),
)
BARE = make_record("run-2", request_preview=None, outcome_preview=None, summary="")


class Store:
    """A store that is opened anew for every look."""

    def __init__(self, database: UnitsOnDatabase, directory: Path | None) -> None:
        self._house = database
        self._directory = directory

    @contextmanager
    def __call__(self) -> Iterator[RunMemoryStore]:
        with self._house.units.write() as unit:
            directory = self._directory
            yield (
                SqlRunMemories(unit.connection) if directory is None else FileRunMemories(directory)
            )

    def tamper(self, run_id: str, body: object) -> None:
        """Put something else where a record stands."""
        if self._directory is not None:
            safe(self._directory, run_id).write_text(json.dumps(body))
            return
        with self._house.units.write() as unit:
            unit.connection.execute(
                run_memory_bodies.update()
                .where(run_memory_bodies.c.run_id == run_id)
                .values(body=body)
            )


@pytest.fixture(params=["files", "rows"])
def store(request: pytest.FixtureRequest, empty_database: UnitsOnDatabase, tmp_path: Path) -> Store:
    return Store(empty_database, tmp_path / "run-memories" if request.param == "files" else None)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "run-memories"


@pytest.fixture
def files(directory: Path) -> FileRunMemories:
    return FileRunMemories(directory)


def safe(directory: Path, run_id: str) -> Path:
    return directory / "__safe" / f"id-{run_id.encode().hex()}.json"


def found_in(files: FileRunMemories) -> dict[str | None, Found]:
    return {found.path: found for found in files.scan()}


@pytest.mark.parametrize("record", [FULL, BARE], ids=["full", "bare"])
def test_a_record_comes_back_as_it_was_put(store: Store, record: RunMemoryRecord) -> None:
    with store() as memories:
        memories.put(record)

    with store() as memories:
        assert memories.get(record.run_id) == record
        assert memories.readable([record.run_id, "run-none"]) == {record.run_id: record}


@pytest.mark.parametrize("odd", KEPT_TEXTS.values(), ids=KEPT_TEXTS)
def test_odd_texts_come_back_as_they_were(store: Store, odd: str) -> None:
    record = make_record("run-1", summary=odd, outcome_preview=odd, failure_markers=(odd,))
    with store() as memories:
        memories.put(record)

    with store() as memories:
        assert memories.get("run-1") == record


def test_what_was_never_put_is_not_there(store: Store) -> None:
    with store() as memories:
        assert memories.get("run-1") is None
        assert memories.readable(["run-1"]) == {}
        assert list(memories.scan()) == []
        memories.delete(["run-1"])


def test_putting_again_replaces_and_changes_the_stamp(store: Store) -> None:
    with store() as memories:
        first = memories.put(FULL)
        second = memories.put(replace(FULL, semantic_capture=SemanticCapture.COMPLETED))

    with store() as memories:
        [found] = memories.scan()
        assert (found.stamp, found.run_id, found.is_canonical) == (second, "run-1", True)
        assert first != second
        assert memories.get("run-1") == replace(FULL, semantic_capture=SemanticCapture.COMPLETED)


def test_deleted_records_are_gone_and_others_stay(store: Store) -> None:
    with store() as memories:
        for number in range(4):
            memories.put(make_record(f"run-{number}"))
        memories.delete(["run-0", "run-2", "run-none"])

    with store() as memories:
        assert sorted(str(found.run_id) for found in memories.scan()) == ["run-1", "run-3"]
        for found in memories.scan():
            memories.set_aside(found)
            memories.discard(found)
        assert list(memories.scan()) == list(memories.left_aside()) == []


def test_what_was_set_aside_comes_back_if_nothing_comes_of_it(store: Store) -> None:
    with store() as memories:
        memories.put(FULL)
        memories.put(BARE)
    taken: list[Found] = []

    def fail() -> None:
        with store() as memories:
            taken.extend(memories.scan())
            for found in taken:
                memories.set_aside(found)
            assert list(memories.scan()) == []
            assert memories.get("run-1") is None
            raise RuntimeError("not to be")

    with pytest.raises(RuntimeError):
        fail()

    with store() as memories:
        for found in taken:
            memories.put_back(found)
            memories.put_back(found)
        assert sorted(map(str, memories.scan())) == sorted(map(str, taken))
        assert memories.readable(["run-1", "run-2"]) == {"run-1": FULL, "run-2": BARE}
        assert list(memories.left_aside()) == []


DAMAGED = {
    "not an object": ["run-1"],
    "empty": {},
    "of another run": record_json(make_record("run-2")),
    "an unknown receipt": record_json(FULL) | {"semantic_capture": "maybe"},
    "half a pair": record_json(FULL) | {"scope_keys": ["session:s1", "a\ud800"]},
    "NUL": record_json(FULL) | {"scope_keys": ["a\0"]},
    "no memory": record_json(FULL) | {"memory": None},
    "a time that is none": record_json(FULL)
    | {"memory": {**record_json(FULL)["memory"], "recorded_at_ms": "now"}},
}


@pytest.mark.parametrize("body", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_record_says_so_and_does_not_hide_the_others(store: Store, body: object) -> None:
    with store() as memories:
        memories.put(FULL)
        memories.put(BARE)
    store.tamper("run-1", body)

    with store() as memories:
        with pytest.raises(DamagedRecord, match="run-1"):
            memories.get("run-1")
        assert memories.readable(["run-1", "run-2"]) == {"run-2": BARE}
        assert len(list(memories.scan())) == 2


def test_a_file_is_plain_json_for_its_owner_alone(files: FileRunMemories, directory: Path) -> None:
    files.put(FULL)

    path = safe(directory, "run-1")
    assert json.loads(path.read_text()) == record_json(FULL)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (
        stat.S_IMODE(path.parent.stat().st_mode) == stat.S_IMODE(directory.stat().st_mode) == 0o700
    )
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("torn", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b" " * (MAX_BYTES + 1)])
def test_a_torn_file_is_damaged(files: FileRunMemories, directory: Path, torn: bytes) -> None:
    files.put(FULL)
    safe(directory, "run-1").write_bytes(torn)

    with pytest.raises(DamagedRecord):
        files.get("run-1")


def test_a_record_under_its_older_name_is_read_and_moves_when_written(
    files: FileRunMemories, directory: Path
) -> None:
    directory.mkdir()
    (directory / "run-1.json").write_text(json.dumps(record_json(FULL)))

    assert files.get("run-1") == FULL
    assert found_in(files)["run-1.json"] == Found(
        path="run-1.json", run_id="run-1", is_canonical=False, is_legacy=True
    )
    files.put(FULL)
    assert list(found_in(files)) == [f"__safe/{safe(directory, 'run-1').name}"]


def test_the_safe_name_is_preferred_and_both_are_deleted(
    files: FileRunMemories, directory: Path
) -> None:
    files.put(FULL)
    (directory / "run-1.json").write_text("{")

    assert files.get("run-1") == FULL
    files.delete(["run-1"])
    assert found_in(files) == {}


@pytest.mark.parametrize(
    "run_id", ["../outside", "..", ".", "a/b", "", "\x00", ".hidden", "run\n1"]
)
def test_an_id_that_is_a_path_leads_nowhere(
    files: FileRunMemories, directory: Path, run_id: str
) -> None:
    directory.mkdir()
    outside = directory.parent / "outside.json"
    outside.write_text(json.dumps(record_json(FULL)))

    assert files.get(run_id) is None
    files.delete([run_id])
    assert outside.exists()


@pytest.mark.parametrize(
    "path", ["../outside.json", "__safe/../../outside.json", "..", "__safe", ""]
)
def test_only_files_of_the_store_are_set_aside(
    files: FileRunMemories, directory: Path, path: str
) -> None:
    files.put(FULL)
    outside = directory.parent / "outside.json"
    outside.write_text("mine")

    found = Found(path=path, run_id=None, is_canonical=False)
    with pytest.raises(Unavailable):
        files.set_aside(found)
    with suppress(Unavailable):
        files.put_back(found)
    with suppress(Unavailable):
        files.discard(found)
    assert outside.exists()
    assert files.get("run-1") == FULL


def test_what_is_set_aside_is_not_listed_and_does_not_replace_what_is_newer(
    files: FileRunMemories, directory: Path
) -> None:
    files.put(FULL)
    (directory / "run-2.json").write_text(json.dumps(record_json(BARE)))
    first, second = sorted(files.scan(), key=lambda found: str(found.run_id))
    for found in (first, second):
        files.set_aside(found)
    assert list(files.scan()) == []
    assert {(it.path, it.run_id) for it in files.left_aside()} == {
        (first.path, "run-1"),
        (second.path, "run-2"),
    }

    newer = replace(FULL, semantic_capture=SemanticCapture.COMPLETED)
    files.put(newer)
    for found in files.left_aside():
        files.put_back(found)

    assert files.readable(["run-1", "run-2"]) == {"run-1": newer, "run-2": BARE}
    assert list(files.left_aside()) == []


@pytest.mark.parametrize("name", [".aside-", ".aside-.", ".aside-.."])
def test_a_name_that_nothing_is_set_aside_under_is_a_stranger(
    files: FileRunMemories, directory: Path, name: str
) -> None:
    files.put(FULL)
    (directory / "__safe" / name).write_text("{}")

    assert list(files.left_aside()) == []
    assert f"__safe/{name}" in found_in(files)


def test_what_does_not_belong_is_found_and_can_be_discarded(
    files: FileRunMemories, directory: Path
) -> None:
    files.put(FULL)
    odd = ["not-a-safe-id.json", "id-zz.json", "id-AB.json", "id-ff.json", ".new-0123456789abcdef"]
    for name in odd:
        (directory / "__safe" / name).write_text("{}")
    (directory / "notes.txt").write_text("mine")
    safe(directory, "run-3").symlink_to("/etc/passwd")
    os.close(os.open(os.fsencode(directory / "__safe") + b"/bad-\xff", os.O_CREAT))

    strange = [found for found in files.scan() if not found.is_canonical]

    assert len(strange) == len(odd) + 3
    assert not any(found.is_legacy or found.stamp for found in strange)
    assert files.get("run-3") is None
    for found in strange:
        files.set_aside(found)
        files.discard(found)
    assert [found.run_id for found in files.scan()] == ["run-1"]
    assert Path("/etc/passwd").exists()


def test_a_store_that_cannot_be_listed_says_so(files: FileRunMemories, directory: Path) -> None:
    directory.mkdir()
    (directory / "__safe").write_text("in the way")

    with pytest.raises(Unavailable) as refused:
        files.scan()
    assert (refused.value.domain, refused.value.code) == ("run_memories", "run_memory_scan_failed")
    with pytest.raises(Unavailable) as not_kept:
        files.put(FULL)
    assert not_kept.value.code == "run_memory_storage_unavailable"


def test_a_store_that_is_a_link_is_not_followed(files: FileRunMemories, directory: Path) -> None:
    elsewhere = directory.parent / "elsewhere"
    FileRunMemories(elsewhere).put(FULL)
    directory.symlink_to(elsewhere)

    with pytest.raises(Unavailable):
        files.scan()
    with pytest.raises(Unavailable):
        files.delete(["run-1"])
    with pytest.raises(Unavailable):
        files.put(BARE)
    assert safe(elsewhere, "run-1").exists()


def test_nothing_is_made_where_a_link_leads(files: FileRunMemories, directory: Path) -> None:
    elsewhere = directory.parent / "elsewhere"
    elsewhere.mkdir()
    directory.symlink_to(elsewhere)
    with pytest.raises(Unavailable):
        files.put(FULL)
    assert list(elsewhere.iterdir()) == []

    directory.unlink()
    directory.mkdir()
    (directory / "__safe").symlink_to(elsewhere)
    with pytest.raises(Unavailable):
        files.put(FULL)
    assert list(elsewhere.iterdir()) == []


def test_what_cannot_be_deleted_is_named(files: FileRunMemories, directory: Path) -> None:
    path = safe(directory, "run-1")
    (path / "inside").mkdir(parents=True)

    with pytest.raises(Unavailable) as refused:
        files.delete(["run-1"])

    assert refused.value.code == "run_memory_delete_failed"
    assert refused.value.params == {"path": f"__safe/{path.name}", "run_id": "run-1"}
    [found] = files.scan()
    assert not found.is_canonical
    assert path.is_dir()
