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
def depot(house: UnitsOnDatabase, tmp_path: Path) -> DependencyHarness:
    return DependencyHarness(house.units, tmp_path)


def test_keeping_a_skill_that_lacks_something_warns_and_leaves_it_active(
    depot: DependencyHarness,
) -> None:
    skill = depot.keep()

    assert (skill.status, skill.missing_deps) == (SkillStatus.ACTIVE, (PIP,))


def test_a_rescan_archives_what_lacks_something_and_brings_it_back_when_it_is_there(
    depot: DependencyHarness,
) -> None:
    depot.keep()

    first = depot.dependencies.rescan(ROOT)

    assert first.updated == 1
    assert first.results == (
        RescannedSkill(slug=SLUG, status=NeedsStatus.ARCHIVED, missing=(PIP,)),
    )
    assert depot.shop.row().status is SkillStatus.ARCHIVED
    assert depot.dependencies.rescan(ROOT).updated == 0
    depot.stock.put(SLUG, Manager.PIP, NAME)
    second = depot.dependencies.rescan(ROOT)
    assert second.updated == 1
    assert second.results == (RescannedSkill(slug=SLUG, status=NeedsStatus.ACTIVE),)
    assert (depot.shop.row().status, depot.shop.row().missing_deps) == (SkillStatus.ACTIVE, ())


def test_a_skill_that_needs_nothing_is_ok(depot: DependencyHarness) -> None:
    depot.keep("")

    rescan = depot.dependencies.rescan(ROOT)

    assert (rescan.updated, rescan.results) == (
        0,
        (RescannedSkill(slug=SLUG, status=NeedsStatus.OK),),
    )


@pytest.mark.every_database
def test_what_is_switched_off_or_deleted_is_not_touched(depot: DependencyHarness) -> None:
    depot.keep()
    depot.keep(name="off-one")
    depot.skills.toggle(ANN, "off-one", enabled=False)
    depot.keep(name="deleted-one")
    depot.skills.delete(ANN, "deleted-one")
    before = [depot.shop.row("off-one"), depot.shop.row("deleted-one")]
    depot.stock.put("deleted-one", Manager.PIP, NAME)

    rescan = depot.dependencies.rescan(ROOT)

    assert [one.slug for one in rescan.results] == [SLUG]
    assert [depot.shop.row("off-one"), depot.shop.row("deleted-one")] == before


@pytest.mark.every_database
def test_one_that_cannot_be_read_is_told_and_the_others_are_checked(
    depot: DependencyHarness,
) -> None:
    depot.keep(name="damaged-one")
    depot.shop.damage("SKILL.md", "damaged-one")
    depot.keep(name="well-one")
    before = depot.shop.row("damaged-one")

    rescan = depot.dependencies.rescan(ROOT)

    assert [(one.slug, one.status) for one in rescan.results] == [
        ("damaged-one", "damaged"),
        ("well-one", "archived"),
    ]
    assert depot.shop.row("damaged-one") == before


