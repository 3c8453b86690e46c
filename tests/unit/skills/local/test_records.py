"""Local skills in pages of kept ones."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.skill_factories import make_skill
from understudy.core.page import Page, PageRequest, decode_cursor, encode_cursor
from understudy.skills.bundles.manifest import Manifest
from understudy.skills.local.skill import LocalSkill, fits, merged, record_of
from understudy.skills.model import (
    Skill,
    SkillFilter,
    SkillOrigin,
    SkillStatus,
    Visibility,
    list_key,
)
from understudy.skills.runtime_settings import RuntimeSettings


def local(name: str, **fields: Any) -> Skill:
    return record_of(
        LocalSkill(
            name=name,
            description=f"About {name}",
            path=Path("/skills") / name / "SKILL.md",
            root=Path("/skills"),
            digest="0" * 64,
            runtime=RuntimeSettings(),
            manifest=Manifest(name=name, tags=("tagged",)),
            instructions="",
            **fields,
        )
    )


def store_page(rows: list[Skill], request: PageRequest) -> Page[Skill]:
    """A page as the store makes it."""
    after = [row for row in rows if request.after is None or list_key(row) > request.after]
    shown = tuple(after[: request.limit])
    more = len(after) > request.limit
    return Page(items=shown, next_cursor=encode_cursor(list_key(shown[-1])) if more else None)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
def test_every_skill_is_on_exactly_one_page_in_the_order_of_names(limit: int) -> None:
    rows = sorted((make_skill(f"s-{at:02}") for at in range(0, 20, 2)), key=list_key)
    found = [local(f"s-{at:02}") for at in (0, 1, 3, 4, 18, 19)] + [local("aa"), local("zz")]
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(40):
        request = PageRequest(limit=limit, after=decode_cursor(cursor) if cursor else None)
        page = merged(store_page(rows, request), found, request)
        assert len(page.items) <= limit
        seen += [skill.skill_id for skill in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break

    assert len(seen) == len(set(seen)) == len(rows) + len(found)
    assert seen[0] == "local:aa"
    assert seen[-1] == "local:zz"
    # The local one of a slug stands right behind the kept one.
    assert seen.index("local:s-04") == seen.index("skl_s-04") + 1


def test_a_local_record_is_everybodys_and_in_no_version() -> None:
    skill = local("notes", size=12, changed_at_ms=5)

    assert skill.skill_id == "local:notes"
    assert skill.owner_id == "local"
    assert skill.visibility is Visibility.PUBLIC
    assert skill.version == 0
    assert (skill.size, skill.updated_at_ms) == (12, 5)


@pytest.mark.parametrize(
    ("narrowed", "shown"),
    [
        (SkillFilter(), True),
        (SkillFilter(origin=SkillOrigin.LOCAL), True),
        (SkillFilter(origin=SkillOrigin.MANAGED), False),
        (SkillFilter(visibility=Visibility.PUBLIC), True),
        (SkillFilter(visibility=Visibility.PRIVATE), False),
        (SkillFilter(status=SkillStatus.ACTIVE), True),
        (SkillFilter(status=SkillStatus.ARCHIVED), False),
        (SkillFilter(owner_id="local"), True),
        (SkillFilter(owner_id="ann"), False),
        (SkillFilter(enabled=True), True),
        (SkillFilter(enabled=False), False),
        (SkillFilter(query="ABOUT"), True),
        (SkillFilter(query="tagg"), True),
        (SkillFilter(query="elsewhere"), False),
    ],
)
def test_a_filter_holds_for_local_skills_too(narrowed: SkillFilter, shown: bool) -> None:
    assert fits(local("notes"), narrowed) is shown
