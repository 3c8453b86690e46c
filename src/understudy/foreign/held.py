"""Writes of foreign agents to their memory: held as proposals until a person has decided.

A proposal is one for a file of the agent that stands for the client. Its base is what the file held
when the daemon last saw it, so a change behind the hooks is found by comparing the two.
"""

import os
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from understudy.agents.file_versions import NewVersion, keep_version, number_of, stored_version
from understudy.agents.model import ContextFile
from understudy.core.clock import Clock
from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.page import PageRequest
from understudy.core.principal import DAEMON, Principal
from understudy.evolution.proposals import FileProposal, ProposalState, ProposedFile, propose
from understudy.foreign.folders import MAX_FILE_BYTES, Folders
from understudy.foreign.memory_files import NAMES, MemoryWrite
from understudy.memory.texts import Cleaner
from understudy.runs.taint import TaintSource

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# The name of a file whose new text only a command would tell has this ending.
COMMAND: Final = " (command)"
SEEN: Final = "as it was found"
# Files of the working directory whose changes are looked for.
WATCHED: Final = tuple(sorted(NAMES - {"SKILL.md"}))
# As many rejected proposals of a client as are compared with a new write.
LOOKED_AT: Final = 200
MAX_PATH_CHARS: Final = 4_096
# With as many proposals that wait, writes of clients are refused.
MAX_PENDING: Final = 1_000
HELD: Final = (
    "Understudy holds this write for review as {proposal_id}: a person decides whether {name} changes. "
    "Do not write it another way; carry on without it, and say that it waits."
)
REJECTED: Final = "A person has rejected this change of {name} in Understudy{why}. Do not make it."
REFUSED: Final = "Understudy refuses this change of {name}: {why}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a call or a change was seen: the client's agent, its folder, and the run."""

    principal: Principal
    agent_id: str
    directory: str
    run_id: str
    # The memory that the client keeps for the folder, beside its transcripts.
    memory: str = ""
    untrusted_sources: tuple[str, ...] = (str(TaintSource.OTHER_AGENT),)