@pytest.mark.every_database
def test_many_skills_are_all_looked_at(
    depot: DependencyHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.skills.dependencies.service.MAX_LIMIT", 2)
    slugs = [f"skill-{number}" for number in range(5)]
    for slug in slugs:
        depot.keep(name=slug)

    rescan = depot.dependencies.rescan(ROOT)

    assert (rescan.updated, [one.slug for one in rescan.results]) == (5, slugs)


@pytest.mark.every_database
def test_a_rescan_is_told_and_written_down(depot: DependencyHarness) -> None:
    skill = depot.keep()

    depot.dependencies.rescan(ROOT)

    checked = {"slug": SLUG, "status": "archived", "missing": [PIP]}
    assert depot.told() == [("skill.deps.checked", checked), ("skill.deps.complete", {})]
    overall, one = depot.shop.audit()[:2]
    assert (overall.action, overall.resource_id) == ("skills.rescan", "dependencies")
    assert (one.action, one.resource_id, one.actor) == ("skills.rescan", skill.skill_id, "root")
    assert one.reason is not None
    assert PIP in one.reason
    changed = [event for event in depot.heard if event.name is SkillEventName.INVALIDATE]
    assert changed[-1].payload["what"] == "rescan"


def test_what_is_missing_is_installed_for_each_skill_and_archived_ones_come_back(
    depot: DependencyHarness,
) -> None:
    depot.keep(f"import {NAME}, json\n")
    depot.keep("", name="node-one", files={"scripts/x.mjs": f'import "{OTHER}"\n'.encode()})
    depot.dependencies.rescan(ROOT)

    installed = depot.dependencies.install_missing(ROOT)

    assert installed == InstalledPackages(pip=(NAME,), npm=(OTHER,))
    assert sorted(depot.stock.asked) == [
        ("node-one", Manager.NPM, (OTHER,)),
        (SLUG, Manager.PIP, (NAME,)),
    ]
    assert {depot.shop.row(slug).status for slug in (SLUG, "node-one")} == {SkillStatus.ACTIVE}
    result = {"system": [], "pip": [NAME], "npm": [OTHER], "errors": []}
    told = depot.told()
    assert ("skill.deps.installing", {"count": 2}) in told
    assert ("skill.deps.installed", {"result": result}) in told
    assert told[-1] == ("skill.deps.complete", {})
    (entry,) = [one for one in depot.shop.audit() if one.action == "skills.install"]
    assert entry.reason == f"installed pip:{NAME}, npm:{OTHER}; 0 failed"


def test_an_environment_gets_all_that_its_skill_needs_of_that_manager(
    depot: DependencyHarness,
) -> None:
    # pytest is here, but an environment of its own would not see it.
    depot.keep(f"import {NAME}, pytest\n")

    depot.dependencies.install_missing(ROOT)

    assert depot.stock.asked == [(SLUG, Manager.PIP, (NAME, "pytest"))]


def test_nothing_missing_is_said_in_a_sentence(depot: DependencyHarness) -> None:
    depot.keep("")

    installed = depot.dependencies.install_missing(ROOT)

    assert installed == InstalledPackages(message="every skill in use has what it needs")
    assert depot.stock.asked == []
    assert depot.told() == []


def test_programs_are_left_to_people_who_are_told_the_command(depot: DependencyHarness) -> None:
    script = b"#!/usr/bin/env nowhere-tool\n"
    depot.keep(files={"scripts/x.sh": script})

    installed = depot.dependencies.install_missing(ROOT)

    (error,) = installed.errors
    assert error.startswith("nowhere-tool: ")
    assert "nowhere-tool" in error.partition(": ")[2]
    assert "understudy skills deps rescan" in error
    assert (installed.system, installed.pip) == ((), (NAME,))
    assert depot.shop.row().missing_deps == ("nowhere-tool",)
    assert depot.shop.row().status is SkillStatus.ARCHIVED


def test_what_cannot_be_had_is_told_and_the_others_come(depot: DependencyHarness) -> None:
    depot.keep(name="bad-one")
    depot.keep(f"import {ELSE}\n", name="good-one")
    depot.stock.out_of.add(NAME)

    installed = depot.dependencies.install_missing(ROOT)

    assert installed.pip == (ELSE,)
    assert installed.errors == (f"pip for bad-one: no {NAME} to be had",)
    assert depot.shop.row("bad-one").status is SkillStatus.ARCHIVED
    assert depot.shop.row("good-one").status is SkillStatus.ACTIVE


def test_what_cannot_be_had_keeps_nothing_else_from_the_same_skill(
    depot: DependencyHarness,
) -> None:
    depot.keep(f"import {NAME}, {ELSE}\n")
    depot.stock.out_of.add(NAME)

    installed = depot.dependencies.install_missing(ROOT)

    assert installed.pip == (ELSE,)
    assert installed.errors == (f"pip:{NAME} for {SLUG}: no {NAME} to be had",)
    assert depot.shop.row().missing_deps == (PIP,)


def test_what_is_there_is_not_given_up_for_less(depot: DependencyHarness) -> None:
    depot.keep(f"import {NAME}, {ELSE}\n")
    depot.stock.put(SLUG, Manager.PIP, NAME)
    depot.stock.out_of.add(NAME)

    installed = depot.dependencies.install_missing(ROOT)

    assert installed.pip == ()
    assert installed.errors == (f"pip:{NAME} for {SLUG}: no {NAME} to be had",)
    assert len(depot.stock.asked) == 1


def test_one_dependency_is_installed_for_those_who_need_it(depot: DependencyHarness) -> None:
    depot.keep(f"import {NAME}, {ELSE}\n")
    depot.keep("", name="other-one")
    depot.stock.put(SLUG, Manager.PIP, ELSE)

    one = depot.dependencies.install_one(ROOT, f"pip:{NOWHERE}")

    assert one == InstalledPackage(ok=True)
    # What the environment holds already stays with what is new.
    assert depot.stock.asked == [(SLUG, Manager.PIP, (ELSE, NAME))]
    dep = {"dep": f"pip:{NOWHERE}"}
    assert ("skill.dep.item.installing", dep) in depot.told()
    assert ("skill.dep.item.installed", {**dep, "ok": True}) in depot.told()
    assert depot.shop.row().status is SkillStatus.ACTIVE


def test_one_that_fails_says_why(depot: DependencyHarness) -> None:
    depot.keep()
    depot.stock.out_of.add(NAME)

    one = depot.dependencies.install_one(ROOT, PIP)

    error = f"pip for {SLUG}: no {NAME} to be had"
    assert one == InstalledPackage(ok=False, error=error)
    assert ("skill.dep.item.installed", {"dep": PIP, "ok": False, "error": error}) in depot.told()


def test_what_no_skill_needs_is_not_installed(depot: DependencyHarness) -> None:
    depot.keep()

    one = depot.dependencies.install_one(ROOT, f"pip:{OTHER}")

    assert (one.ok, one.error) == (False, f"no skill in use needs pip:{OTHER}")
    assert depot.stock.asked == []


def test_what_a_skill_could_use_can_be_installed_for_it(depot: DependencyHarness) -> None:
    depot.keep(f"try:\n    import {NAME}\nexcept ImportError:\n    pass\n")

    assert depot.dependencies.install_one(ROOT, PIP).ok
    assert depot.stock.asked == [(SLUG, Manager.PIP, (NAME,))]


def test_a_program_is_nobodys_to_install_but_a_persons(depot: DependencyHarness) -> None:
    one = depot.dependencies.install_one(ROOT, "ffmpeg")

    assert not one.ok
    assert "ffmpeg" in one.error
    assert depot.stock.asked == []


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
    depot: DependencyHarness, label: str
) -> None:
    with pytest.raises(Invalid) as refused:
        depot.dependencies.install_one(ROOT, label)

    assert refused.value.code == "invalid_dependency"
    assert (depot.stock.asked, depot.heard) == ([], [])


