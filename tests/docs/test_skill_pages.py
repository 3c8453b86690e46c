"""The pages about skills show the tables of the code, and their commands exist."""

import re
import shlex
from pathlib import Path

import pytest

from tests.support.command_line_in_process import typed
from tests.support.skill_factories import make_skill
from understudy.cli.skill_records import REASONS
from understudy.core.principal import Principal, Role
from understudy.guard.scan import MAX_TEXT_CHARS
from understudy.skills.access import RULES, AccessReason, actions_of
from understudy.skills.bundles import limits
from understudy.skills.bundles.manifest import FIELDS
from understudy.skills.lifecycle import VERSION, VISIBILITY, after_grants
from understudy.skills.local.roots import USUAL_FOLDERS
from understudy.skills.model import SkillOrigin, Visibility
from understudy.skills.prompt import MAX_INLINE, MAX_INLINE_TOKENS
from understudy.skills.runtime_settings import FIELDS as RUNTIME_FIELDS
from understudy.skills.slug import MAX_SLUG_CHARS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "\n".join(
    (DOCS / name).read_text()
    for name in ("concepts/skills.md", "reference/skill-bundles.md", "reference/skill-folders.md")
)
HOWTO = (DOCS / "howto" / "skills.md").read_text()
WORDS = " ".join(PAGE.split())
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(understudy .*?)```", PAGE + HOWTO, re.DOTALL)
    for line in block.splitlines()
]
CODE = re.compile(r"`([^`]+)`")
MIB = 1024 * 1024
# What the words of the table about roles stand for.
MEANT = {
    "look": set(),
    "change": {"update", "patch", "restore", "disable"},
    "grant": {"grant", "revoke"},
    "delete": {"delete"},
    "make public": {"publish"},
    "switch on and off": {"disable"},
}


def rows(heading: str) -> list[list[str]]:
    """The cells of the table that begins with these words."""
    (table,) = re.findall(rf"^\| {re.escape(heading)}.*\n\|-.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]


def test_the_visibility_is_drawn_as_it_is() -> None:
    assert re.findall(r"```mermaid\n(.*?)\n```", PAGE, re.DOTALL) == [VISIBILITY.mermaid()]


def test_the_states_of_a_version_are_drawn_as_they_are() -> None:
    assert VERSION.mermaid() in (DOCS / "concepts" / "skill-drafts.md").read_text()


def test_what_grants_make_of_a_visibility_is_told_for_every_case() -> None:
    told = {(it, grants == "some"): then for it, grants, then in rows("it is | grants then")}

    assert told == {
        (f"`{it}`", granted): f"`{after_grants(it, granted=granted)}`"
        for it in Visibility
        for granted in (True, False)
    }


def test_the_table_of_access_is_the_one_that_decides_in_the_words_of_the_commands() -> None:
    decided = [(reason, allowed) for reason, allowed, _ in RULES]

    assert rows("reason | because") == [
        [f"`{reason}`", REASONS[reason], "yes" if allowed else "no"]
        for reason, allowed in (*decided, (AccessReason.NONE, False))
    ]
    assert set(REASONS) == set(AccessReason)


@pytest.mark.parametrize("row", rows("role | their own"), ids=lambda row: row[0])
def test_what_a_role_may_do_is_what_is_offered_to_it(row: list[str]) -> None:
    role, *cells = row
    caller = Principal(user_id="ann", role=Role(role.strip("`")))
    own, other = make_skill(owner_id="ann"), make_skill(owner_id="ben")
    system = make_skill(owner_id="system", origin=SkillOrigin.SYSTEM)

    for skill, cell in zip((own, other, system), cells, strict=True):
        told: set[str] = set().union(*(MEANT[word] for word in cell.split(", ")))
        # A system skill is public already.
        assert set(actions_of(skill, caller)) == told, cell


def test_every_origin_is_described() -> None:
    assert [CODE.findall(row[0])[0] for row in rows("origin")] == [*SkillOrigin]


def test_the_limits_are_those_of_the_code() -> None:
    assert dict(rows("limit | value")) == {
        "`SKILL.md`": f"{limits.MAX_MANIFEST_BYTES:,} bytes",
        "all other files together": f"{limits.MAX_BUNDLE_BYTES // MIB} MiB",
        "one file in a ZIP": f"{limits.MAX_FILE_BYTES // MIB} MiB",
        "text in them, for [the guard](../concepts/guard.md#limits) to read": (
            f"{MAX_TEXT_CHARS // MIB} MiB"
        ),
        "files": f"{limits.MAX_FILES}",
        "folders within each other": f"{limits.MAX_DEPTH}",
    }
    assert f"2 to {MAX_SLUG_CHARS} lower-case letters" in WORDS


def test_the_room_in_the_prompt_is_that_of_the_code() -> None:
    assert f"at most {MAX_INLINE} that take at most {MAX_INLINE_TOKENS:,} tokens" in WORDS


@pytest.mark.parametrize("field", sorted({*FIELDS, *RUNTIME_FIELDS}))
def test_every_field_of_the_files_is_named(field: str) -> None:
    spellings = {field, field.replace("-", "_"), field.replace("_", "-")}

    assert any(f"`{spelling}`" in PAGE for spelling in spellings)


def test_the_folders_that_were_searched_without_being_asked_are_named() -> None:
    page = " ".join((DOCS / "howto" / "skill-roots.md").read_text().split())

    assert f"{', '.join(f'`{name}`' for name in USUAL_FOLDERS)} of the workspace" in page


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_on_the_pages_is_one(line: str) -> None:
    name, *words = shlex.split(line)

    result = typed(*words, "--help")

    assert name == "understudy"
    assert result.exit_code == 0, result.output
