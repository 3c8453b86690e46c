"""Archives: good ones are read, hostile ones refused within bounds, ours always the same."""

import io
import random
import stat
import struct
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.cpu_effort import takes_under
from understudy.core.errors import LimitExceeded, UnderstudyError
from understudy.skills.bundles.archive import MAX_ARCHIVE_BYTES, read_archive, write_archive
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.limits import MAX_BUNDLE_BYTES, MAX_FILE_BYTES

SKILL = b"---\nname: x\n---\nDo it.\n"
MEGABYTE = 1024 * 1024


def packed(
    *files: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return made.getvalue()


def skill(*files: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    return packed(("SKILL.md", SKILL), *files)


def info(name: str, *, mode: int = 0, system: int = 3, extra: bytes = b"") -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)
    made.create_system, made.external_attr, made.extra = system, mode << 16, extra
    return made


def refusal(data: bytes) -> UnderstudyError:
    with pytest.raises(UnderstudyError) as refused:
        read_archive(data)
    assert refused.value.domain == "skills"
    return refused.value


def noise(size: int) -> bytes:
    """Bytes that hardly pack."""
    return random.Random(size).randbytes(size)


GOOD = {
    "at the root": (skill(("scripts/a.py", b"1")), ["SKILL.md", "scripts/a.py"]),
    "in one folder": (packed(("x/SKILL.md", SKILL), ("x/a/b", b"1")), ["SKILL.md", "a/b"]),
    "with dots before": (packed(("./SKILL.md", SKILL), ("./a", b"1")), ["SKILL.md", "a"]),
    "with an entry for the root": (packed(("./", b""), ("./SKILL.md", SKILL)), ["SKILL.md"]),
    "with folders": (packed(("x/", b""), ("x/SKILL.md", SKILL), ("x/e/", b"")), ["SKILL.md"]),
    "with what macOS leaves": (
        packed(
            *(("x/SKILL.md", SKILL), ("__MACOSX/x/._SKILL.md", b"1"), ("x/.DS_Store", b"2")),
            ("__MACOSX/", b""),
        ),
        ["SKILL.md"],
    ),
    "with another inside": (
        packed(("SKILL.md", SKILL), ("examples/SKILL.md", b"other")),
        ["SKILL.md", "examples/SKILL.md"],
    ),
    "in small letters": (packed(("skill.md", SKILL)), ["SKILL.md"]),
    "stored": (packed(("SKILL.md", SKILL), method=zipfile.ZIP_STORED), ["SKILL.md"]),
    "with dots in a name": (skill(("notes..md", b"1")), ["SKILL.md", "notes..md"]),
    "with an archive in it": (skill(("a.zip", skill())), ["SKILL.md", "a.zip"]),
    "in another language": (skill(("说明.md", b"1")), ["SKILL.md", "说明.md"]),
}


@pytest.mark.parametrize(("data", "paths"), GOOD.values(), ids=GOOD.keys())
def test_a_good_archive_is_read(data: bytes, paths: list[str]) -> None:
    bundle = read_archive(data)

    assert list(bundle) == paths
    assert bundle["SKILL.md"] == SKILL


def test_a_stream_is_read_like_bytes() -> None:
    assert read_archive(io.BytesIO(skill())) == read_archive(skill())


def test_an_archive_written_as_a_stream_is_read() -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.held = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            self.held += bytes(data)  # type: ignore[call-overload]
            return len(bytes(data))  # type: ignore[call-overload]

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("SKILL.md", SKILL)
        with archive.open("a.txt", "w", force_zip64=True) as file:
            file.write(b"words")

    assert read_archive(bytes(pipe.held))["a.txt"] == b"words"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "invalid_archive"),
        (b"no archive at all", "invalid_archive"),
        (skill()[:-1], "invalid_archive"),
        (skill() + b"\n", "invalid_archive"),
        (b"#!/bin/sh\n" + skill(), "invalid_archive"),
        (packed(), "skill_manifest_missing"),
        (packed(("README.md", b"x")), "skill_manifest_missing"),
        (packed(("a/b/SKILL.md", SKILL)), "skill_manifest_missing"),
        (packed(("a/SKILL.md", SKILL), ("b/SKILL.md", SKILL)), "invalid_archive"),
        (packed(("a/SKILL.md", SKILL), ("README.md", b"x")), "invalid_archive"),
        (packed(("SKILL.md", SKILL), method=zipfile.ZIP_BZIP2), "invalid_archive"),
        (packed(("SKILL.md", SKILL), method=zipfile.ZIP_LZMA), "invalid_archive"),
        (packed(("SKILL.md", b"x" * 102_401)), "skill_too_large"),
    ],
)
def test_what_holds_no_skill_is_refused(data: bytes, code: str) -> None:
    assert refusal(data).code == code


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "a/../../x",
        "/etc/x",
        "C:\\x",
        "C:/x",
        "..\\x",
        "\\\\host\\x",
        "a\x01b",
        "a/..",
        "a\u202eb",
    ],
)
def test_an_entry_that_leads_elsewhere_is_refused_by_name(name: str) -> None:
    refused = refusal(skill((name, b"x")))

    assert refused.code == "archive_path_refused"
    assert repr(name) in refused.detail


