"""The index of terms finds the same on both databases, only in scope, and forgets what is removed."""

from collections.abc import Sequence
from random import Random

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.conftest import UnitsOnDatabase, empty
from understudy.core.bell import Bell
from understudy.retrieval import rarity
from understudy.retrieval.documents import TermHit
from understudy.storage.engine import open_engine
from understudy.storage.schema import term_entries
from understudy.storage.term_entries import TermCounts
from understudy.storage.term_index import TermIndex
from understudy.storage.unit import Units
from understudy.storage.visible_connection import VisibleConnection

KIND = "run"
HERE = ("session:s1",)
EVERYWHERE = ("workspace:default",)
HOSTILE = {
    "quotes": "it's\"quoted",
    "an operator": "AND",
    "another operator": "NOT",
    "a column filter": "tokens:x",
    "a prefix": "a*",
    "parentheses": "(a)OR(b)",
    "a NUL": "a\x00b",
    "a lone surrogate": "a\udc80b",
    "a comment": "--x",
    "array syntax": "{1,2}",
    "a percent sign": "%s%(x)s:limit",
    "very long": "x" * 100_000,
    "Chinese": "数据库",
    "Chinese bigram": "据库",
    "Vietnamese": "tiếng",
    "emoji": "👩‍🚀",
    "empty": "",
    "a blank": "two words",
}


@pytest.fixture
def units(empty_database: UnitsOnDatabase) -> Units:
    return empty_database.units


def put(
    units: Units,
    source_id: str,
    *terms: str,
    scopes: Sequence[str] = HERE,
    at_ms: int = 1,
    kind: str = KIND,
) -> None:
    with units.write() as unit:
        unit.term_index.put(kind, source_id, scopes=scopes, terms=terms, at_ms=at_ms)


def fill(units: Units, prefix: str, *terms: str, scopes: Sequence[str], count: int) -> None:
    with units.write() as unit:
        for number in range(count):
            unit.term_index.put(KIND, f"{prefix}{number}", scopes=scopes, terms=terms, at_ms=number)


def candidates(
    units: Units, *terms: str, scopes: Sequence[str] = HERE, limit: int = 50
) -> tuple[TermHit, ...]:
    with units.read() as unit:
        return unit.term_index.candidates(KIND, scopes=scopes, terms=terms, limit=limit)


def found(units: Units, *terms: str, scopes: Sequence[str] = HERE, limit: int = 50) -> list[str]:
    return [each.source_id for each in candidates(units, *terms, scopes=scopes, limit=limit)]


def frequency(units: Units, term: str, kind: str = KIND) -> int:
    with units.read() as unit:
        return unit.term_index.statistics(kind, [term]).frequency(term)


@pytest.fixture
def crowd(units: Units) -> Units:
    """Many entries in `session:s1` and everywhere that hold `common`."""
    fill(units, "crowd_", "common", scopes=(*HERE, *EVERYWHERE), count=60)
    return units


def test_what_holds_a_term_is_a_candidate(units: Units) -> None:
    put(units, "a", "apple", "common", at_ms=7)
    put(units, "b", "pear")
    put(units, "c", "common")

    assert candidates(units, "apple") == (TermHit(source_id="a", at_ms=7),)
    assert found(units, "apple", "pear", "unheard") == ["b", "a"]
    assert found(units, "unheard") == []
    assert found(units) == []


def test_who_holds_more_and_rarer_terms_comes_first(crowd: Units) -> None:
    put(crowd, "both", "apple", "pear")
    put(crowd, "rare", "pear")
    put(crowd, "less_rare", "apple")
    put(crowd, "less_rare_too", "apple", "common")

    assert found(crowd, "common", "apple", "pear", limit=5)[:4] == [
        "both",
        "less_rare_too",
        "rare",
        "less_rare",
    ]
    assert len(found(crowd, "common", "apple", "pear", limit=5)) == 5


def test_any_text_is_a_term(crowd: Units) -> None:
    with crowd.write() as unit:
        for name, term in HOSTILE.items():
            terms = ["before", term, "after", term]
            unit.term_index.put(KIND, name, scopes=HERE, terms=terms, at_ms=1)

    for name, term in HOSTILE.items():
        assert found(crowd, term) == [name]
        assert frequency(crowd, term) == 1

    with crowd.write() as unit:
        unit.term_index.remove(KIND, tuple(HOSTILE))
    assert found(crowd, *HOSTILE.values()) == []
    assert [frequency(crowd, term) for term in HOSTILE.values()] == [0] * len(HOSTILE)