class Refusal(NamedTuple):
    """Why a write does not happen now, in words for the agent."""

    reason: str
    # Whether a person is still to decide.
    waits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldWrites:
    """Holds writes to memory files, finds changes behind the hooks, and carries out decisions."""

    clock: Clock
    folders: Folders
    cleaner: Cleaner

    def refuse(self, unit: "Unit", place: Place, write: MemoryWrite) -> Refusal | None:
        """Why a write has to wait or must not be; None for one that a person has approved."""
        path = _absolute(place, write.path)
        if len(path) > MAX_PATH_CHARS:
            why = f"its path has over {MAX_PATH_CHARS} characters"
            return Refusal(REFUSED.format(name="a file", why=why))
        before = self._seen(unit, place, path)
        after = write.after(before)
        name, content = (path, after) if after is not None else (path + COMMAND, write.shown)
        if problem := self._problem(content):
            return Refusal(REFUSED.format(name=path, why=problem))
        stored = stored_version(unit, place.agent_id, None, name)
        if stored is not None and stored.content == content:
            return None
        rejected = self._rejected(unit, place, name, content)
        if rejected is not None:
            why = f": {rejected.reason}" if rejected.reason else ""
            return Refusal(REJECTED.format(name=path, why=why))
        try:
            proposal = self._propose(unit, place, name, content, number_of(stored))
        except UnderstudyError as refused:
            return Refusal(REFUSED.format(name=path, why=refused.detail))
        reason = HELD.format(proposal_id=proposal.proposal_id, name=path)
        return Refusal(reason, waits=True)

    def note(self, unit: "Unit", place: Place, *, is_quiet: bool) -> None:
        """Take what memory files hold at the start of a session as the work of people.

        While an agent works, only files that were never seen: what changed may be its own work.
        """
        for path in self._watched(unit, place):
            found, stored = self._now(unit, place, path)
            if found is None or (stored is not None and stored.content == found):
                continue
            if stored is not None and not is_quiet:
                continue
            waiting = unit.proposals.waiting(place.agent_id, path, user_id=None)
            if all(each.content != found for each in waiting):
                self._keep(unit, place, path, found)

    def wrote(self, unit: "Unit", principal: Principal, agent_id: str, path: str) -> None:
        """Take what the daemon itself wrote into a file for known, so that it is no agent's work."""
        found = self.folders.read(path)
        if found is not None and unit.agents.get(agent_id) is not None:
            place = Place(principal=principal, agent_id=agent_id, directory="", run_id="")
            self._keep(unit, place, path, found)

    def look(self, unit: "Unit", place: Place) -> None:
        """Propose what has changed in memory files since the daemon last saw them."""
        for path in self._watched(unit, place):
            found, stored = self._now(unit, place, path)
            is_changed = found is not None and found != (stored.content if stored else "")
            if is_changed and not self._rejected(unit, place, path, found or ""):
                # Where too many wait, the turn is recorded all the same.
                with suppress(UnderstudyError):
                    self._propose(unit, place, path, found or "", number_of(stored))

    def applied(self, unit: "Unit", proposal: FileProposal) -> None:
        """Write the file of an approved proposal, unless it holds the text or is not ours to write."""
        if not proposal.name.startswith("/") or proposal.name.endswith(COMMAND):
            return
        if self.folders.read(proposal.name) == proposal.content:
            return
        base = stored_version(unit, proposal.agent_id, None, proposal.name, proposal.base_version)
        before = base.content if base else ""
        self.folders.write(proposal.name, proposal.content, before=before)

    def command_for(self, proposal: FileProposal) -> str | None:
        """What a person runs to carry out an approved proposal; None where the daemon does it."""
        if not proposal.name.startswith("/"):
            return None
        if proposal.name.endswith(COMMAND):
            return proposal.content
        if self.folders.may_write(proposal.name):
            return None
        text = proposal.content if proposal.content.endswith("\n") else proposal.content + "\n"
        end = "END"
        while f"\n{end}\n" in f"\n{text}":
            end += "_"
        return f"cat > {shlex.quote(proposal.name)} <<'{end}'\n{text}{end}"

    def _now(self, unit: "Unit", place: Place, path: str) -> tuple[str | None, ContextFile | None]:
        """The text of a file on disk, unless it cannot be stored, and as the daemon last knew it."""
        found = self.folders.read(path)
        known = stored_version(unit, place.agent_id, None, path)
        return (None if found is None or self._problem(found) else found), known

    def _seen(self, unit: "Unit", place: Place, path: str) -> str:
        """The text before a write; the first time a file is seen, it is kept as the base."""
        found, stored = self._now(unit, place, path)
        if found is not None and stored is None:
            self._keep(unit, place, path, found)
        return found if found is not None else stored.content if stored else ""

    def _keep(self, unit: "Unit", place: Place, path: str, content: str) -> None:
        wanted = NewVersion(agent_id=place.agent_id, name=path, content=content, reason=SEEN)
        keep_version(unit, self.clock, DAEMON, wanted)

    def _watched(self, unit: "Unit", place: Place) -> Iterator[str]:
        known = (file.name for file in unit.agents.files(place.agent_id))
        here = (_absolute(place, name) for name in WATCHED)
        paths = (*known, *here, place.memory)
        yield from dict.fromkeys(it for it in paths if it.startswith("/"))

    def _propose(
        self, unit: "Unit", place: Place, name: str, content: str, base: int
    ) -> FileProposal:
        for each in unit.proposals.waiting(place.agent_id, name, user_id=None):
            if (each.content, each.base_version) == (content, base):
                return each
        if (waiting := unit.proposals.pending_count()) >= MAX_PENDING:
            raise coded_error("evolution/proposals_full", waiting=waiting, name=name)
        return propose(
            unit,
            self.clock,
            place.principal,
            ProposedFile(
                agent_id=place.agent_id,
                name=name,
                content=content,
                base_version=base,
                run_id=place.run_id,
                untrusted_sources=place.untrusted_sources,
            ),
        )

    def _rejected(self, unit: "Unit", place: Place, name: str, content: str) -> FileProposal | None:
        page = unit.proposals.page(
            place.agent_id, PageRequest(limit=LOOKED_AT), state=ProposalState.REJECTED
        )
        return next((it for it in page.items if (it.name, it.content) == (name, content)), None)

    def _problem(self, content: str) -> str | None:
        """Why a text cannot be stored; None for one that can."""
        if len(content.encode(errors="replace")) > MAX_FILE_BYTES:
            return f"it is longer than {MAX_FILE_BYTES} bytes"
        return "it holds a secret" if self.cleaner.clean(content).redacted else None


def _absolute(place: Place, path: str) -> str:
    wanted = Path(path).expanduser() if path.startswith("~/") else Path(path)
    return os.path.normpath(Path(place.directory or "/") / wanted)