def test_an_entry_with_a_nul_in_its_name_is_refused() -> None:
    assert refusal(skill(("a_b", b"x")).replace(b"a_b", b"a\0b")).code == "archive_path_refused"


@pytest.mark.parametrize(
    "kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK]
)
@pytest.mark.parametrize("system", [0, 3])
def test_links_and_devices_are_refused(kind: int, system: int) -> None:
    entry = info("etc", mode=kind | 0o777, system=system)

    assert refusal(skill((entry, b"/etc/hosts"))).code == "archive_path_refused"


def test_a_folder_that_is_a_link_is_refused_with_what_lies_below_it() -> None:
    link = info("a", mode=stat.S_IFLNK | 0o777)

    assert refusal(skill((link, b"/etc"), ("a/hosts", b"x"))).code == "archive_path_refused"


def test_a_hard_link_is_refused() -> None:
    extra = struct.pack("<2H", 0x000D, 20) + b"\0" * 12 + b"SKILL.md"

    assert refusal(skill((info("a", extra=extra), b""))).code == "archive_path_refused"


@pytest.mark.parametrize(
    ("one", "other"),
    [("SKILL.md", "skill.md"), ("caf\u00e9", "cafe\u0301"), ("a", "A"), ("a", "a/b"), ("a", "./a")],
)
def test_twins_are_refused(one: str, other: str) -> None:
    data = packed(("SKILL.md", SKILL), *((n, b"x") for n in (one, other) if n != "SKILL.md"))

    assert refusal(data).code == "archive_path_refused"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice_is_refused() -> None:
    assert refusal(skill(("SKILL.md", SKILL))).code == "archive_path_refused"
    assert refusal(skill(("a", b"1"), ("a", b"2"))).code == "archive_path_refused"


def patched(data: bytes, *changes: tuple[bytes, int, str, int]) -> bytes:
    """The archive with fields behind the first of a mark overwritten."""
    made = bytearray(data)
    for mark, offset, form, value in changes:
        struct.pack_into(form, made, made.index(mark) + offset, value)
    return bytes(made)


LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
LYING: dict[str, Callable[[bytes], bytes]] = {
    "encrypted": lambda data: patched(data, (CENTRAL, 8, "<H", 1), (LOCAL, 6, "<H", 1)),
    "encrypted in the header only": lambda data: patched(data, (LOCAL, 6, "<H", 1)),
    "strongly encrypted": lambda data: patched(data, (CENTRAL, 8, "<H", 0x40)),
    "unknown method": lambda data: patched(data, (CENTRAL, 10, "<H", 99), (LOCAL, 8, "<H", 99)),
    "methods that differ": lambda data: patched(data, (CENTRAL, 10, "<H", 0)),
    "small size in the directory": lambda data: patched(data, (CENTRAL, 24, "<L", 1)),
    "small sizes": lambda data: patched(data, (CENTRAL, 24, "<L", 1), (LOCAL, 22, "<L", 1)),
    "large sizes": lambda data: patched(data, (CENTRAL, 24, "<L", 999), (LOCAL, 22, "<L", 999)),
    "packed size beyond the end": lambda data: patched(
        data, (CENTRAL, 20, "<L", 10**8), (LOCAL, 18, "<L", 10**8)
    ),
    "packed size too small": lambda data: patched(
        data, (CENTRAL, 20, "<L", 5), (LOCAL, 18, "<L", 5)
    ),
    "wrong sum": lambda data: patched(data, (CENTRAL, 16, "<L", 7)),
    "ZIP64": lambda data: patched(data, (CENTRAL, 24, "<L", 0xFFFFFFFF)),
    "header elsewhere": lambda data: patched(data, (CENTRAL, 42, "<L", 1)),
    "header beyond the end": lambda data: patched(data, (CENTRAL, 42, "<L", 10**9)),
    "names that differ": lambda data: patched(data, (LOCAL, 30, "<B", ord("X"))),
    "another disk": lambda data: patched(data, (END, 4, "<H", 1)),
    "fewer entries than there are": lambda data: patched(
        data, (END, 8, "<H", 1), (END, 10, "<H", 1)
    ),
    "more entries than there are": lambda data: patched(
        data, (END, 8, "<H", 9), (END, 10, "<H", 9)
    ),
    "directory elsewhere": lambda data: patched(data, (END, 16, "<L", 3)),
    "long comment": lambda data: patched(data, (END, 20, "<H", 9)),
    "name beyond the directory": lambda data: patched(data, (CENTRAL, 28, "<H", 60_000)),
}


@pytest.mark.parametrize("lie", LYING.values(), ids=LYING.keys())
def test_headers_that_lie_are_refused(lie: Callable[[bytes], bytes]) -> None:
    data = packed(("SKILL.md", SKILL * 3), ("b", b"x"))
    assert read_archive(data)

    assert refusal(lie(data)).code == "invalid_archive"


def test_entries_that_share_their_bytes_are_refused() -> None:
    data = packed(("SKILL.md", SKILL), ("a", b"1"))
    second = data.rindex(CENTRAL)
    made = bytearray(data)
    # The record of the second entry points at the first and takes its name and sizes.
    first = data.index(CENTRAL)
    record = data[first:second]
    made[second : data.index(END)] = record
    end = made.index(END)
    struct.pack_into("<L", made, end + 12, len(record) * 2)

    assert "over another" in refusal(bytes(made)).detail


def test_a_bomb_is_stopped_early_and_in_little_memory() -> None:
    zeros = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = b"".join(zeros.compress(bytes(MEGABYTE)) for _ in range(32)) + zeros.flush()
    honest = packed(("SKILL.md", SKILL), ("bomb", b"x"))
    entry_at = honest.rindex(LOCAL)
    # By hand: the sizes say that it is small.
    name = b"bomb"
    local = struct.pack("<4s5H3L2H", LOCAL, 20, 0, 8, 0, 0x21, 1, len(body), 100, len(name), 0)
    central = struct.pack(
        "<4s6H3L5H2L",
        *(CENTRAL, 20, 20, 0, 8, 0, 0x21, 1, len(body), 100, len(name), 0, 0, 0, 0, 0, entry_at),
    )
    first = honest[honest.index(CENTRAL) : honest.rindex(CENTRAL)]
    start = honest[:entry_at] + local + name + body
    directory = first + central + name
    end = struct.pack("<4s4H2LH", END, 0, 0, 2, 2, len(directory), len(start), 0)
    tracemalloc.start()
    begun = time.process_time()

    refused = refusal(start + directory + end)

    assert refused.code == "archive_too_large"
    assert tracemalloc.get_traced_memory()[1] < 40 * MEGABYTE
    assert time.process_time() - begun < 5
    tracemalloc.stop()


def test_what_says_that_it_is_large_is_not_unpacked() -> None:
    refused = refusal(skill(("a", bytes(MAX_FILE_BYTES + 1))))

    assert isinstance(refused, LimitExceeded)
    assert "'a'" in refused.detail


def test_one_file_and_all_files_have_their_limits() -> None:
    largest = noise(MAX_FILE_BYTES)

    assert read_archive(skill(("a", largest)))["a"] == largest
    # Repeats that are far apart enough for the ratio to stay small.
    half = noise(30_000) * 85
    assert refusal(skill(*((f"f{n}", half) for n in range(9)))).code == "archive_too_large"