@pytest.mark.parametrize("author", [ANN, VERA], ids=["operator", "viewer"])
def test_only_an_admin_checks_and_installs(depot: DependencyHarness, author: Author) -> None:
    depot.keep()
    depot.heard.clear()
    before = depot.shop.row()

    for act in (depot.dependencies.rescan, depot.dependencies.install_missing):
        with pytest.raises(Rejected):
            act(author)
    with pytest.raises(Rejected):
        depot.dependencies.install_one(author, PIP)

    assert (depot.stock.asked, depot.heard, depot.shop.row()) == ([], [], before)


def test_two_do_not_install_at_once(depot: DependencyHarness) -> None:
    depot.keep()

    with depot.environments.alone(), pytest.raises(Conflict) as refused:
        depot.dependencies.install_missing(ROOT)

    assert refused.value.code == "skill_install_running"
    assert depot.dependencies.install_missing(ROOT).pip == (NAME,)


def test_nothing_of_a_skill_ever_runs(depot: DependencyHarness, tmp_path: Path) -> None:
    # The guard would not let it in.
    depot.shop.guard = ContentGuard(scan=lambda _: ())
    marker = tmp_path / "ran"
    mark = f"open({str(marker)!r}, 'w').close()\n".encode()
    package = f'{{"scripts": {{"preinstall": "touch {marker}"}}}}'.encode()
    hostile = {f"scripts/{name}.py": mark for name in ("sitecustomize", "json", NAME)}
    files = {**hostile, "scripts/package.json": package, "scripts/node_modules/x/index.js": mark}
    depot.keep(f"import {NAME}, json, {ELSE}\n", files=files)

    depot.dependencies.rescan(ROOT)
    skills: SkillService = depot.skills
    skills.toggle(ANN, SLUG, enabled=False)
    skills.toggle(ANN, SLUG, enabled=True)
    depot.dependencies.install_missing(ROOT)

    assert not marker.exists()
    # What it brings itself it does not need.
    assert depot.stock.asked == [(SLUG, Manager.PIP, (ELSE,))]


@pytest.mark.every_database
def test_a_skill_that_changed_meanwhile_is_left_as_it_is(depot: DependencyHarness) -> None:
    depot.keep()
    needs = next(iter(depot.dependencies._needs()))
    depot.keep("import json\n")
    before = depot.shop.row()

    assert not depot.dependencies._keep(ROOT, needs)
    assert depot.shop.row() == before
