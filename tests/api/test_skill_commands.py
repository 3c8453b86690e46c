"""`understudy skills` against a daemon."""

import io
import json
from itertools import count
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.api.live import Live
from tests.support.command_line_in_process import Typed, typed
from understudy.access.tokens import LOCAL_ADMIN
from understudy.skills.access import Author

NUMBERS = count(1)
SUDO = "su" + "do"


def invoke(
    live: Live, *line: str, exit_code: int = 0, stdin: str | None = None, noun: str = "skills"
) -> Typed:
    result = typed("--url", str(live.client.base_url), noun, *line, stdin=stdin)
    assert result.exit_code == exit_code, result.output
    return result


def run(live: Live, *line: str, **more: Any) -> str:
    return invoke(live, *line, **more).stdout


def answer(live: Live, *line: str, **more: Any) -> Any:
    return json.loads(run(live, *line, "--json", **more))


def skill_text(slug: str, body: str = "Look out of the window.") -> str:
    return f"---\nname: {slug}\ndescription: Tells the weather.\n---\n{body}\n"


@pytest.fixture
def slug() -> str:
    """A name that no other test uses."""
    return f"weather-{next(NUMBERS)}"


@pytest.fixture
def kept(live: Live, slug: str) -> str:
    """A skill with one version."""
    run(live, "create", "-", stdin=skill_text(slug))
    return slug


@pytest.fixture
def folder(tmp_path: Path, slug: str) -> Path:
    """A skill with a companion, in a folder."""
    path = tmp_path / slug
    (path / "scripts").mkdir(parents=True)
    (path / "SKILL.md").write_text(skill_text(slug))
    (path / "scripts" / "look.sh").write_text("ls\n")
    return path


