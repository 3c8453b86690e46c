"""What skills need, looked for and installed."""

from pathlib import Path

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.skill_dependency_harness import NOWHERE, OTHER, DependencyHarness
from tests.support.skill_service_harness import ANN, ROOT, SLUG, VERA
from understudy.core.errors import Conflict, Invalid, Rejected
from understudy.skills.access import Author
from understudy.skills.content_guard import ContentGuard
from understudy.skills.dependencies.names import Manager
from understudy.skills.dependencies.service import (
    InstalledPackage,
    InstalledPackages,
    NeedsStatus,
    RescannedSkill,
)
from understudy.skills.events import SkillEventName
from understudy.skills.model import SkillStatus
from understudy.skills.service import SkillService

pytestmark = pytest.mark.one_database

PIP = f"pip:{NOWHERE.replace('-', '_')}"
NAME = NOWHERE.replace("-", "_")
ELSE = OTHER.replace("-", "_")


@pytest.fixture
def harness(database: UnitsOnDatabase, tmp_path: Path) -> DependencyHarness:
    return DependencyHarness(database.units, tmp_path)


def test_keeping_a_skill_that_lacks_something_warns_and_leaves_it_active(
    harness: DependencyHarness,
) -> None:
    skill = harness.keep()

    assert (skill.status, skill.missing_deps) == (SkillStatus.ACTIVE, (PIP,))


def test_a_rescan_archives_what_lacks_something_and_brings_it_back_when_it_is_there(
    harness: DependencyHarness,
) -> None:
    harness.keep()

    first = harness.dependencies.rescan(ROOT)

    assert first.updated == 1
    assert first.results == (
        RescannedSkill(slug=SLUG, status=NeedsStatus.ARCHIVED, missing=(PIP,)),
    )
    assert harness.harness.row().status is SkillStatus.ARCHIVED
    assert harness.dependencies.rescan(ROOT).updated == 0
    harness.stock.put(SLUG, Manager.PIP, NAME)
    second = harness.dependencies.rescan(ROOT)
    assert second.updated == 1
    assert second.results == (RescannedSkill(slug=SLUG, status=NeedsStatus.ACTIVE),)
    assert (harness.harness.row().status, harness.harness.row().missing_deps) == (
        SkillStatus.ACTIVE,
        (),
    )


def test_a_skill_that_needs_nothing_is_ok(harness: DependencyHarness) -> None:
    harness.keep("")

    rescan = harness.dependencies.rescan(ROOT)

    assert (rescan.updated, rescan.results) == (
        0,
        (RescannedSkill(slug=SLUG, status=NeedsStatus.OK),),
    )


@pytest.mark.every_database
def test_what_is_switched_off_or_deleted_is_not_touched(harness: DependencyHarness) -> None:
    harness.keep()
    harness.keep(name="off-one")
    harness.skills.toggle(ANN, "off-one", enabled=False)
    harness.keep(name="deleted-one")
    harness.skills.delete(ANN, "deleted-one")
    before = [harness.harness.row("off-one"), harness.harness.row("deleted-one")]
    harness.stock.put("deleted-one", Manager.PIP, NAME)

    rescan = harness.dependencies.rescan(ROOT)

    assert [one.slug for one in rescan.results] == [SLUG]
    assert [harness.harness.row("off-one"), harness.harness.row("deleted-one")] == before


@pytest.mark.every_database
def test_one_that_cannot_be_read_is_told_and_the_others_are_checked(
    harness: DependencyHarness,
) -> None:
    harness.keep(name="damaged-one")
    harness.harness.damage("SKILL.md", "damaged-one")
    harness.keep(name="well-one")
    before = harness.harness.row("damaged-one")

    rescan = harness.dependencies.rescan(ROOT)

    assert [(one.slug, one.status) for one in rescan.results] == [
        ("damaged-one", "damaged"),
        ("well-one", "archived"),
    ]
    assert harness.harness.row("damaged-one") == before


