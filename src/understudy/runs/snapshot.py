"""The snapshot of a run: fixed when it starts, and what whoever resumes the run goes by."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReports:
    """How the prompt of a run came about; kept when the run has ended.

    None where the run began under a version that did not write it down.
    """

    # The injection report: which memories the prompt was told of.
    memory: Mapping[str, Any] | None = None
    # Which skills were offered, and which of them were listed.
    skills: Mapping[str, Any] | None = None
    # The switches that the run goes by, its language, and the version of SOUL.md.
    evolution: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """What the prompt of a run is built from; only the reports are left once the run has ended."""

    system: str
    tools: tuple[str, ...]
    max_steps: int
    # The history is what the journal holds from this offset on, up to the input of the run.
    history_from: int
    input_offset: int
    # Older versions wrote none of these down.
    # Patterns of the tools that the model is not told of.
    withheld: tuple[str, ...] = ()
    # The offset of the checkpoint that stands for what is older.
    checkpoint: int | None = None
    # Where in the workspace the session works.
    workdir: str | None = None
    reports: RunReports = field(default_factory=RunReports)
