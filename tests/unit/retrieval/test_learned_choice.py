"""Which learnings are told, in which order, and every reason why others are not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.factories import NOW
from tests.support.learning_factories import PERSONA, PROJECT, SESSION, make_learning
from understudy.learnings.model import Applies, Kind, Learning, LearningSource, Sensitivity
from understudy.retrieval.choice import (
    MAX_ENTRIES,
    Judged,
    Learned,
    LearningReason,
    choose,
    learning_note,
    passed_over,
)
from understudy.review.policy import RetrievalSettings
from understudy.sessions.learning_scopes import WORKSPACE, LearningScope, ScopeKind

ATLAS = make_learning("Atlas project color is vermilion.", learning_id="atlas")
SNACK = make_learning("Default snack preference is banana.", learning_id="snack", scope=SESSION)


def chosen(*learnings: Learning, query: str | None = None, **given: Any) -> Learned:
    return choose([Judged(learning=it) for it in learnings], query, now_ms=NOW, **given)


def told(*learnings: Learning, query: str | None = None) -> list[str]:
    return [it.learning_id for it in chosen(*learnings, query=query).kept]


def reasons(found: Learned) -> dict[str, tuple[str, ...]]:
    return {it.learning.learning_id: it.reasons for it in found.considered}


def test_what_does_not_match_is_left_out() -> None:
    found = chosen(ATLAS, SNACK, query="What color is Atlas?")

    assert reasons(found) == {"atlas": (), "snack": (LearningReason.NO_MATCH,)}
    [match] = found.considered[0].scored.matches if found.considered[0].scored else []
    assert set(match.terms) == {"color", "atlas"}
    assert (found.is_ranked, found.is_browsed) == (True, False)


OFF_TOPIC = "Which color did Vivaldi, Mozart and Haydn wear in Vienna?"


def test_a_match_that_covers_too_little_of_the_input_is_below_the_floor() -> None:
    found = chosen(ATLAS, SNACK, query=OFF_TOPIC)

    assert reasons(found) == {
        "atlas": (LearningReason.BELOW_FLOOR,),
        "snack": (LearningReason.NO_MATCH,),
    }
    assert found.counts[LearningReason.BELOW_FLOOR] == 1
    others = [Judged(learning=make_learning("The color of Borealis is red.", learning_id="b"))]
    [passed] = passed_over(others, OFF_TOPIC, found, now_ms=NOW)
    assert passed.reasons == (LearningReason.BELOW_FLOOR,)


@pytest.mark.parametrize("others", [0, 4, 49])
def test_the_floor_is_the_same_for_one_learning_and_for_many(others: int) -> None:
    more = [make_learning(f"Crane {at} has a color.", learning_id=f"c{at}") for at in range(others)]

    assert told(ATLAS, *more, query="What color is Atlas?")[0] == "atlas"
    assert told(ATLAS, *more, query=OFF_TOPIC) == []


@pytest.mark.parametrize("kind", [Kind.PREFERENCE, Kind.DECISION])
def test_a_task_about_its_subject_is_told_a_preference_but_no_fact(kind: Kind) -> None:
    words = "Headlines are in sentence case."
    wanted = make_learning(words, kind=kind, learning_id="wanted")
    fact = make_learning(words, kind=Kind.FACT, learning_id="fact")
    task = "Write a headline for the spring newsletter of the choir."

    assert told(wanted, fact, query=task) == ["wanted"]
    assert told(wanted, fact, query="Are headlines in sentence case?") == ["fact", "wanted"]
    assert told(wanted, query="Summarise the case of the choir against the newsletter.") == []


def test_a_floor_of_zero_tells_every_match() -> None:
    found = chosen(ATLAS, query=OFF_TOPIC, settings=RetrievalSettings(relevance_floor=0))

    assert reasons(found) == {"atlas": ()}


def test_the_floor_is_not_for_standing_learnings_nor_for_inputs_that_ask_for_memories() -> None:
    always = make_learning("Always name the color.", learning_id="always", applies=Applies.ALWAYS)
    wish = "What do you remember of the color, Vivaldi, Mozart, Haydn and all of Vienna?"

    assert told(ATLAS, always, query=OFF_TOPIC) == ["always"]
    assert told(ATLAS, SNACK, query=wish) == ["atlas", "snack"]


def test_a_blocked_learning_does_not_open_the_floor_for_others() -> None:
    best = Judged(learning=make_learning(OFF_TOPIC, learning_id="best"), blockers=("provisional",))

    found = choose([best, Judged(learning=ATLAS)], OFF_TOPIC, now_ms=NOW)

    assert reasons(found)["atlas"] == (LearningReason.BELOW_FLOOR,)


def standing(number: int, content: str = "Always answer in Dutch.") -> Learning:
    return make_learning(content, learning_id=f"always{number:02}", applies=Applies.ALWAYS)


def test_a_standing_learning_is_told_first_whatever_the_input() -> None:
    found = chosen(ATLAS, SNACK, standing(1), query="What color is Atlas?")

    assert [it.learning_id for it in found.kept] == ["always01", "atlas"]
    assert told(SNACK, standing(1), query="zeppelin") == ["always01"]
    assert learning_note(standing(1)).label.endswith(", always")


@pytest.mark.parametrize(
    "settings",
    [RetrievalSettings(max_standing_entries=2), RetrievalSettings(max_standing_tokens=20)],
)
def test_standing_learnings_have_limits_of_their_own(settings: RetrievalSettings) -> None:
    many = [standing(at) for at in range(4)]
    found = chosen(*many, query="zeppelin", settings=settings)

    kept = len(found.kept)
    assert 0 < kept < len(many)
    assert found.omitted == found.counts[LearningReason.OVER_STANDING_LIMIT] == len(many) - kept


def test_a_standing_learning_beyond_its_limit_is_told_where_it_matches() -> None:
    none = RetrievalSettings(max_standing_entries=0)
    zebra = standing(1, "Never feed the zebra.")
    found = chosen(zebra, standing(2), query="the zebra", settings=none)

    assert reasons(found) == {"always01": (), "always02": (LearningReason.OVER_STANDING_LIMIT,)}


@pytest.mark.parametrize(
    "query",
    [
        "What is the deployment status?",
        # The kind and the scope of a learning are no words of it.
        "workspace fact",
        # Nothing but words that questions are made of.
        "what is it",
        # Letters within a word, or a day alone, are not enough either.
        "verm",
        "a",
        "hi",
        "2023-11-14",
    ],
)
def test_where_nothing_matches_nothing_is_told(query: str) -> None:
    found = chosen(ATLAS, SNACK, query=query)

    assert found.kept == ()
    assert {it.score for it in found.considered} == {0.0}


@pytest.mark.parametrize(
    "query", ["Use durable memory if it exists.", "Utilise la mémoire", "bạn nhớ gì", "你记得什么"]
)
def test_who_asks_for_memory_gets_it_by_scope(query: str) -> None:
    found = chosen(ATLAS, SNACK, query=query)

    assert [it.learning_id for it in found.kept] == ["snack", "atlas"]
    assert found.is_browsed


def test_a_match_comes_before_what_is_only_remembered() -> None:
    assert told(ATLAS, SNACK, query="do you remember the Atlas color?") == ["atlas"]


def test_all_forms_of_a_word_are_one() -> None:
    editors = make_learning("Preferred editors are Helix and Vim.", learning_id="editors")
    prod = make_learning("You can use it in prod", learning_id="prod")

    assert told(editors, prod, query="which editor do I like") == ["editors"]
    assert told(editors, prod, query="can you do this in staging") == []


def test_without_a_query_scope_comes_before_time_and_time_before_id() -> None:
    at = [
        make_learning("w old", learning_id="w1"),
        make_learning("w new", learning_id="w2", published_at_ms=NOW + 1),
        make_learning("project", learning_id="g", scope=PROJECT),
        make_learning("persona", learning_id="p", scope=PERSONA),
        make_learning("session b", learning_id="b", scope=SESSION),
        make_learning("session a", learning_id="a", scope=SESSION),
    ]

    assert told(*at) == ["a", "b", "p", "g", "w2", "w1"]
    assert not chosen(*at).is_ranked


def test_with_a_query_the_score_comes_before_the_scope() -> None:
    both = make_learning("The harbour crane is yellow.", learning_id="both")
    one = make_learning("A crane needs two people.", learning_id="one", scope=SESSION)
    twin = make_learning("A crane needs two people.", learning_id="twin")

    assert told(twin, one, both, query="harbour crane") == ["both", "one", "twin"]


def test_a_blocked_one_keeps_every_reason() -> None:
    found = choose(
        [Judged(learning=ATLAS, blockers=("sensitive", "expired")), Judged(learning=SNACK)],
        "a banana snack",
        now_ms=NOW,
    )

    assert reasons(found) == {
        "snack": (),
        "atlas": ("sensitive", "expired", LearningReason.NO_MATCH),
    }


def test_a_blocked_match_is_no_match() -> None:
    found = choose(
        [Judged(learning=ATLAS, blockers=("sensitive",)), Judged(learning=SNACK)],
        "do you remember Atlas?",
        now_ms=NOW,
    )

    assert [it.learning_id for it in found.kept] == ["snack"]
    assert found.considered[0].score > 0


def editor(value: str, scope: LearningScope = WORKSPACE, **fields: Any) -> Learning:
    return make_learning(
        f"Preferred editor is {value}.",
        learning_id=f"{scope.kind}-{value}",
        scope=scope,
        **({"kind": Kind.PREFERENCE} | fields),
    )


def test_the_narrower_scope_wins_over_another_value_of_the_same_subject() -> None:
    found = chosen(editor("Vim"), editor("Helix", SESSION), editor("Nano", PROJECT), query="editor")

    assert reasons(found) == {
        "session-Helix": (),
        "project-Nano": (LearningReason.OVERRIDDEN_BY_NARROWER_SCOPE,),
        "workspace-Vim": (LearningReason.OVERRIDDEN_BY_NARROWER_SCOPE,),
    }


def test_the_narrower_scope_wins_also_where_only_the_wider_one_matches() -> None:
    found = chosen(editor("Vim"), editor("Helix", SESSION), query="vim")

    assert found.kept == ()
    assert reasons(found)["workspace-Vim"] == (LearningReason.OVERRIDDEN_BY_NARROWER_SCOPE,)


def test_what_does_not_contradict_stays() -> None:
    other = LearningScope(kind=ScopeKind.PROJECT, id="other")
    kept = [
        # The same value, another kind, and two scopes of the same width.
        editor("Vim"),
        editor("Vim", PERSONA),
        editor("Helix", SESSION, kind=Kind.FACT),
        make_learning("Codename is Atlas.", scope=PROJECT),
        make_learning("Codename is Borealis.", scope=other),
    ]

    assert len(chosen(*kept).kept) == len(kept)


def test_a_blocked_one_overrides_nothing() -> None:
    blocked = Judged(learning=editor("Helix", SESSION), blockers=("expired",))

    found = choose([blocked, Judged(learning=editor("Vim"))], None, now_ms=NOW)

    assert [it.learning_id for it in found.kept] == ["workspace-Vim"]


def test_a_rival_overrides_and_is_not_told_itself() -> None:
    found = chosen(editor("Vim"), query="vim", rivals=[Judged(learning=editor("Helix", SESSION))])

    assert reasons(found) == {"workspace-Vim": (LearningReason.OVERRIDDEN_BY_NARROWER_SCOPE,)}


def test_no_more_than_so_many_are_told() -> None:
    many = [make_learning(f"Crane {number}", learning_id=f"{number:03}") for number in range(40)]

    found = chosen(*many, query="crane")

    assert len(found.kept) == MAX_ENTRIES
    assert found.omitted == 40 - MAX_ENTRIES
    assert found.counts == {"included": MAX_ENTRIES, "over_entry_limit": 40 - MAX_ENTRIES}


def test_what_does_not_fit_the_prompt_is_over_budget() -> None:
    found = chosen(ATLAS, SNACK).within(1)

    assert reasons(found) == {"snack": (), "atlas": (LearningReason.OVER_BUDGET,)}
    assert found.omitted == 1
    assert chosen(ATLAS, SNACK).within(5) == chosen(ATLAS, SNACK)


def test_what_was_not_among_those_to_choose_from_has_reasons_as_well() -> None:
    found = chosen(editor("Helix", SESSION), query="editor")
    others = [
        Judged(learning=editor("Vim")),
        Judged(learning=SNACK, blockers=("revoked",)),
        Judged(learning=make_learning("An editor war", learning_id="war")),
    ]

    passed = passed_over(others, "editor", found, now_ms=NOW)

    assert {it.learning.learning_id: it.reasons for it in passed} == {
        "workspace-Vim": (LearningReason.OVERRIDDEN_BY_NARROWER_SCOPE,),
        "snack": ("revoked", LearningReason.NO_MATCH),
        "war": (LearningReason.OVER_ENTRY_LIMIT,),
    }


def said(content: str, talk: str, at_ms: int = 0, **fields: Any) -> Learning:
    values = {"learning_id": f"{talk}-{at_ms}", "created_at_ms": at_ms} | fields
    return make_learning(content, source=LearningSource(session_id=talk), **values)


def matched(found: Learned) -> dict[str, set[str]]:
    return {
        it.learning.learning_id: {match.field for match in it.scored.matches}
        for it in found.considered
        if it.scored
    }


def test_of_two_that_match_alike_the_one_said_beside_more_of_it_comes_first() -> None:
    near = said("The crane is yellow.", "port", 1)
    around = said("All of the harbour is closed on Monday.", "port", 2)
    apart = said("The crane is yellow too.", "zoo", 3)

    assert told(apart, near, around, query="harbour crane") == ["port-1", "port-2", "zoo-3"]
    assert "neighbours" in matched(chosen(apart, near, around, query="harbour crane"))["port-1"]


def test_nothing_is_found_through_what_was_said_beside_it() -> None:
    crane = said("The harbour crane.", "port", 1)
    same_moment = said("It is red.", "port", 1, learning_id="red")

    found = chosen(crane, same_moment, query="crane")

    assert reasons(found) == {"port-1": (), "red": (LearningReason.NO_MATCH,)}
    assert found.considered[1].score == 0


def test_what_may_not_be_told_lends_nothing() -> None:
    near, around = said("The crane is yellow.", "port", 1), said("The harbour.", "port", 2)
    blocked = Judged(learning=around, blockers=("expired",))

    beside = choose([Judged(learning=near), blocked], "harbour crane", now_ms=NOW)

    assert matched(beside) == {"port-1": {"content"}, "port-2": {"content"}}
    assert matched(chosen(near, around, query="harbour crane"))["port-1"] > {"content"}


def test_nothing_tells_what_is_in_a_sensitive_one() -> None:
    secret = make_learning(
        "Preferred editor is Vim.", learning_id="secret", sensitivity=Sensitivity.SENSITIVE
    )
    judged = [
        Judged(learning=secret, blockers=("sensitive",)),
        Judged(learning=editor("Helix", SESSION, kind=Kind.FACT)),
    ]

    for query in ("vim", "editor", "no such thing", None):
        found = {it.learning.learning_id: it for it in choose(judged, query, now_ms=NOW).considered}

        assert found["secret"].reasons == ("sensitive",)
        assert found["secret"].scored is None


def test_a_question_that_names_a_day_prefers_what_was_said_on_it() -> None:
    day = 1_699_920_000_000  # 2023-11-14
    late = said("The crane was painted.", "b", day + 400 * 86_400_000, published_at_ms=day)
    early = said("The crane was painted.", "a", day + 3_600_000, published_at_ms=day)

    assert told(late, early, query="what about the crane on 2023-11-14") == [
        early.learning_id,
        late.learning_id,
    ]


WORDS = (
    "Mira",
    "mira",
    "crane",
    "Crane",
    "red",
    "harbour",
    "计划",
    "计算",
    "the",
    "GitHub_x",
    "14",
)


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), st.sampled_from("ab")),
        min_size=1,
        max_size=20,
    ),
    st.lists(st.sampled_from((*WORDS, "github", "2023-11-14")), min_size=1, max_size=3),
)
def test_what_is_told_depends_on_the_content_alone(
    given_: list[tuple[list[str], str]], asked: list[str]
) -> None:
    everything = [
        make_learning(" ".join(words), learning_id=f"{at}", source=LearningSource(session_id=talk))
        for at, (words, talk) in enumerate(given_)
    ]
    query = " ".join(asked)

    def kept(*learnings: Learning, **given: Any) -> set[str]:
        return {it.learning_id for it in chosen(*learnings, query=query, **given).kept}

    no_floor = {"settings": RetrievalSettings(relevance_floor=0)}
    assert kept(*everything, **no_floor) == {
        it.learning_id for it in everything if kept(it, **no_floor)
    }
    # Beside a match that reaches the floor, more are told than alone, never less.
    assert kept(*everything) >= {it.learning_id for it in everything if kept(it)}


CONTENTS = ("Codename is Atlas.", "Codename is Borealis.", "Crane 7 is yellow", "nothing", "色是红")
SCOPES = (SESSION, PERSONA, PROJECT, WORKSPACE)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(CONTENTS),
            st.sampled_from(SCOPES),
            st.sampled_from(((), ("expired",))),
        ),
        max_size=12,
    ),
    st.sampled_from((None, "codename", "crane", "what do you remember", "色", "no such thing")),
    st.randoms(),
)
def test_the_order_of_what_is_given_does_not_matter(
    given_: list[tuple[str, LearningScope, tuple[str, ...]]], query: str | None, random: Any
) -> None:
    judged = [
        Judged(learning=make_learning(content, scope=scope, learning_id=f"{at}"), blockers=blockers)
        for at, (content, scope, blockers) in enumerate(given_)
    ]
    shuffled = [*judged]
    random.shuffle(shuffled)

    found = choose(judged, query, now_ms=NOW)

    assert choose(shuffled, query, now_ms=NOW) == found
    assert len(found.considered) == len(judged)
    blocked = {it.learning.learning_id for it in judged if it.blockers}
    assert blocked.isdisjoint(it.learning_id for it in found.kept)
