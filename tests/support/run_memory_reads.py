"""Run memories as a test looks at them: in the store, and in what the model was sent."""

import json
import re
from dataclasses import replace
from typing import Any

from understudy.memory.policy import RUN_MEMORY_POLICY
from understudy.memory.record import RunEvidence, RunMemoryRecord
from understudy.runtime.service import current_revision
from understudy.storage.unit import Units
from understudy.testing.fake_model import FakeModel

RECOVERED = "recovered_memory"
LEARNED = "learned_context"


def record_of(units: Units, run_id: str) -> RunMemoryRecord | None:
    """The record of a run as it is stored."""
    with units.read() as unit:
        return unit.run_memories.get(run_id)


def evidence_of(units: Units, run_id: str) -> RunEvidence | None:
    """What learning may read of a run."""
    with units.read() as unit:
        return unit.run_memory_index.evidence(run_id)


def indexed(units: Units) -> int:
    """How many records the index points to."""
    with units.read() as unit:
        return unit.run_memory_index.counts().records


def set_policy(units: Units, **fields: Any) -> None:
    """Put another policy in force, without what an operator's change does beside that."""
    change = {RUN_MEMORY_POLICY.setting: RUN_MEMORY_POLICY.to_json(RUN_MEMORY_POLICY.read(fields))}
    with units.write() as unit:
        latest = current_revision(unit)
        number, document = latest.revision + 1, {**latest.document, **change}
        unit.revisions.add(replace(latest, revision=number, document=document), keep=64)


def system_text(fake: FakeModel, number: int = -1) -> str:
    """The system text of a request to the model."""
    turns = fake.requests[number].turns
    return next((turn.text for turn in turns if turn.role == "system"), "")


def section_in(system: str, name: str = RECOVERED) -> str:
    """A section of a system text; empty when there is none."""
    section = rf"^## {name}\n\n(.*?)(?=\n\n## |\Z)"
    found = re.search(section, system, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def told(fake: FakeModel, number: int = -1, *, name: str = RECOVERED) -> list[str]:
    """The runs that a request tells of, or the entries of another section, in order."""
    section = section_in(system_text(fake, number), name)
    return re.findall(r"^### (\S+) \(", section, re.MULTILINE)


def summaries(fake: FakeModel, number: int = -1) -> list[str]:
    """What a request tells of them."""
    section = section_in(system_text(fake, number))
    return [json.loads(line) for line in re.findall(r'^(".*")$', section, re.MULTILINE)]