def test_terms_that_differ_in_case_or_accent_are_different_terms(crowd: Units) -> None:
    put(crowd, "a", "Tiếng")
    put(crowd, "b", "tiếng")
    put(crowd, "c", "tieng")

    assert [found(crowd, term) for term in ("Tiếng", "tiếng", "tieng")] == [["a"], ["b"], ["c"]]


def test_a_scope_shows_nothing_of_another(units: Units) -> None:
    fill(units, "mine_", "mine", scopes=["project:p1"], count=2)
    fill(units, "yours_", "secret", "mine", scopes=["project:p2"], count=20)

    assert found(units, "secret", "mine", scopes=["project:p1"]) == ["mine_1", "mine_0"]
    assert found(units, "secret", scopes=["project:p3"]) == []
    assert found(units, "secret", scopes=[]) == []
    # A scope spelt like a term is no term, and a term spelt like a scope no scope.
    assert frequency(units, "project:p1") == 0
    assert found(units, "secret", scopes=["secret"]) == []


def test_a_broad_scope_shows_nothing_of_the_rest_either(units: Units) -> None:
    fill(units, "mine_", "mine", scopes=EVERYWHERE, count=40)
    fill(units, "yours_", "rare", "mine", scopes=["workspace:other"], count=39)
    put(units, "a", "rare", scopes=EVERYWHERE)

    assert found(units, "rare", "mine", scopes=EVERYWHERE, limit=3) == ["a", "mine_39", "mine_38"]


def test_any_of_several_scopes_will_do_and_none_counts_twice(units: Units) -> None:
    put(units, "one", "x", scopes=["project:p1"])
    put(units, "both", "x", scopes=["session:s1", "project:p1"])
    put(units, "other", "x", scopes=["project:p2"])
    scopes = ["session:s1", "project:p1", "project:p1"]

    assert found(units, "x", scopes=scopes) == ["both", "one"]
    with units.read() as unit:
        assert unit.term_index.count(KIND, scopes) == 2
        assert unit.term_index.newest(KIND, scopes=scopes, limit=9) == ("both", "one")
        assert unit.term_index.newest(KIND, scopes=(), limit=9) == ()


def test_an_entry_that_is_put_again_is_found_by_what_it_holds_now(crowd: Units) -> None:
    put(crowd, "a", "old", "kept", scopes=[*HERE, "project:p1"], at_ms=5)
    put(crowd, "a", "new", "kept", at_ms=9_999)

    assert (found(crowd, "old"), found(crowd, "new"), found(crowd, "kept")) == ([], ["a"], ["a"])
    assert [frequency(crowd, term) for term in ("old", "kept", "new")] == [0, 1, 1]
    with crowd.read() as unit:
        assert unit.term_index.count(KIND, ["project:p1"]) == 0
        assert unit.term_index.newest(KIND, scopes=["project:p1"], limit=1) == ()


def test_what_is_removed_leaves_nothing(empty_database: UnitsOnDatabase) -> None:
    units = empty_database.units
    fill(units, "r", "x", "y", scopes=[*HERE, *EVERYWHERE], count=700)
    with units.write() as unit:
        unit.term_index.remove(KIND, [*(f"r{number}" for number in range(700)), "never there"])

    assert stored(empty_database.engine) == (0, 0)
    assert frequency(units, "x") == 0


def test_clearing_a_kind_leaves_the_others_as_they_are(empty_database: UnitsOnDatabase) -> None:
    units = empty_database.units
    fill(units, "r", "x", scopes=HERE, count=30)
    put(units, "l", "x", kind="learning")
    with units.write() as unit:
        unit.term_index.clear(KIND)

    assert (frequency(units, "x"), frequency(units, "x", "learning")) == (0, 1)
    assert found(units, "x") == []
    with units.write() as unit:
        unit.term_index.clear("learning")
    assert stored(empty_database.engine) == (0, 0)


def stored(engine: sa.Engine) -> tuple[int, ...]:
    """How many rows there are of entries and of tokens."""
    tokens = {"sqlite": "term_vocabulary", "postgresql": "term_tokens"}[engine.dialect.name]
    tables = (term_entries, sa.table(tokens))
    with engine.connect() as connection:
        return tuple(
            connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for table in tables
        )


