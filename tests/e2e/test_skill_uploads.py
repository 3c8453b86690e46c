"""Archives that people upload: good ones are kept, hostile ones leave nothing behind."""

import io
import json
import stat
import struct
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.skill_daemon import SkillDaemon, SkillUsers
from tests.support.skill_texts import ALL, HARMFUL, MANIFEST, SHIPPED, packed, skill_md
from understudy.daemon.resources import RUN_MEMORIES

pytestmark = pytest.mark.e2e

MEGABYTE = 1024 * 1024
NOTHING = "---\ndescription: Nameless\n---\nDo it.\n"


def entry(name: str, *, mode: int = stat.S_IFREG | 0o644) -> zipfile.ZipInfo:
    """An entry as it is named, whatever Python would make of that name."""
    made = zipfile.ZipInfo("x")
    made.filename, made.create_system, made.external_attr = name, 3, mode << 16
    return made


def zipped(*files: tuple[str | zipfile.ZipInfo, str | bytes]) -> bytes:
    """An archive of these entries in this order."""
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")
        for name, data in files:
            archive.writestr(name, data)
    return made.getvalue()


def with_entry(name: str | zipfile.ZipInfo, data: str | bytes = "x") -> bytes:
    """A good skill, and an entry beside its SKILL.md."""
    return zipped((MANIFEST, skill_md("Refused one")), (name, data))


def everything(skill_daemon: SkillDaemon) -> set[Path]:
    """Every file under the home and what lies beside it, but what the daemon writes always, and its
    drafts of run memories, which it writes again after the test that waited for the run."""
    top = skill_daemon.daemon.home.parent
    kept = {path for path in top.rglob("*") if not path.name.startswith("understudy.db")}
    drafts = {path for path in kept if path.match(f"{RUN_MEMORIES}/*/.new-*")}
    return {path for path in kept - drafts if path.suffix not in {".log", ".pyc"}}


GOOD = {
    "at the root": lambda name: zipped((MANIFEST, skill_md(name)), ("scripts/a.py", "print(1)\n")),
    "in one folder": lambda name: zipped(
        ("folder/", ""), ("folder/SKILL.md", skill_md(name)), ("folder/scripts/a.py", "print(1)\n")
    ),
    "with dots in front": lambda name: zipped(
        ("./SKILL.md", skill_md(name)), ("./scripts/a.py", "print(1)\n")
    ),
    "with what macOS leaves": lambda name: zipped(
        ("folder/SKILL.md", skill_md(name)),
        ("folder/scripts/a.py", "print(1)\n"),
        ("folder/.DS_Store", b"\0\1"),
        ("folder/scripts/._a.py", b"\0\1"),
        ("__MACOSX/folder/._SKILL.md", b"\0\1"),
    ),
}


@pytest.mark.parametrize("kind", GOOD)
def test_a_good_archive_is_kept_and_its_uploader_can_use_it_at_once(
    users: SkillUsers, kind: str
) -> None:
    answer = users.ann.upload(GOOD[kind](f"{kind} of {users.ann.user_id}"))

    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert {"id", "slug", "version", "name"} <= set(made)
    assert (made["version"], made["visibility"]) == (1, "private")
    paths = [it["path"] for it in users.ann.get(f"{made['slug']}/files")["items"]]
    assert paths == [MANIFEST, "scripts/a.py"]
    told = users.ann.run(("use_skill", {"name": made["slug"]}), agent=users.plain)
    assert made["slug"] in told.offered
    assert not told.result.is_error


BAD: dict[str, tuple[bytes, str]] = {
    "not an archive": (b"PK\3\4 but nothing else", "ZIP"),
    "no SKILL.md": (zipped(("README.md", "x")), MANIFEST),
    "two folders deep": (zipped(("a/b/SKILL.md", skill_md("Deep"))), MANIFEST),
    "blank": (zipped((MANIFEST, " \n\t\n")), MANIFEST),
    "no name": (zipped((MANIFEST, NOTHING)), "name"),
    "bad slug": (zipped((MANIFEST, skill_md("x", slug="Bad_Slug"))), "slug"),
}


@pytest.mark.parametrize("kind", BAD)
def test_an_archive_without_a_skill_is_refused_with_the_cause(
    file_users: SkillUsers, kind: str
) -> None:
    archive, cause = BAD[kind]
    answer = file_users.ann.upload(archive)

    assert answer.status_code == 400
    assert cause in answer.json()["detail"]
    assert file_users.ann.listed(owner_id=file_users.ann.user_id) == set()


