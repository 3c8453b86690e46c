"""People who write one context file at the same time."""

from concurrent.futures import ThreadPoolExecutor

from tests.support.factories import make_agent
from understudy.agents.file_versions import NewVersion, keep_version
from understudy.core.clock import SystemClock
from understudy.core.principal import Principal, Role
from understudy.storage.unit import Units

WRITERS = 8
ROOT = Principal(user_id="root", role=Role.ADMIN)


def write(units: Units, number: int, user_id: str | None) -> int:
    wanted = NewVersion(
        agent_id="shared", name="SOUL.md", content=f"Be kind, take {number}.", user_id=user_id
    )
    with units.write() as unit:
        return keep_version(unit, SystemClock(), ROOT, wanted).version


def test_who_names_no_version_is_in_conflict_with_nobody(units: Units) -> None:
    with units.write() as unit:
        unit.agents.add(make_agent("shared"))

    with ThreadPoolExecutor(WRITERS) as pool:
        shared = pool.map(lambda number: write(units, number, None), range(WRITERS))
        own = pool.map(lambda number: write(units, number, "ann"), range(WRITERS))
        versions = sorted(shared), sorted(own)

    assert versions == (list(range(1, WRITERS + 1)),) * 2
