"""What a session would be given to remember, however many skills there are."""

from tests.support.factories import make_session
from tests.support.rollout_factories import make_rollout
from understudy.api.routes.memory import MAX_SKILLS, context_view
from understudy.retrieval.choice import Learned
from understudy.retrieval.inspection import MemoryContext
from understudy.retrieval.recovered import Recovered
from understudy.rollout.files import catalogue_entry_of


def test_many_skills_are_counted_and_only_the_first_are_shown() -> None:
    skills = tuple(
        catalogue_entry_of(make_rollout(f"skill-{at:04}")) for at in range(MAX_SKILLS + 50)
    )
    context = MemoryContext(
        session=make_session("s1"),
        learning_scopes=(),
        learned=Learned(),
        recovered=Recovered(),
        skills=skills,
    )

    view = context_view(context)

    assert [it.slug for it in view.visible_skills] == [it.slug for it in skills[:MAX_SKILLS]]
    assert view.visible_skill_count == MAX_SKILLS + 50
