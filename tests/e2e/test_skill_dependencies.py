"""What skills need of the machine: found by reading, never by running anything."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.skill_daemon import Person, SkillDaemon, SkillUsers
from tests.support.skill_texts import ALL, MANIFEST, packed, skill_md

pytestmark = pytest.mark.e2e

# Nobody has these.
PACKAGE = "und3rstudy_absent"
PROGRAM = "und3rstudy-program"
SCRIPT = f"import {PACKAGE}\n"


def with_script(name: str, script: str, path: str = "scripts/a.py") -> dict[str, str | bytes]:
    return {MANIFEST: skill_md(name), path: script}


def put_program(skill_daemon: SkillDaemon, name: str) -> Path:
    """A program of that name on the daemon's machine."""
    program = skill_daemon.daemon.home.parent / "programs" / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def rescanned(person: Person) -> dict[str, Any]:
    """How a rescan found each skill."""
    answer = person.ok("POST", f"{ALL}/rescan-deps")
    assert set(answer) == {"updated", "results"}
    return {it["slug"]: it for it in answer["results"]}


def test_what_is_missing_is_told_and_keeps_nobody_from_the_skill(users: SkillUsers) -> None:
    label = f"pip:{PACKAGE}"
    uploaded = users.ann.keep(with_script(f"Uploaded {users.ann.user_id}", SCRIPT))
    folder = users.skill_daemon.folder(with_script(f"Published {users.ann.user_id}", SCRIPT))
    told = users.ann.run(
        ("publish_skill", {"path": folder}), agent=users.plain, words="Save as skill."
    )

    assert label in uploaded["deps_warning"]
    assert any(label in result for result in told.answers)
    for slug in users.ann.listed(owner_id=users.ann.user_id):
        shown = users.ann.get(slug)
        assert (shown["status"], shown["missing_deps"]) == ("active", [label])
        if shown["is_draft"]:
            users.ann.ok("POST", f"/v1/skills/{slug}/versions/1/accept")
        used = users.ann.run(("use_skill", {"name": slug}), agent=users.plain)
        assert slug in used.offered
        assert not used.result.is_error
    plain = users.ann.keep(with_script(f"Plain {users.ann.user_id}", "import json\n"))
    assert "deps_warning" not in plain


# What runs a script the moment it is installed, and so what the guard may refuse.
BY_ITSELF = frozenset({"package.json"})


def traps(name: str, marker: Path) -> dict[str, str | bytes]:
    """A skill with every kind of file that could come to run and leave a mark."""
    write = f"open({str(marker)!r}, 'w').write('ran')\n"
    named = ("sitecustomize", "json", "setup", "pip")
    return {
        MANIFEST: skill_md(name),
        "package.json": '{"scripts": {"preinstall": "sh scripts/run.sh"}}',
        **{f"{folder}{it}.py": write for folder in ("", "scripts/") for it in named},
        "scripts/main.py": f"import json\nimport {PACKAGE}\n{write}",
        "scripts/run.sh": f"#!/bin/sh\necho ran > {marker}\n",
    }


def test_nothing_of_a_skill_is_ever_run(users: SkillUsers) -> None:
    marker = users.skill_daemon.workspace / f"marker-{users.ann.user_id}"
    files = traps(f"Trap {users.ann.user_id}", marker)
    whole = users.ann.upload(packed(files))
    slug = users.ann.keep({path: it for path, it in files.items() if path not in BY_ITSELF})["slug"]
    users.root.ok("POST", f"{ALL}/rescan-deps")
    for enabled in (False, True):
        users.ann.ok("POST", f"{ALL}/{slug}/toggle", {"enabled": enabled})
    users.ann.run(("use_skill", {"name": slug}), agent=users.plain)

    assert whole.status_code in {201, 422}
    assert not marker.exists()


