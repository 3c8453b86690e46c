"""What a run may do to a skill that others use, and what a run keeps of the skills it began with."""

from collections.abc import AsyncIterator

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.model_scripts import Line
from tests.support.skill_runs import ANN, BOB, OK_MD, ROOT, SkillRuns, author, make_skill_runs
from understudy.core.errors import UnderstudyError
from understudy.settings import Settings
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.model import VersionState, Visibility
from understudy.skills.revisions import SkillFieldChanges
from understudy.testing.answers import Answer, SeenRequest, call
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.one_database

SLUG = "weekly-report"
USE = call("use_skill", {"name": SLUG})


def create(content: str = OK_MD) -> Answer:
    return call("skill_manage", {"action": "create", "content": content})


def patch(find: str, replace: str) -> Answer:
    given = {"action": "patch", "slug": SLUG, "find": find, "replace": replace}
    return call("skill_manage", given)


@pytest.fixture
async def skilled(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> AsyncIterator[SkillRuns]:
    skilled = make_skill_runs(database.units, database.queued, settings, fake)
    yield skilled
    await skilled.harness.providers.close()


def state_of(skilled: SkillRuns, number: int) -> VersionState:
    skill = skilled.skill()
    assert skill is not None
    with skilled.units.read() as unit:
        version = unit.skills.version(skill.skill_id, number)
    assert version is not None
    return version.state


async def test_a_run_grants_a_new_skill_to_no_agent_that_others_use(skilled: SkillRuns) -> None:
    # Bob works with the agent of Ann.
    await skilled.told(call("list_skills"), who=ANN)
    [told] = await skilled.told(create(), who=BOB)

    skill = skilled.skill()
    assert skill is not None
    assert (skill.owner_id, skill.visibility) == ("bob", Visibility.PRIVATE)
    assert "the agent's owner or an admin accepts it in their inbox" in told
    [his] = await skilled.told(call("list_skills"), who=BOB, session_id="s1")
    [hers] = await skilled.told(call("list_skills"), who=ANN, session_id="s1")
    assert SLUG in his
    assert SLUG not in hers


async def test_an_agents_owner_decides_about_the_agent_and_for_nobody_else(
    skilled: SkillRuns,
) -> None:
    skilled.service.create(author(BOB), OK_MD)
    skilled.service.grant_user(author(BOB), SLUG, "carol")
    await skilled.told(call("list_skills"), who=ANN)
    changed = {"action": "create", "slug": SLUG, "content": OK_MD.replace("Collect", "Invent")}
    read = call("list_files", {"path": "."})
    await skilled.told(read, call("skill_manage", changed), who=BOB)

    skilled.service.accept(author(ANN), SLUG, 2)

    # Her agent has the skill, in the version that its owner let others have.
    [hers] = await skilled.told(USE, who=ANN)
    [his] = await skilled.told(USE, who=BOB)
    assert ("Collect and write" in hers, "Invent and write" in his) == (True, True)
    with pytest.raises(UnderstudyError) as told:
        skilled.service.accept(author(ANN), SLUG, 2)
    assert told.value.code == "skill_not_yours"
    skilled.service.accept(author(BOB), SLUG, 2)
    [hers] = await skilled.told(USE, who=ANN)
    assert "Invent and write" in hers


@pytest.mark.every_database
@pytest.mark.parametrize("reach", ["public", "user", "agent"])
async def test_a_run_makes_only_a_draft_of_a_skill_that_others_may_use(
    skilled: SkillRuns, reach: str
) -> None:
    skilled.service.create(author(ANN), OK_MD)
    match reach:
        case "public":
            public = SkillFieldChanges(visibility=Visibility.PUBLIC)
            skilled.service.update(author(ROOT), SLUG, public)
        case "user":
            skilled.service.grant_user(author(ANN), SLUG, "bob")
        case _:
            skilled.service.grant_agent(author(ANN), SLUG, "default")

    for number, who, find in ((2, ANN, "Collect"), (3, ROOT, "write")):
        [told] = await skilled.told(patch(find, "think"), who=who, session_id="fresh")

        assert "others may use the skill" in told
        assert state_of(skilled, number) is VersionState.DRAFT
    # A person's own call is the person.
    skilled.service.patch(author(ANN), SLUG, find="write", replace="print")
    assert state_of(skilled, 4) is VersionState.SERVED


async def test_a_run_serves_a_version_of_a_skill_that_its_user_has_alone(
    skilled: SkillRuns,
) -> None:
    skilled.service.create(author(ANN), OK_MD)
    skilled.service.grant_agent(author(ANN), SLUG, "learner")

    await skilled.told(patch("Collect", "Gather"))

    assert state_of(skilled, 2) is VersionState.SERVED


def publishing(skilled: SkillRuns, then: Answer) -> Line:
    """A line in which a person publishes a new version before the model goes on."""

    def line(_: SeenRequest) -> Answer:
        skilled.harness.clock.advance()
        files = {"SKILL.md": OK_MD.replace("Collect", "Invent").encode(), "notes.md": b"new notes"}
        skilled.service.keep(author(ANN), Bundle(files), action="skills.upload")
        return then

    return line


async def test_a_run_keeps_the_version_that_its_prompt_listed(skilled: SkillRuns) -> None:
    files = {"SKILL.md": OK_MD.encode(), "notes.md": b"old notes"}
    skilled.service.keep(author(ANN), Bundle(files), action="skills.upload")
    notes = call("use_skill", {"name": SLUG, "file": "notes.md"})

    told = await skilled.told(publishing(skilled, USE), notes)
    later = await skilled.told(USE, notes)

    assert "Collect and write" in told[0]
    assert told[1] == "old notes"
    assert "Invent and write" in later[0]
    assert later[1] == "new notes"


@pytest.mark.every_database
async def test_a_skill_that_only_a_search_finds_has_the_version_of_the_runs_start(
    skilled: SkillRuns,
) -> None:
    skilled.service.create(author(ANN), OK_MD)
    for number in range(41):
        other = OK_MD.replace("Weekly report", f"Other {number}")
        skilled.service.create(author(ANN), other)

    [told] = await skilled.told(publishing(skilled, USE))

    assert "Collect and write" in told


@pytest.mark.every_database
async def test_only_the_allowed_tools_of_a_skill_run_while_it_is_in_use(skilled: SkillRuns) -> None:
    settings = b"allowed_tools: [list_files]\nblocked_tools: [skill_search]\n"
    files = {"SKILL.md": OK_MD.encode(), "agents/understudy.yaml": settings}
    skilled.service.keep(author(ANN), Bundle(files), action="skills.upload")
    write = call("write_file", {"path": "a.txt", "content": "x"})
    listing = call("list_files", {"path": "."})

    told = await skilled.told(write, USE, write, listing, call("skill_search", {"query": "x"}), USE)
    later = await skilled.told(write)

    assert told[0].startswith("created a.txt")
    assert "only its allowed_tools" in told[1]
    assert told[2] == (
        "denied: the skill weekly-report, which this run follows, uses only list_files"
    )
    assert not told[3].startswith("denied")
    assert told[4] == "denied: the skill weekly-report, which this run follows, blocks it"
    assert not told[5].startswith("denied")
    assert later[0].startswith("replaced a.txt")
    refused = [it for it in skilled.audited("tools.call") if it.outcome == "refused"]
    assert [it.resource_id for it in refused] == ["write_file", "skill_search"]
    assert "deny by the skill" in (refused[0].reason or "")


async def test_the_slug_of_a_skill_that_one_may_not_know_of_is_refused_as_a_reserved_one(
    skilled: SkillRuns,
) -> None:
    skilled.service.create(author(ANN), OK_MD)

    def refusal(slug: str) -> tuple[str, str]:
        with pytest.raises(UnderstudyError) as told:
            skilled.service.create(author(BOB), OK_MD, slug=slug)
        return told.value.code, told.value.detail.replace(slug, "…")

    assert refusal(SLUG) == refusal("upload")
    skilled.service.grant_user(author(ANN), SLUG, "bob")
    assert refusal(SLUG)[0] == "skill_slug_taken"


async def test_a_name_whose_slug_is_anothers_secret_gets_another_slug(skilled: SkillRuns) -> None:
    skilled.service.create(author(ANN), OK_MD)

    made = skilled.service.create(author(BOB), OK_MD)
    again = skilled.service.create(author(BOB), OK_MD + "More.\n")

    assert made.skill.slug.startswith("weekly-report-")
    assert made.version.number == 1
    assert (again.skill.skill_id, again.version.number) == (made.skill.skill_id, 2)
    assert skilled.content() == OK_MD.encode()