def test_kinds_know_nothing_of_each_other(units: Units) -> None:
    put(units, "same", "x", "y", kind="run")
    put(units, "same", "x", kind="learning")

    assert (frequency(units, "y"), frequency(units, "y", "learning")) == (1, 0)
    with units.write() as unit:
        unit.term_index.remove("learning", ["same"])
    assert found(units, "x") == ["same"]


def test_a_unit_that_fails_leaves_the_index_as_it_was(crowd: Units) -> None:
    put(crowd, "a", "before")

    def fail() -> None:
        with crowd.write() as unit:
            unit.term_index.put(KIND, "a", scopes=HERE, terms=["after"], at_ms=1)
            unit.term_index.remove(KIND, ["crowd_1"])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert (found(crowd, "before"), found(crowd, "after")) == (["a"], [])
    assert frequency(crowd, "common") == 60


@pytest.mark.postgres
def test_daemons_that_put_at_once_do_not_wait_for_each_other(
    postgres_shared: str, postgres_engine: sa.Engine
) -> None:
    empty(postgres_engine)
    engine = open_engine(postgres_shared)
    with engine.connect() as one, engine.connect() as other:
        other.exec_driver_sql("SET lock_timeout = '5s'")
        for connection, source in ((one, "a"), (other, "b"), (one, "c"), (other, "d")):
            index = TermIndex(VisibleConnection(connection), TermCounts())
            index.put(KIND, source, scopes=HERE, terms=["same"], at_ms=1)
        other.commit()
        one.commit()
        index = TermIndex(VisibleConnection(one), TermCounts())
        assert index.newest(KIND, scopes=HERE, limit=9) == tuple("dcba")
        one.rollback()
    engine.dispose()


def test_a_unit_sees_what_it_has_put(crowd: Units) -> None:
    with crowd.write() as unit:
        unit.term_index.put(KIND, "a", scopes=HERE, terms=["fresh"], at_ms=1)
        [candidate] = unit.term_index.candidates(KIND, scopes=HERE, terms=["fresh"], limit=5)

    assert candidate.source_id == "a"


def test_a_unit_counts_anew_what_it_has_put_or_removed(units: Units) -> None:
    with units.write() as unit:
        index, counts = unit.term_index, []
        for source_id in "ab":
            index.put(KIND, source_id, scopes=HERE, terms=["x"], at_ms=1)
            counts.append(index.statistics(KIND, ["x"]))
        index.remove(KIND, ["a", "b"])
        counts.append(index.statistics(KIND, ["x"]))
    assert [(it.documents, it.frequency("x")) for it in counts] == [(1, 1), (2, 2), (0, 0)]


def test_counting_stops_just_past_the_limit(units: Units) -> None:
    fill(units, "r", "x", scopes=HERE, count=rarity.SCAN_LIMIT + 20)

    with units.read() as unit:
        assert unit.term_index.count(KIND, HERE) == rarity.SCAN_LIMIT + 1
        assert unit.term_index.count(KIND, ["session:s2"]) == 0
        assert unit.term_index.count(KIND, []) == 0


