"""Without a query, the newest come first, and skills keep their places."""

from understudy.retrieval.hits import ResultKind, SearchResult
from understudy.retrieval.search import _with_skills


def result(kind: ResultKind, number: int, at_ms: int = 0) -> SearchResult:
    return SearchResult(
        kind=kind,
        source_id=f"{kind}-{number}",
        title="",
        excerpt="",
        timestamp_ms=at_ms,
        prompt_eligible=True,
    )


RUNS = [result(ResultKind.RECOVERED_RUN, number, 100 - number) for number in range(20)]
SKILLS = [result(ResultKind.SKILL, number) for number in range(9)]


def test_skills_get_a_third_of_a_full_page() -> None:
    page = _with_skills([*RUNS, *SKILLS], 12)[:12]

    assert page == [*RUNS[:8], *SKILLS[:4]]


def test_places_that_nobody_needs_go_to_the_others() -> None:
    assert _with_skills([*RUNS, *SKILLS[:1]], 12)[:12] == [*RUNS[:11], SKILLS[0]]
    assert _with_skills([*RUNS[:3], *SKILLS], 12)[:12] == [*RUNS[:3], *SKILLS]
    assert _with_skills(RUNS, 12) == RUNS