def test_the_manifest_takes_no_room_of_the_other_files() -> None:
    each = (noise(30_000) * 175)[:MAX_FILE_BYTES]
    full = [(f"f{n}", each) for n in range(MAX_BUNDLE_BYTES // MAX_FILE_BYTES)]

    assert read_archive(skill(*full)).size == MAX_BUNDLE_BYTES + len(SKILL)
    refused = refusal(skill(*full, ("one-more", b"x")))
    assert (refused.code, refused.params) == ("archive_too_large", {"limit": MAX_BUNDLE_BYTES})


@pytest.mark.parametrize(
    ("size", "fits"), [(MEGABYTE, True), (MEGABYTE + 1, False)], ids=["at", "above"]
)
def test_above_a_megabyte_the_ratio_counts(size: int, fits: bool) -> None:
    data = skill(("zeros", bytes(size - len(SKILL))))

    if fits:
        assert read_archive(data)
    else:
        assert "100 times" in refusal(data).detail


def test_many_small_bombs_are_one_large_one() -> None:
    assert "100 times" in refusal(skill(*((f"f{n}", bytes(900_000)) for n in range(3)))).detail


def test_too_many_entries_are_refused() -> None:
    assert refusal(skill(*((f"f{n}", b"") for n in range(500)))).code == "archive_too_large"
    assert read_archive(skill(*((f"f{n}", b"") for n in range(499))))


@pytest.mark.parametrize("lying", [False, True])
def test_a_hundred_thousand_entries_are_refused_at_once(lying: bool) -> None:
    record = struct.pack("<4s6H3L5H2L", CENTRAL, *[0] * 9, 1, 0, 0, 0, 0, 0, 0) + b"a"
    directory = record * 100_000
    count = 500 if lying else 0xFFFF
    end = struct.pack("<4s4H2LH", END, 0, 0, count, count, len(directory), 0, 0)

    refused = refusal(directory + end)

    assert refused.code == ("invalid_archive" if lying else "archive_too_large")
    assert takes_under(1, lambda: refusal(directory + end))


def test_a_body_over_the_limit_is_not_read_to_its_end() -> None:
    endless = io.BytesIO(bytes(MAX_ARCHIVE_BYTES + 2 * MEGABYTE))

    with pytest.raises(LimitExceeded):
        read_archive(endless)
    assert endless.tell() == MAX_ARCHIVE_BYTES + 1


def test_an_archive_of_ours_is_always_the_same_and_reads_back() -> None:
    files = {
        "SKILL.md": SKILL,
        "scripts/run": b"#!/bin/sh\ntrue\n",
        "zeros": bytes(3 * MEGABYTE),
        "说明.md": b"words",
    }
    bundle = Bundle(files)
    written = write_archive(bundle, folder="my-skill")

    assert written == write_archive(dict(reversed(files.items())), folder="my-skill")
    assert read_archive(written) == bundle
    with zipfile.ZipFile(io.BytesIO(written)) as archive:
        assert archive.testzip() is None
        assert {name.partition("/")[0] for name in archive.namelist()} == {"my-skill"}
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    assert modes["my-skill/scripts/run"] == stat.S_IFREG | 0o755
    assert modes["my-skill/SKILL.md"] == stat.S_IFREG | 0o644


SAMPLE = packed(("x/", b""), ("x/SKILL.md", SKILL), ("x/a.txt", b"words " * 50))


def read_or_refused(data: bytes) -> Bundle | None:
    try:
        return read_archive(data)
    except UnderstudyError:
        return None


@settings(max_examples=100)
@given(st.binary(max_size=300))
def test_no_bytes_raise_anything_but_our_errors(data: bytes) -> None:
    assert read_or_refused(data) is None
    assert read_or_refused(data + SAMPLE) is None or data == b""


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, len(SAMPLE) - 1), st.integers(0, 255)), max_size=4))
def test_no_damage_raises_anything_but_our_errors(changes: list[tuple[int, int]]) -> None:
    made = bytearray(SAMPLE)
    for at, value in changes:
        made[at] = value
    bundle = read_or_refused(bytes(made))

    assert bundle is None or bundle["SKILL.md"] == SKILL