def test_the_slug_of_a_shipped_skill_is_not_to_be_had(file_users: SkillUsers) -> None:
    archive = packed({MANIFEST: skill_md("Mine", slug=SHIPPED)})

    for person in (file_users.ann, file_users.root):
        assert person.upload(archive).status_code == 409


ELSEWHERE = {
    "above": "../x",
    "above in the end": "a/../../x",
    "from the root": "/etc/x",
    "from a drive": "C:\\x",
    "above the other way": "..\\x",
    "on another machine": "\\\\host\\x",
    "with a NUL": "a\0b",
}


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_an_entry_that_leads_elsewhere_leaves_everything_as_it_was(
    file_users: SkillUsers, kind: str
) -> None:
    before = everything(file_users.skill_daemon)
    answer = file_users.ann.upload(with_entry(entry(ELSEWHERE[kind])))

    assert answer.status_code == 400, answer.text
    assert everything(file_users.skill_daemon) == before
    assert file_users.ann.listed(owner_id=file_users.ann.user_id) == set()


def test_two_dots_within_a_name_lead_nowhere(users: SkillUsers) -> None:
    name = f"Dotted {users.ann.user_id}"
    made = users.ann.keep({MANIFEST: skill_md(name), "notes..md": "Notes."})

    assert users.ann.get(f"{made['slug']}/files/notes..md")["content"] == "Notes."


TWISTED: dict[str, bytes] = {
    "a link": with_entry(entry("hosts", mode=stat.S_IFLNK | 0o777), "/etc/hosts"),
    "a folder that is a link": zipped(
        (MANIFEST, skill_md("Refused one")),
        (entry("data", mode=stat.S_IFLNK | 0o777), "/etc"),
        ("data/x", "x"),
    ),
    "a device": with_entry(entry("disk", mode=stat.S_IFBLK | 0o644), ""),
    "a pipe": with_entry(entry("pipe", mode=stat.S_IFIFO | 0o644), ""),
    "SKILL.md twice": zipped((MANIFEST, skill_md("One")), (MANIFEST, skill_md("Two"))),
    "SKILL.md in two spellings": with_entry("skill.md", skill_md("Two")),
    "one name in two forms": zipped(
        (MANIFEST, skill_md("One")), ("caf\u00e9.md", "x"), ("cafe\u0301.md", "y")
    ),
}


@pytest.mark.parametrize("kind", TWISTED)
def test_links_devices_and_twins_are_refused(file_users: SkillUsers, kind: str) -> None:
    before = everything(file_users.skill_daemon)

    assert file_users.ann.upload(TWISTED[kind]).status_code == 400
    assert everything(file_users.skill_daemon) == before


def handmade(*files: tuple[str, bytes, int, int]) -> bytes:
    """An archive of packed files, each with the size and checksum that its headers claim."""
    bodies, records = bytearray(), bytearray()
    for name, data, claimed, crc in files:
        method = zipfile.ZIP_DEFLATED
        about = struct.pack("<HHHHHIII", 20, 0, method, 0, 0, crc, len(data), claimed)
        names = struct.pack("<HH", len(name), 0)
        place = struct.pack("<HHHII", 0, 0, 0, 0, len(bodies))
        records += b"PK\1\2" + struct.pack("<H", 20) + about + names + place + name.encode()
        bodies += b"PK\3\4" + about + names + name.encode() + data
    counts = struct.pack("<HHHH", 0, 0, *[len(files) % 65_536] * 2)
    end = struct.pack("<IIH", len(records), len(bodies), 0)
    return bytes(bodies + records) + b"PK\5\6" + counts + end


def deflated(data: bytes, times: int = 1) -> bytes:
    """What unpacks to this so many times; what was flushed in full can be said again and again."""
    packing = zlib.compressobj(9, zlib.DEFLATED, -15)
    return (packing.compress(data) + packing.flush(zlib.Z_FULL_FLUSH)) * times + packing.flush()


def hostile(data: bytes, claimed: int, copies: int = 1) -> bytes:
    """A skill with companions that claim to have so many bytes."""
    manifest = skill_md("Hostile").encode()
    companions = ((f"{number}.bin", data, claimed, 0) for number in range(copies))
    first = (MANIFEST, deflated(manifest), len(manifest), zlib.crc32(manifest))
    return handmade(first, *companions)