@pytest.mark.parametrize("exact", [2, 1_000], ids=["of many", "of few"])
def test_the_newest_are_those_that_were_put_last(
    units: Units, exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.storage.term_index.EXACT_COUNT", exact)
    for source in ("b", "a", "d", "c", "b"):
        put(units, source)

    with units.read() as unit:
        assert unit.term_index.newest(KIND, scopes=HERE, limit=3) == ("c", "d", "a")


def test_statistics_are_those_of_the_whole_store(units: Units) -> None:
    put(units, "a", "x", "x", "y", scopes=["session:s1"])
    put(units, "b", "x", scopes=["session:s2"])
    put(units, "c", scopes=[])

    with units.read() as unit:
        statistics = unit.term_index.statistics(KIND, ["x", "y", "z", "x"])
        nothing = unit.term_index.statistics("learning", ["x"])
    assert statistics.documents == 3
    assert statistics.average_length == pytest.approx(1)
    assert [statistics.frequency(term) for term in ("x", "y", "z", "unasked")] == [2, 1, 0, 0]
    assert (nothing.documents, nothing.average_length, nothing.frequency("x")) == (0, 0.0, 0)


def test_a_large_count_is_remembered_and_a_small_one_is_not(
    units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.storage.term_index.EXACT_COUNT", 2)
    fill(units, "r", "many", scopes=HERE, count=3)
    put(units, "a", "few")
    assert (frequency(units, "many"), frequency(units, "few")) == (3, 1)
    put(units, "b", "many", "few")

    assert (frequency(units, "many"), frequency(units, "few")) == (3, 2)
    # Another process knows nothing of that.
    other = Units(units.engine, enqueue=lambda *_: None, bell=Bell())
    assert frequency(other, "many") == 4


def test_only_the_rarest_terms_are_looked_up_within_the_budget(
    crowd: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rarity.plan, "__kwdefaults__", {"budget": 50})
    put(crowd, "a", "apple")
    put(crowd, "b", "pear", "common")

    assert found(crowd, "common", "pear", "apple") == ["b", "a"]
    # Beyond the budget even alone: the last that were put.
    assert found(crowd, "common", limit=2) == ["b", "crowd_59"]


def test_a_damaged_entry_is_found_by_nobody_and_can_be_replaced(
    empty_database: UnitsOnDatabase,
) -> None:
    units = empty_database.units
    put(units, "a", "x")
    put(units, "b", "x")
    with empty_database.engine.begin() as connection:
        torn = sa.update(term_entries).where(term_entries.c.source_id == "a")
        connection.execute(torn.values(scopes=sa.literal_column("'[torn'")))

    assert found(units, "x") == ["b"]
    put(units, "a", "y")
    assert (found(units, "x"), found(units, "y")) == (["b"], ["a"])


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    changes=st.lists(
        st.tuples(
            st.sampled_from("abcd"),
            st.lists(st.sampled_from(["x", "y", "数", "'"]), max_size=3),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_after_any_changes_only_what_is_there_is_counted(
    units: Units, changes: list[tuple[str, list[str], bool]]
) -> None:
    expected: dict[str, list[str]] = {}
    with units.write() as unit:
        unit.term_index.clear(KIND)
        for source, terms, is_put in changes:
            if is_put:
                expected[source] = terms
                unit.term_index.put(KIND, source, scopes=HERE, terms=terms, at_ms=1)
            else:
                expected.pop(source, None)
                unit.term_index.remove(KIND, [source])
        statistics = unit.term_index.statistics(KIND, ["x", "y", "数", "'"])
        sources = unit.term_index.candidates(KIND, scopes=HERE, terms=["x"], limit=9)

    assert {each.source_id for each in sources} == {s for s, t in expected.items() if "x" in t}
    for term in ("x", "y", "数", "'"):
        holding = sum(term in terms for terms in expected.values())
        assert statistics.frequency(term) == holding


def test_thousands_of_entries_are_searched_as_a_plain_count_of_weights_would(
    units: Units,
) -> None:
    random = Random(7)
    words = [f"w{number}" for number in range(800)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    entries = {f"r{n}": tuple(random.choices(words, weights, k=30)) for n in range(1_500)}
    with units.write() as unit:
        for number, (source, terms) in enumerate(entries.items()):
            scopes = [f"project:p{number % 4}", *EVERYWHERE]
            unit.term_index.put(KIND, source, scopes=scopes, terms=terms, at_ms=number)

    for _ in range(10):
        query = tuple(dict.fromkeys(random.choices(words, weights, k=6)))
        for scope, step in (("project:p3", 4), (EVERYWHERE[0], 1)):
            own = {s: t for n, (s, t) in enumerate(entries.items()) if (n + 1) % step == 0}
            sources = found(units, *query, scopes=[scope], limit=20)
            assert sources == weighed(query, entries, own)[:20]


def weighed(
    query: Sequence[str], entries: dict[str, tuple[str, ...]], own: dict[str, tuple[str, ...]]
) -> list[str]:
    """The sources among `own` by the weight of the terms they hold, the last put first."""
    held = {term: sum(term in terms for terms in entries.values()) for term in query}
    weight = {t: rarity.weight(count, len(entries)) for t, count in held.items() if count}
    score = {s: sum(w for t, w in weight.items() if t in terms) for s, terms in own.items()}
    hits = [source for source in own if score[source]]
    return sorted(hits, key=lambda source: (score[source], int(source[1:])), reverse=True)
