"""Which files of the workspace are skills for everybody as soon as they are written."""

import time
from pathlib import Path

import pytest

from understudy.evolution.names import SkillPlaces
from understudy.skills.local.roots import USUAL_FOLDERS, Root

SPELLINGS = {
    "as it is": "skills/want/SKILL.md",
    "right in the root": "skills/SKILL.md",
    "deep below": "skills/a/b/c/d/e/f/g/h/SKILL.md",
    "small letters": "Skills/want/skill.MD",
    "dots": "./skills/./want//SKILL.md",
    "around": "drafts/../skills/want/SKILL.md",
    "absolute": "{ws}/skills/want/SKILL.md",
    "full-width letters": "ｓｋｉｌｌｓ/want/ＳＫＩＬＬ.md",
    "zero width": "skills/want/SKI\u200bLL.md",
    "dotless": "sk\u0131lls/want/SK\u0131LL.md",
    "back-slashes": "skills\\want\\SKILL.md",
    "percent": "skills%2fwant/SKILL%2emd",
    "blank behind": "skills/want/SKILL.md ",
    "dot behind": "skills./want/SKILL.md.",
    "stream": "skills/want/SKILL.md::$DATA",
    "own process": "/proc/self/cwd/skills/want/SKILL.md",
    "home": "~/skills/want/SKILL.md",
}
OTHERS = {
    "a draft": "drafts/want/SKILL.md",
    "right in the workspace": "SKILL.md",
    "a folder of almost that name": "skills-drafts/want/SKILL.md",
    "a root further down": "drafts/skills/want/SKILL.md",
    "another file": "skills/want/notes.md",
    "a folder of that name": "skills/SKILL.md/notes.md",
    "out of the root": "skills/../drafts/SKILL.md",
    "elsewhere": "/srv/skills/want/SKILL.md",
    "nothing": "",
    "a NUL": "drafts/\x00",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "ws"
    made.mkdir()
    return made


def roots_in(workspace: Path) -> tuple[Root, ...]:
    return tuple(Root(path=workspace / name, owner_id="ann") for name in USUAL_FOLDERS)


@pytest.fixture
def places(workspace: Path) -> SkillPlaces:
    return SkillPlaces(workspace, lambda: roots_in(workspace))


@pytest.mark.parametrize("root", USUAL_FOLDERS)
def test_every_root_in_the_workspace_counts(root: str, places: SkillPlaces) -> None:
    assert places.has(f"{root}/want/SKILL.md")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_spelling_of_such_a_path_is_seen_through(spelling: str, places: SkillPlaces) -> None:
    assert places.has(SPELLINGS[spelling].format(ws=places.workspace))


@pytest.mark.parametrize("spelling", OTHERS)
def test_other_files_are_nobodys_skills(spelling: str, places: SkillPlaces) -> None:
    assert not places.has(OTHERS[spelling])


def test_links_on_the_way_are_followed(workspace: Path, places: SkillPlaces) -> None:
    (workspace / "skills").mkdir()
    (workspace / "drafts").symlink_to("skills")
    (workspace / "notes.md").symlink_to("skills/want/SKILL.md")

    assert places.has("drafts/want/SKILL.md")
    assert places.has("notes.md")


def test_a_workspace_behind_a_link_is_known_by_both_names(workspace: Path) -> None:
    alias = workspace.parent / "alias"
    alias.symlink_to(workspace)
    places = SkillPlaces(alias, lambda: roots_in(workspace))

    assert places.has("skills/want/SKILL.md")
    assert places.has(f"{workspace}/skills/want/SKILL.md")


def test_where_no_skills_are_looked_for_there_are_none(workspace: Path) -> None:
    assert not SkillPlaces(workspace, tuple).has("skills/want/SKILL.md")


def test_a_root_that_somebody_named_counts_wherever_it_leads(workspace: Path) -> None:
    named = workspace.parent / "named"
    named.symlink_to(workspace / "ours")
    places = SkillPlaces(workspace, lambda: (Root(path=named),))

    assert places.has("ours/want/SKILL.md")
    assert not places.has("skills/want/SKILL.md")


@pytest.mark.parametrize("hostile", ["%25", "a\u0301", "../", "/", "\x00", "SKILL.md/", "skills/"])
def test_no_path_takes_long_to_read(hostile: str, places: SkillPlaces) -> None:
    started = time.process_time()
    places.has(hostile * 1_500)
    places.has(hostile * 20_000)

    assert time.process_time() - started < 2
