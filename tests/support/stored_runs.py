"""What the database holds of runs, as it is stored."""

import json
from typing import Any

import sqlalchemy as sa

from understudy.storage.schema import runs
from understudy.storage.unit import Unit


def stored_snapshot(unit: Unit, run_id: str) -> Any:
    """The snapshot of a run as JSON."""
    text = sa.cast(runs.c.snapshot, sa.Text)
    found = unit.connection.execute(sa.select(text).where(runs.c.run_id == run_id)).scalar_one()
    return json.loads(found)


def has_prompt(unit: Unit, run_id: str) -> bool:
    """Whether the snapshot of a run still holds the words of its prompt."""
    return "system" in stored_snapshot(unit, run_id)
