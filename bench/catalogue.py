"""How long it takes to tell a prompt of its skills, among few and among many of other people's."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from bench.report import figure, heading, percentile
from bench.retrieval_records import words
from understudy.core.bell import Bell
from understudy.core.clock import SystemClock
from understudy.skills.bundles.store import BundleChecks
from understudy.skills.catalogue import Catalogue
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.skills.local.skills import LocalSkills
from understudy.skills.model import AgentGrant, Skill, SkillOrigin, Visibility
from understudy.skills.prompt import skills_section
from understudy.storage.engine import open_engine
from understudy.storage.migrate import migrate
from understudy.storage.unit import Units

# How many skills there are, and how many of them the agent may use.
SIZES: Final = ((1_000, 5), (10_000, 5), (1_000, 1_000), (10_000, 1_000))
AGENT: Final = "default"
USER: Final = "ann"
NOW_MS: Final = 1_750_000_000_000
BATCH: Final = 1_000
TIMES: Final = 30
WORDS_PER_DESCRIPTION: Final = 25
# What a section may take by how many are on offer, however many there are of others.
MOST_MS: Final = {5: 5.0, 1_000: 50.0}
# How much more it may take when there are ten times as many that are not on offer.
MOST_GROWTH: Final = 3.0


def main(*, quick: bool = False, postgres: bool = False) -> bool:
    """Measure every size, on SQLite and if asked on PostgreSQL; tells whether the target was met."""
    sizes = SIZES[:2] if quick else SIZES
    spent = {size: _sqlite(*size) for size in sizes}
    if postgres:
        _postgres(*sizes[-1])
    heading("Growth with the skills of others")
    met = [took <= MOST_MS[on_offer] for (_, on_offer), took in spent.items()]
    for on_offer in sorted({on_offer for _, on_offer in sizes}):
        few, many = (took for (_, offered), took in spent.items() if offered == on_offer)
        name = f"{on_offer:,} on offer of 10,000, against 1,000"
        met.append(figure(name, many / few, "times", at_most=MOST_GROWTH))
    return all(met)


def _sqlite(count: int, on_offer: int) -> float:
    heading(f"A prompt's skills: {on_offer:,} on offer of {count:,} (SQLite, CPU)")
    with tempfile.TemporaryDirectory() as made:
        return _measure(f"sqlite:///{made}/skills.db", count, on_offer, time.process_time)


def _postgres(count: int, on_offer: int) -> None:
    # The server is the one that tests use; nothing else here needs it.
    from tests.support import postgres

    heading(f"A prompt's skills: {on_offer:,} on offer of {count:,} (PostgreSQL, by the clock)")
    postgres.begin_test_run()
    try:
        with postgres.databases(postgres.server_url()) as make:
            _measure(make(), count, on_offer, time.perf_counter)
    finally:
        postgres.end_test_run()


def _measure(url: str, count: int, on_offer: int, clock: Callable[[], float]) -> float:
    engine = open_engine(url)
    try:
        migrate(engine)
        units = Units(engine, enqueue=lambda *_: None, bell=Bell())
        fill_skills(units, count, on_offer)
        known, fresh = _catalogue(units), lambda: _section(units, _catalogue(units))
        spent = percentile(_spent(lambda: _section(units, known), clock), 50)
        figure("the section of a prompt, p50", spent, "ms", at_most=MOST_MS[on_offer])
        changed = percentile(_spent(fresh, clock), 50)
        figure("the same after something changed, p50", changed, "ms")
        offered = known.list_for(agent_id=AGENT, user_id=USER, session_id=None)
        query = " ".join(words()[500:503])
        found = percentile(_spent(lambda: known.find(offered, query, 5), clock), 50)
        figure("a search for three words, p50", found, "ms")
        return spent
    finally:
        engine.dispose()


def _catalogue(units: Units) -> Catalogue:
    """One that remembers nothing yet."""
    local = LocalSkills(roots=(), guard=lambda _: (), clock=SystemClock())
    return Catalogue(units, local, BundleChecks())


def _section(units: Units, catalogue: Catalogue) -> str:
    """The very thing that happens when a run starts."""
    with units.write() as unit:
        offered: tuple[CatalogueEntry, ...] = catalogue.offered(
            unit, agent_id=AGENT, user_id=USER, session=None
        )
    return skills_section(offered, can_search=True, can_use=True)


def fill_skills(units: Units, count: int, on_offer: int) -> None:
    """Skills of many owners; every so many-th is granted to the agent."""
    made = _skills(count)
    step = count // on_offer
    while batch := list(islice(made, BATCH)):
        with units.write() as unit:
            for number, skill in batch:
                unit.skills.add(skill)
                # Others' agents have theirs, so that there is a grant for each.
                agent = AGENT if number % step == 0 else f"agent{number % 50}"
                unit.skill_grants.give_agent(
                    AgentGrant(
                        skill_id=skill.skill_id,
                        agent_id=agent,
                        granted_by=skill.owner_id,
                        created_at_ms=NOW_MS,
                    )
                )


def _skills(count: int) -> Iterator[tuple[int, Skill]]:
    vocabulary = words()
    for number in range(count):
        said = (vocabulary[(number * 7 + at * 131) % 3_000] for at in range(WORDS_PER_DESCRIPTION))
        description = " ".join(said)
        yield (
            number,
            Skill(
                skill_id=f"skl_{number:032x}",
                slug=f"skill-{number:06}",
                name=f"Skill {number:06}",
                description=description,
                origin=SkillOrigin.MANAGED,
                owner_id=f"user{number % 200}",
                version=1,
                digest="0" * 64,
                size=1_000,
                created_at_ms=NOW_MS,
                updated_at_ms=NOW_MS,
                visibility=Visibility.INTERNAL,
                frontmatter={"name": f"Skill {number:06}", "description": description},
            ),
        )


def _spent(act: Callable[[], object], clock: Callable[[], float]) -> list[float]:
    """What each time took, in milliseconds; the first one warms up."""
    act()
    spent = []
    for _ in range(TIMES):
        start = clock()
        act()
        spent.append((clock() - start) * 1000)
    return spent


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without the larger stores")
    parser.add_argument("--postgres", action="store_true", help="also on PostgreSQL")
    options = parser.parse_args()
    sys.exit(0 if main(quick=options.quick, postgres=options.postgres) else 1)