def test_a_skill_is_created_listed_and_shown(live: Live, slug: str, tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    file.write_text(skill_text(slug))

    made = invoke(live, "create", str(file))

    skill_id = made.stdout.strip()
    assert skill_id.startswith("skl_")
    assert f"{slug} is at version 1, private: for its owner alone" in made.stderr
    (line,) = [row for row in run(live, "list", "-q", slug).splitlines() if row.startswith(slug)]
    assert line.split()[1:5] == ["1", "managed", "private", "active"]
    shown = run(live, "show", skill_id)
    assert f"skill        {slug}\n" in shown
    assert shown.endswith("\n\nLook out of the window.\n")
    assert "nothing changed" in invoke(live, "create", str(file)).stderr


def test_lists_are_narrowed(live: Live, kept: str) -> None:
    for more in (
        ["--origin", "managed"],
        ["--visibility", "private", "--status", "active"],
        ["--owner", "local", "--enabled"],
    ):
        assert kept in run(live, "list", "-q", kept, *more)
    for more in (["--origin", "system"], ["--disabled"], ["--owner", "ann"]):
        assert "No skill fits." in run(live, "list", "-q", kept, *more)
    run(live, "list", "--origin", "bogus", exit_code=2)
    run(live, "list", "--agent", "default", "--disabled", exit_code=2)


def test_text_is_patched_once_everywhere_or_not_at_all(live: Live, slug: str) -> None:
    run(live, "create", "-", stdin=skill_text(slug, "rain rain rain sun"))

    first = invoke(live, "patch", slug, "--find", "rain", "--replace", "snow")
    rest = invoke(live, "patch", slug, "--find", "rain", "--replace", "", "--all")
    strict = ("patch", slug, "--find", "s", "--replace", "S", "--strict")

    assert "1 of 3 places replaced; --all replaces every one" in first.stderr
    assert "2 places replaced" in rest.stderr
    assert run(live, "files", slug, "SKILL.md") == skill_text(slug, "snow   sun")
    assert "--all for every place" in invoke(live, *strict, exit_code=4).stderr
    gone = invoke(live, "patch", slug, "--find", "hail", "--replace", "x", exit_code=4)
    assert "skills files SKILL SKILL.md" in gone.stderr
    stale = ("patch", slug, "--find", "sun", "--replace", "x", "--expected-version", "1")
    run(live, *stale, exit_code=4)


def test_what_the_guard_finds_is_refused_line_by_line(live: Live, slug: str) -> None:
    told = invoke(live, "create", "-", stdin=skill_text(slug, f"`{SUDO} reboot`"), exit_code=4)

    assert "the content guard refuses this (skills/skill_unsafe)" in told.stderr
    assert "  P1.sudo: SKILL.md line 5: " in told.stderr
    # The daemon's settings do not let anybody answer for it.
    more = ("--acknowledge", "P1.sudo@SKILL.md:5=our image needs it")
    unsafe = skill_text(slug, f"`{SUDO} reboot`")
    in_vain = invoke(live, "create", "-", *more, stdin=unsafe, exit_code=4)
    assert "allow_acknowledged" in in_vain.stderr
    assert "allow_acknowledged" not in told.stderr
    run(live, "create", "-", "--acknowledge", "P1.sudo", stdin="x", exit_code=2)
    run(live, "show", slug, exit_code=3)


def test_a_folder_is_uploaded_and_exported_with_all_its_files(
    live: Live, folder: Path, slug: str, tmp_path: Path
) -> None:
    made = answer(live, "upload", str(folder))
    target = tmp_path / "out.zip"
    wrote = invoke(live, "export", slug, str(target))

    assert (made["slug"], made["version"]) == (slug, 1)
    assert f"{target}: {target.stat().st_size} bytes\n" == wrote.stderr
    with ZipFile(target) as archive:
        assert {f"{slug}/SKILL.md", f"{slug}/scripts/look.sh"} <= {*archive.namelist()}
    for way in ([str(target)], ["-o", str(target)]):
        target.write_bytes(b"mine")
        assert "is there already" in invoke(live, "export", slug, *way, exit_code=4).stderr
        assert target.read_bytes() == b"mine"
        invoke(live, "export", slug, *way, "--force")
        assert target.read_bytes().startswith(b"PK")
    told = json.loads(run(live, "export", slug, "--output", str(target), "--json", exit_code=4))
    assert told["code"] == "file_exists"
    run(live, "export", slug, str(target), "-o", str(target), exit_code=2)
    run(live, "export", slug, "-o", str(tmp_path / "no" / "folder.zip"), exit_code=2)
    # What was exported can come back, as somebody's next version.
    again = answer(live, "upload", str(target), "--slug", slug)
    assert again["id"] == made["id"]
    assert run(live, "files", slug, "scripts/look.sh") == "ls\n"
    listed = run(live, "files", slug, "--version", "1").splitlines()
    assert [line.split()[1] for line in listed[1:]] == ["SKILL.md", "scripts/look.sh"]
    run(live, "files", slug, "gone.txt", exit_code=3)
    run(live, "upload", str(tmp_path / "gone"), exit_code=2)


def test_an_export_goes_to_stdout_or_into_a_file_of_its_name(
    live: Live, kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    written = invoke(live, "export", kept, "-").stdout_bytes
    invoke(live, "export", kept, "--json")

    with ZipFile(io.BytesIO(written)) as archive:
        assert archive.namelist() == [f"{kept}/SKILL.md"]
    assert (tmp_path / f"{kept}.zip").read_bytes() == written
    run(live, "export", kept, "-", "--json", exit_code=2)


def test_versions_are_listed_compared_and_brought_back(live: Live, kept: str) -> None:
    assert "nothing before version 1" in invoke(live, "diff", kept).stderr
    run(live, "patch", kept, "--find", "window", "--replace", "door")
    run(live, "patch", kept, "--find", "door", "--replace", "roof")

    patch = run(live, "diff", kept)
    whole = run(live, "diff", kept, "1")
    back = invoke(live, "restore", kept, "1")

    assert "-Look out of the door.\n+Look out of the roof.\n" in patch
    assert "-Look out of the window.\n+Look out of the roof.\n" in whole
    assert f"{kept} is at version 4" in back.stderr
    assert "it holds what version 1 held" in back.stderr
    rows = [line.split() for line in run(live, "versions", kept).splitlines()[1:]]
    assert [row[0] for row in rows] == ["4", "3", "2", "1"]
    assert rows[0][1] == "(current)"
    assert "hold the same" in invoke(live, "diff", kept, "1", "4").stderr
    assert [item["restored_from"] for item in answer(live, "versions", kept)["items"][:1]] == [1]
    run(live, "restore", kept, "9", exit_code=3)
    run(live, "diff", kept, "1", "9", exit_code=3)


def test_files_that_are_no_text_come_as_they_are(live: Live, folder: Path, slug: str) -> None:
    picture = bytes(range(256))
    (folder / "logo.png").write_bytes(picture)
    run(live, "upload", str(folder))
    (folder / "logo.png").unlink()
    run(live, "upload", str(folder))

    assert invoke(live, "files", slug, "logo.png", "--version", "1").stdout_bytes == picture
    assert "Binary file logo.png removed: 256 → 0 bytes" in run(live, "diff", slug)


def test_grants_make_a_skill_internal_and_their_end_makes_it_private(live: Live, kept: str) -> None:
    pinned = invoke(live, "grant", kept, "--agent", "default", "--version", "1")
    run(live, "grant", kept, "--user", "ann/b")

    assert f"{kept} is internal: for those it is granted to" in pinned.stderr
    rows = [line.split()[:3] for line in run(live, "grants", kept).splitlines()[1:]]
    assert rows == [["agent", "default", "1"], ["user", "ann/b", "current"]]
    run(live, "revoke", kept, "--user", "ann/b")
    last = invoke(live, "revoke", kept, "--agent", "default")
    assert f"{kept} is private: for its owner alone" in last.stderr
    assert "It is granted to nobody." in run(live, "grants", kept)
    run(live, "grant", kept, "--agent", "nobody", exit_code=3)
    for wrong in ([], ["--agent", "a", "--user", "b"], ["--user", "b", "--version", "1"]):
        run(live, "grant", kept, *wrong, exit_code=2)


def test_who_may_use_a_skill_is_answered_with_the_reason(live: Live, kept: str) -> None:
    run(live, "grant", kept, "--agent", "default", "--version", "1")

    yes = run(live, "access", kept, "--agent", "default", "--user", "ann")
    no = run(live, "access", kept, "--agent", "other", "--user", "ann")
    owner = answer(live, "access", kept, "--agent", "other", "--user", "local")

    assert "allowed  yes\nbecause  it is granted to the agent (agent_grant)\nversion  1\n" in yes
    assert "allowed  no\nbecause  it is neither public" in no
    assert (owner["allowed"], owner["reason"]) == (True, "owner")


def test_agents_and_sessions_tell_what_they_have(live: Live, kept: str) -> None:
    live.session(f"session-{kept}")
    run(live, "grant", kept, "--agent", "default", "--version", "1")

    def row(*line: str) -> list[str]:
        (found,) = [each for each in run(live, "list", *line).splitlines() if kept in each]
        return found.split()

    assert row("--agent", "default")[1:6] == ["1", "(pinned)", "internal", "yes", "yes"]
    assert row("--session", f"session-{kept}")[1:6] == ["1", "managed", "the", "user", "owns"]


def test_words_are_changed_in_a_new_version_and_visibility_is_of_none(
    live: Live, kept: str
) -> None:
    told = invoke(
        live, "update", kept, "--description", "Tells it.", "--tag", "a", "--visibility", "public"
    )

    shown = answer(live, "show", kept)
    assert f"{kept} is public: for everybody" in told.stderr
    assert (shown["description"], shown["tags"], shown["version"]) == ("Tells it.", ["a"], 2)
    assert answer(live, "update", kept, "--no-tags")["tags"] == []
    run(live, "update", kept, exit_code=2)
    run(live, "update", kept, "--tag", "a", "--no-tags", exit_code=2)
    run(live, "update", kept, "--visibility", "secret", exit_code=2)


def test_a_skill_is_switched_off_and_on(live: Live, kept: str) -> None:
    off = invoke(live, "disable", kept)
    denied = answer(live, "access", kept, "--agent", "default", "--user", "local")
    on = invoke(live, "enable", kept)

    assert off.stderr == f"{kept} is off\n"
    assert denied["reason"] == "disabled"
    assert on.stderr == f"{kept} is on and active\n"


def test_what_was_deleted_comes_back_from_the_trash(live: Live, kept: str) -> None:
    deleted = invoke(live, "delete", kept)
    name = deleted.stdout.strip()

    assert f"skills trash restore {name}" in deleted.stderr
    run(live, "show", kept, exit_code=3)
    assert name in run(live, "trash")
    assert name in {item["trash_name"] for item in answer(live, "trash", "list")["items"]}
    assert f"{kept} is back at version 1" in invoke(live, "trash", "restore", name).stderr
    assert name not in json.dumps(answer(live, "trash"))
    run(live, "trash", "restore", name, exit_code=3)


def test_a_system_skill_is_there_and_stays_as_it_is(live: Live) -> None:
    assert "skill-creator" in run(live, "list", "--origin", "system")
    patch = ("patch", "skill-creator", "--find", "a", "--replace", "b")
    assert "came with the product" in invoke(live, *patch, exit_code=4).stderr
    run(live, "delete", "skill-creator", exit_code=4)


def test_a_skill_in_a_folder_is_shown_beside_those_that_are_kept(live: Live, slug: str) -> None:
    folder = live.daemon.settings.workspace / "skills" / slug
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill_text(slug))
    (folder.parent / "bad").mkdir()
    (folder.parent / "bad" / "SKILL.md").write_text(skill_text("bad") + "`rm -" + "rf /`")

    added = invoke(live, "roots", "add", str(folder.parent))

    assert f"offered to local: {slug}" in added.stderr
    listed = invoke(live, "roots")
    assert added.stdout.strip() in listed.stdout
    assert "left out (unsafe)" in listed.stderr
    assert slug in run(live, "list", "--origin", "local")

    assert "none kept" in run(live, "show", f"local:{slug}")
    assert "version" not in run(live, "access", slug, "--agent", "default")
    assert "no versions" in invoke(live, "diff", slug, exit_code=2).stderr
    assert answer(live, "versions", slug)["current"] is None
    for ref in (slug, f"local:{slug}"):
        assert "change it there" in invoke(live, "delete", ref, exit_code=4).stderr
    run(live, "roots", "remove", added.stdout.strip())
    assert "skills in folders are off" in run(live, "roots")
    run(live, "show", slug, exit_code=3)
    assert "make it first" in invoke(live, "roots", "add", "no-such-folder", exit_code=2).stderr


def test_what_skills_need_is_looked_at_and_told(live: Live, folder: Path, slug: str) -> None:
    (folder / "scripts" / "run.py").write_text("import no_such_package_anywhere\n")

    made = invoke(live, "upload", str(folder))
    looked = run(live, "deps", "rescan")
    programs = run(live, "runtimes")

    assert "pip:no-such-package-anywhere" in made.stderr.replace("_", "-")
    assert "skills deps install" in made.stderr
    (line,) = [row for row in looked.splitlines() if row.startswith(f"{slug} ")]
    assert line.split()[1] == "archived"
    assert programs.splitlines()[1].startswith("python3")
    run(live, "deps", "install", "pip:../evil", exit_code=2)


def test_what_is_no_skill_is_a_mistake_and_what_is_none_is_not_found(live: Live) -> None:
    run(live, "show", "no-such-skill", exit_code=3)
    run(live, "show", "..", exit_code=2)
    assert "skills list" in invoke(live, "delete", "no-such-skill", exit_code=3).stderr


def test_a_skill_that_is_only_a_draft_says_so_and_what_to_do(live: Live, slug: str) -> None:
    author = Author(principal=LOCAL_ADMIN, untrusted=("pasted_text",))
    live.daemon.services.skills.service.create(author, skill_text(slug), slug=slug)

    shown = run(live, "show", slug)

    assert f"skills accept {slug}" in shown
    assert "nobody can use it until a person accepts it" in shown
    assert "draft" in run(live, "list", "--query", slug)
    invoke(live, "accept", slug)
    assert "draft" not in run(live, "show", slug)


def test_keys_sign_exports_and_uploads_tell_by_whom(
    live: Live, folder: Path, slug: str, tmp_path: Path
) -> None:
    assert "exports are not signed" in live_keys(live, "list").stdout
    made = live_keys(live, "create", "Ann's team")
    key_id = made.stdout.strip()
    assert "signed as Ann's team" in made.stderr
    public = tmp_path / "ann.pem"
    public.write_text(live_keys(live, "export", key_id).stdout)
    invoke(live, "upload", str(folder))
    archive = tmp_path / "signed.zip"
    invoke(live, "export", slug, str(archive))
    invoke(live, "delete", slug)

    assert f"signed by Ann's team ({key_id})" in invoke(live, "upload", str(archive)).stderr
    assert "Ann's team" in run(live, "versions", slug)
    assert "known already" in live_keys(live, "trust", "Ann", str(public), exit_code=4).stderr
    live_keys(live, "remove", key_id)
    assert live_keys(live, "trust", "Ann", str(public)).stdout.strip() == key_id
    assert "trusted" in live_keys(live, "list").stdout
    live_keys(live, "remove", key_id)
    invoke(live, "delete", slug)
    assert "an unknown key" in invoke(live, "upload", str(archive)).stderr


def live_keys(live: Live, *line: str, exit_code: int = 0) -> Typed:
    return invoke(live, *line, exit_code=exit_code, noun="keys")