BAD_NAMES = [
    "pip:--index-url=http://x",
    "pip:x; rm " + "-rf /",
    "npm:../evil",
    "pip:",
    "pip:https://evil.test/x.whl",
    "npm:-g",
    "gem:x",
    "pip:x\nimport os",
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_what_is_no_name_is_not_installed(file_users: SkillUsers, name: str) -> None:
    install = f"{ALL}/install-dep"
    home = file_users.skill_daemon.daemon.home

    assert file_users.root.status("POST", install, {"dep": name}) == 400
    assert file_users.ann.status("POST", install, {"dep": name}) == 403
    assert not (home / "skills-env").exists() or not list((home / "skills-env").iterdir())


def test_only_an_admin_looks_after_what_skills_need(file_users: SkillUsers) -> None:
    calls = [
        ("POST", f"{ALL}/rescan-deps", None),
        ("POST", f"{ALL}/install-deps", None),
        ("POST", f"{ALL}/install-dep", {"dep": "pip:requests"}),
        ("GET", f"{ALL}/runtimes", None),
    ]
    for person in (file_users.ann, file_users.vic):
        assert [person.status(*call) for call in calls] == [403] * 4
    assert [file_users.nobody.status(*call) for call in calls] == [401] * 4


def test_what_scripts_need_is_read_from_them(users: SkillUsers) -> None:
    python = (
        '"""Says import in_docstring.\n\nimport in_docstring\n"""\n'
        "# import in_comment\n"
        "import und3r_a, und3r_b\n"
        "from und3r_c.d import e\n"
        "import helper_of_ours\n"
        "try:\n    import und3r_x\nexcept ImportError:\n    und3r_x = None\n"
    )
    script = "const y = require('und3r-y');\nimport z from \"@und3r/p/sub\";\n"
    files: dict[str, str | bytes] = {
        MANIFEST: skill_md(f"Needy {users.ann.user_id}"),
        "scripts/a.py": python,
        "scripts/helper_of_ours.py": "VALUE = 1\n",
        "scripts/b.mjs": script,
        "scripts/c": f"#!/usr/bin/env {PROGRAM}\n",
    }
    made = users.ann.keep(files)

    needed = {"pip:und3r_a", "pip:und3r_b", "pip:und3r_c"}
    needed |= {"npm:und3r-y", "npm:@und3r/p", PROGRAM}
    # A machine without node lacks that, too.
    assert set(made["missing_deps"]) - {"node"} == needed


def test_a_rescan_archives_what_lacks_something_and_brings_it_back(users: SkillUsers) -> None:
    program = f"{PROGRAM}-{users.ann.user_id}"
    files = with_script(f"Scanned {users.ann.user_id}", f"#!/usr/bin/env {program}\n", "scripts/a")
    off = with_script(f"Off {users.ann.user_id}", f"#!/usr/bin/env {program}\n", "scripts/a")
    gone = with_script(f"Gone {users.ann.user_id}", f"#!/usr/bin/env {program}\n", "scripts/a")
    slug, off_slug, gone_slug = (users.ann.keep(it)["slug"] for it in (files, off, gone))
    users.ann.ok("POST", f"{ALL}/{off_slug}/toggle", {"enabled": False})
    users.ann.ok("DELETE", f"{ALL}/{gone_slug}")

    first = rescanned(users.root)
    archived = users.ann.get(slug)
    away = users.ann.run(("use_skill", {"name": slug}), agent=users.plain)
    put_program(users.skill_daemon, program)
    second = rescanned(users.root)
    back = users.ann.run(("use_skill", {"name": slug}), agent=users.plain)

    assert (first[slug]["status"], first[slug]["missing"]) == ("archived", [program])
    assert (archived["status"], archived["missing_deps"]) == ("archived", [program])
    assert slug in users.ann.listed()
    assert slug not in away.offered
    assert away.result.is_error
    assert second[slug]["status"] in {"active", "ok"}
    assert users.ann.get(slug)["status"] == "active"
    assert slug in back.offered
    assert not back.result.is_error
    assert not {off_slug, gone_slug} & (set(first) | set(second))
    assert users.ann.get(off_slug)["status"] == "active"
    assert users.ann.status("GET", f"{ALL}/{gone_slug}") == 404


def test_switching_on_looks_again_at_what_is_needed(file_users: SkillUsers) -> None:
    program = f"{PROGRAM}-{file_users.ann.user_id}"
    files = with_script(
        f"Again {file_users.ann.user_id}", f"#!/usr/bin/env {program}\n", "scripts/a"
    )
    slug = file_users.ann.keep(files)["slug"]
    toggle = f"{ALL}/{slug}/toggle"
    seen = []
    for step in range(2):
        file_users.ann.ok("POST", toggle, {"enabled": False})
        seen.append(file_users.ann.ok("POST", toggle, {"enabled": True})["status"])
        if step == 0:
            put_program(file_users.skill_daemon, program)

    assert seen == ["archived", "active"]


def test_an_archived_skill_is_still_its_owners_to_change(file_users: SkillUsers) -> None:
    files = with_script(f"Shelved {file_users.ann.user_id}", SCRIPT)
    slug = file_users.ann.keep(files)["slug"]
    rescanned(file_users.root)
    assert file_users.ann.get(slug)["status"] == "archived"

    assert file_users.ann.patch(slug, "numbers", "figures").status_code == 200
    assert file_users.ann.status("DELETE", f"{ALL}/{slug}") == 200


def test_the_runtimes_are_told_with_their_versions(file_users: SkillUsers) -> None:
    told = file_users.root.get(f"{ALL}/runtimes")

    names = [it["name"] for it in told["runtimes"]]
    assert names[:4] == ["python3", "pip3", "node", "npm"]
    found = {it["name"]: it for it in told["runtimes"]}
    assert found["python3"]["available"] is True
    assert "3." in found["python3"]["version"]
    assert told["ready"] is found["pip3"]["available"]
    for it in told["runtimes"]:
        assert it["available"] or "version" not in it