@pytest.mark.every_database
def test_many_skills_are_all_looked_at(
    harness: DependencyHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.skills.dependencies.service.MAX_LIMIT", 2)
    slugs = [f"skill-{number}" for number in range(5)]
    for slug in slugs:
        harness.keep(name=slug)

    rescan = harness.dependencies.rescan(ROOT)

    assert (rescan.updated, [one.slug for one in rescan.results]) == (5, slugs)


@pytest.mark.every_database
def test_a_rescan_is_told_and_written_down(harness: DependencyHarness) -> None:
    skill = harness.keep()

    harness.dependencies.rescan(ROOT)

    checked = {"slug": SLUG, "status": "archived", "missing": [PIP]}
    assert harness.told() == [("skill.deps.checked", checked), ("skill.deps.complete", {})]
    overall, one = harness.harness.audit()[:2]
    assert (overall.action, overall.resource_id) == ("skills.rescan", "dependencies")
    assert (one.action, one.resource_id, one.actor) == ("skills.rescan", skill.skill_id, "root")
    assert one.reason is not None
    assert PIP in one.reason
    changed = [event for event in harness.heard if event.name is SkillEventName.INVALIDATE]
    assert changed[-1].payload["what"] == "rescan"


def test_what_is_missing_is_installed_for_each_skill_and_archived_ones_come_back(
    harness: DependencyHarness,
) -> None:
    harness.keep(f"import {NAME}, json\n")
    harness.keep("", name="node-one", files={"scripts/x.mjs": f'import "{OTHER}"\n'.encode()})
    harness.dependencies.rescan(ROOT)

    installed = harness.dependencies.install_missing(ROOT)

    assert installed == InstalledPackages(pip=(NAME,), npm=(OTHER,))
    assert sorted(harness.stock.asked) == [
        ("node-one", Manager.NPM, (OTHER,)),
        (SLUG, Manager.PIP, (NAME,)),
    ]
    assert {harness.harness.row(slug).status for slug in (SLUG, "node-one")} == {SkillStatus.ACTIVE}
    result = {"system": [], "pip": [NAME], "npm": [OTHER], "errors": []}
    told = harness.told()
    assert ("skill.deps.installing", {"count": 2}) in told
    assert ("skill.deps.installed", {"result": result}) in told
    assert told[-1] == ("skill.deps.complete", {})
    (entry,) = [one for one in harness.harness.audit() if one.action == "skills.install"]
    assert entry.reason == f"installed pip:{NAME}, npm:{OTHER}; 0 failed"


def test_an_environment_gets_all_that_its_skill_needs_of_that_manager(
    harness: DependencyHarness,
) -> None:
    # pytest is here, but an environment of its own would not see it.
    harness.keep(f"import {NAME}, pytest\n")

    harness.dependencies.install_missing(ROOT)

    assert harness.stock.asked == [(SLUG, Manager.PIP, (NAME, "pytest"))]


def test_nothing_missing_is_said_in_a_sentence(harness: DependencyHarness) -> None:
    harness.keep("")

    installed = harness.dependencies.install_missing(ROOT)

    assert installed == InstalledPackages(message="every skill in use has what it needs")
    assert harness.stock.asked == []
    assert harness.told() == []


def test_programs_are_left_to_people_who_are_told_the_command(harness: DependencyHarness) -> None:
    script = b"#!/usr/bin/env nowhere-tool\n"
    harness.keep(files={"scripts/x.sh": script})

    installed = harness.dependencies.install_missing(ROOT)

    (error,) = installed.errors
    assert error.startswith("nowhere-tool: ")
    assert "nowhere-tool" in error.partition(": ")[2]
    assert "understudy skills deps rescan" in error
    assert (installed.system, installed.pip) == ((), (NAME,))
    assert harness.harness.row().missing_deps == ("nowhere-tool",)
    assert harness.harness.row().status is SkillStatus.ARCHIVED


def test_what_cannot_be_had_is_told_and_the_others_come(harness: DependencyHarness) -> None:
    harness.keep(name="bad-one")
    harness.keep(f"import {ELSE}\n", name="good-one")
    harness.stock.out_of.add(NAME)

    installed = harness.dependencies.install_missing(ROOT)

    assert installed.pip == (ELSE,)
    assert installed.errors == (f"pip for bad-one: no {NAME} to be had",)
    assert harness.harness.row("bad-one").status is SkillStatus.ARCHIVED
    assert harness.harness.row("good-one").status is SkillStatus.ACTIVE


def test_what_cannot_be_had_keeps_nothing_else_from_the_same_skill(
    harness: DependencyHarness,
) -> None:
    harness.keep(f"import {NAME}, {ELSE}\n")
    harness.stock.out_of.add(NAME)

    installed = harness.dependencies.install_missing(ROOT)

    assert installed.pip == (ELSE,)
    assert installed.errors == (f"pip:{NAME} for {SLUG}: no {NAME} to be had",)
    assert harness.harness.row().missing_deps == (PIP,)


def test_what_is_there_is_not_given_up_for_less(harness: DependencyHarness) -> None:
    harness.keep(f"import {NAME}, {ELSE}\n")
    harness.stock.put(SLUG, Manager.PIP, NAME)
    harness.stock.out_of.add(NAME)

    installed = harness.dependencies.install_missing(ROOT)

    assert installed.pip == ()
    assert installed.errors == (f"pip:{NAME} for {SLUG}: no {NAME} to be had",)
    assert len(harness.stock.asked) == 1


def test_one_dependency_is_installed_for_those_who_need_it(harness: DependencyHarness) -> None:
    harness.keep(f"import {NAME}, {ELSE}\n")
    harness.keep("", name="other-one")
    harness.stock.put(SLUG, Manager.PIP, ELSE)

    one = harness.dependencies.install_one(ROOT, f"pip:{NOWHERE}")

    assert one == InstalledPackage(ok=True)
    # What the environment holds already stays with what is new.
    assert harness.stock.asked == [(SLUG, Manager.PIP, (ELSE, NAME))]
    dep = {"dep": f"pip:{NOWHERE}"}
    assert ("skill.dep.item.installing", dep) in harness.told()
    assert ("skill.dep.item.installed", {**dep, "ok": True}) in harness.told()
    assert harness.harness.row().status is SkillStatus.ACTIVE


def test_one_that_fails_says_why(harness: DependencyHarness) -> None:
    harness.keep()
    harness.stock.out_of.add(NAME)

    one = harness.dependencies.install_one(ROOT, PIP)

    error = f"pip for {SLUG}: no {NAME} to be had"
    assert one == InstalledPackage(ok=False, error=error)
    assert ("skill.dep.item.installed", {"dep": PIP, "ok": False, "error": error}) in harness.told()


def test_what_no_skill_needs_is_not_installed(harness: DependencyHarness) -> None:
    harness.keep()

    one = harness.dependencies.install_one(ROOT, f"pip:{OTHER}")

    assert (one.ok, one.error) == (False, f"no skill in use needs pip:{OTHER}")
    assert harness.stock.asked == []


def test_what_a_skill_could_use_can_be_installed_for_it(harness: DependencyHarness) -> None:
    harness.keep(f"try:\n    import {NAME}\nexcept ImportError:\n    pass\n")

    assert harness.dependencies.install_one(ROOT, PIP).ok
    assert harness.stock.asked == [(SLUG, Manager.PIP, (NAME,))]


def test_a_program_is_nobodys_to_install_but_a_persons(harness: DependencyHarness) -> None:
    one = harness.dependencies.install_one(ROOT, "ffmpeg")

    assert not one.ok
    assert "ffmpeg" in one.error
    assert harness.stock.asked == []


@pytest.mark.parametrize(
    "label",
    [
        "pip:--index-url=http://x",
        "pip:x; rm -r",
        "npm:../evil",
        "",
    ],
)
def test_what_is_no_name_is_refused_before_anything_runs(
    harness: DependencyHarness, label: str
) -> None:
    with pytest.raises(Invalid) as refused:
        harness.dependencies.install_one(ROOT, label)

    assert refused.value.code == "invalid_dependency"
    assert (harness.stock.asked, harness.heard) == ([], [])


@pytest.mark.parametrize("author", [ANN, VERA], ids=["operator", "viewer"])
def test_only_an_admin_checks_and_installs(harness: DependencyHarness, author: Author) -> None:
    harness.keep()
    harness.heard.clear()
    before = harness.harness.row()

    for act in (harness.dependencies.rescan, harness.dependencies.install_missing):
        with pytest.raises(Rejected):
            act(author)
    with pytest.raises(Rejected):
        harness.dependencies.install_one(author, PIP)

    assert (harness.stock.asked, harness.heard, harness.harness.row()) == ([], [], before)


def test_two_do_not_install_at_once(harness: DependencyHarness) -> None:
    harness.keep()

    with harness.environments.alone(), pytest.raises(Conflict) as refused:
        harness.dependencies.install_missing(ROOT)

    assert refused.value.code == "skill_install_running"
    assert harness.dependencies.install_missing(ROOT).pip == (NAME,)


def test_nothing_of_a_skill_ever_runs(harness: DependencyHarness, tmp_path: Path) -> None:
    # The guard would not let it in.
    harness.harness.guard = ContentGuard(scan=lambda _: ())
    marker = tmp_path / "ran"
    mark = f"open({str(marker)!r}, 'w').close()\n".encode()
    package = f'{{"scripts": {{"preinstall": "touch {marker}"}}}}'.encode()
    hostile = {f"scripts/{name}.py": mark for name in ("sitecustomize", "json", NAME)}
    files = {**hostile, "scripts/package.json": package, "scripts/node_modules/x/index.js": mark}
    harness.keep(f"import {NAME}, json, {ELSE}\n", files=files)

    harness.dependencies.rescan(ROOT)
    skills: SkillService = harness.skills
    skills.toggle(ANN, SLUG, enabled=False)
    skills.toggle(ANN, SLUG, enabled=True)
    harness.dependencies.install_missing(ROOT)

    assert not marker.exists()
    # What it brings itself it does not need.
    assert harness.stock.asked == [(SLUG, Manager.PIP, (ELSE,))]


@pytest.mark.every_database
def test_a_skill_that_changed_meanwhile_is_left_as_it_is(harness: DependencyHarness) -> None:
    harness.keep()
    needs = next(iter(harness.dependencies._needs()))
    harness.keep("import json\n")
    before = harness.harness.row()

    assert not harness.dependencies._keep(ROOT, needs)
    assert harness.harness.row() == before