BOMBS: dict[str, Callable[[], bytes]] = {
    "two gigabytes": lambda: hostile(deflated(bytes(MEGABYTE), 2048), 2048 * MEGABYTE),
    "two gigabytes that claim to be few": lambda: hostile(deflated(bytes(MEGABYTE), 2048), 1000),
    "a hundred thousand entries": lambda: hostile(deflated(b""), 0, copies=100_000),
    "a body over the limit": lambda: b"PK\3\4" + bytes(20 * MEGABYTE + 1),
}


def peak_memory(skill_daemon: SkillDaemon) -> int:
    """The most memory that the daemon ever had, in bytes."""
    status = Path(f"/proc/{skill_daemon.daemon.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


@pytest.mark.parametrize("kind", BOMBS)
def test_a_bomb_is_refused_soon_and_in_little_memory(file_users: SkillUsers, kind: str) -> None:
    archive = BOMBS[kind]()
    temporary = file_users.skill_daemon.daemon.home.parent / "temporary"
    before, files = peak_memory(file_users.skill_daemon), everything(file_users.skill_daemon)
    began = time.monotonic()
    answer = file_users.ann.upload(archive)
    took = time.monotonic() - began

    assert answer.status_code in {400, 413}, answer.text
    assert MANIFEST not in answer.json()["detail"]
    assert took < 5
    assert peak_memory(file_users.skill_daemon) - before < 200 * MEGABYTE
    assert everything(file_users.skill_daemon) == files
    assert list(temporary.iterdir()) == []


def test_an_archive_within_an_archive_is_kept_as_it_is(file_users: SkillUsers) -> None:
    inner = packed({"../../evil": "x", "zeros": bytes(MEGABYTE)})
    name = f"Nested {file_users.ann.user_id}"
    made = file_users.ann.keep({MANIFEST: skill_md(name), "inner.zip": inner})

    lies = file_users.skill_daemon.store / made["slug"] / "1"
    assert sorted(it.name for it in lies.iterdir()) == [MANIFEST, "inner.zip"]
    assert (lies / "inner.zip").read_bytes() == inner


def test_an_unsafe_archive_is_refused_with_every_line(users: SkillUsers) -> None:
    manifest = packed({MANIFEST: skill_md("Unsafe", f"Do\n`{HARMFUL}`")})
    script = packed(
        {MANIFEST: skill_md("Unsafe"), "scripts/run.sh": f"#!/bin/sh\nset -e\n{HARMFUL}\n"}
    )
    first, second = users.ann.upload(manifest), users.ann.upload(script)

    assert (first.status_code, second.status_code) == (422, 422)
    assert "line 6" in first.json()["detail"]
    assert "scripts/run.sh" in second.json()["detail"]
    assert "line 3" in second.json()["detail"]
    assert users.ann.listed(owner_id=users.ann.user_id) == set()
    assert not (users.skill_daemon.store / "unsafe").exists()


def test_an_unsafe_archive_is_not_taken_by_saying_so(file_users: SkillUsers) -> None:
    archive = packed({MANIFEST: skill_md("Unsafe", f"`{HARMFUL}`")})
    refused = file_users.root.upload(archive).json()
    taken = [
        {"rule_id": it["code"], "path": MANIFEST, "line": 5, "reason": "I know what I do"}
        for it in refused["errors"]
    ]
    again = file_users.root.upload(archive, data={"acknowledged": json.dumps(taken)})

    assert again.status_code == 422
    assert file_users.root.status("GET", f"{ALL}/unsafe") == 404


def test_an_exported_skill_can_be_uploaded_again(users: SkillUsers) -> None:
    name = f"Going round {users.ann.user_id}"
    files: dict[str, str | bytes] = {
        MANIFEST: skill_md(name),
        "scripts/a.py": "print(1)\n",
        "data.bin": bytes(range(256)),
    }
    made = users.ann.keep(files)
    exported = users.ann.call("GET", f"{ALL}/{made['slug']}/export")

    assert exported.status_code == 200
    assert exported.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        names = {each.rpartition("/")[2]: each for each in archive.namelist()}
        assert archive.read(names["a.py"]) == b"print(1)\n"
        assert archive.read(names["data.bin"]) == bytes(range(256))
    users.ann.ok("DELETE", f"{ALL}/{made['slug']}")
    again = users.bob.upload(exported.content)
    assert again.status_code == 201, again.text
    assert again.json()["owner_id"] == users.bob.user_id
