"""Whether the user of a run has agreed to what a call would do; kept on record, never guessed.

What counts is what this user typed in the message that the run began with, and what they said to
an offer. What a tool, a file, a message or somebody else says is nobody's consent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from understudy.core.audit import AuditEntry, AuditOutcome
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, Invalid
from understudy.core.page import PageRequest
from understudy.core.principal import Role
from understudy.core.text import Scrub
from understudy.evolution.acts import Act, Purpose, act_of
from understudy.evolution.answers import MessageIntent, intent_of, is_bare_no, words_to_answer
from understudy.evolution.offer_book import CALL, FOR_RUN, MESSAGE, OfferBook, act_offered
from understudy.evolution.run_settings import is_interactive
from understudy.i18n.catalogue import say
from understudy.i18n.locales import locale_of
from understudy.redaction.scrub import scrub
from understudy.runs.model import Run, RunRequest
from understudy.runs.offers import hold_offers
from understudy.runs.requests import PersonRequest, RequestState
from understudy.sessions.model import Session, require_session
from understudy.skills.access import find
from understudy.skills.model import Skill, SkillVersion

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# A skill with a longer history is worth a question.
LOOKED_AT: Final = 20
NEEDED: Final = "consent_needed"
DECLINED: Final = "consent_declined"
_TOLD: Final[Mapping[tuple[str, Purpose], str]] = {
    (NEEDED, Purpose.KEEP): "consent.needed",
    (NEEDED, Purpose.DELETE): "consent.needed_delete",
    (DECLINED, Purpose.KEEP): "consent.declined",
    (DECLINED, Purpose.DELETE): "consent.declined_delete",
}
# What is told instead where no reply would be the user's own.
_TOLD_UNHEARD: Final[Mapping[str, str]] = {"consent.needed": "consent.needed_elsewhere"}
USED: Final = "used"
# What a call came to that may still have done what was agreed to.
SPENT: Final = frozenset({"ok", "unknown"})
_NOBODY_NAMED: Final = RunRequest().actor_id


@dataclass(frozen=True, slots=True)
class SkillOwnership:
    """Tells it from who owns a skill, and from the runs that wrote its versions."""

    units: "Units"

    def needs_consent(self, run: Run, ref: str) -> bool:
        """Whether the user of a run could delete this skill, and it is more than the agent's own doing."""
        with self.units.read() as unit:
            try:
                skill = find(unit, ref)
            except DamagedRecord:
                # An admin can delete even that, and nobody knows any more whose it was.
                return run.role is Role.ADMIN
            except Invalid:
                return False
            if skill is None or not _is_theirs(skill, run):
                return False
            try:
                return not _is_made_by(unit, run, skill)
            except DamagedRecord:
                return True


def _is_made_by(unit: "Unit", run: Run, skill: Skill) -> bool:
    """Whether the agent of a run made every version for the same user."""
    versions = unit.skills.versions(skill.skill_id, PageRequest(limit=LOOKED_AT))
    makers = (_maker(unit, version) for version in versions.items)
    return versions.next_cursor is None and all(
        maker is not None and (maker.agent_id, maker.user_id) == (run.agent_id, run.user_id)
        for maker in makers
    )


def _maker(unit: "Unit", version: SkillVersion) -> Run | None:
    return None if version.run_id is None else unit.runs.get(version.run_id)


def _is_theirs(skill: Skill, run: Run) -> bool:
    return skill.owner_id == run.user_id or run.role is Role.ADMIN


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentCall:
    """A tool call in its run, by the names of its steps."""

    call_id: str
    key: str
    result_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentRefusal:
    """Nobody agreed: what the model is told, and what the audit keeps."""

    content: str
    entry: AuditEntry


@dataclass(frozen=True, slots=True)
class ConsentRecords:
    """Hears what users say to offers, and lets calls pass that they agreed to."""

    clock: Clock
    offers: OfferBook
    ownership: SkillOwnership
    # Whether a file under this path of the workspace is a skill for everybody.
    is_local_skill: Callable[[str], bool] = lambda _: False
    scrub: Scrub = scrub

    def hear(self, unit: "Unit", run: Run, session: Session) -> None:
        """Settle an open offer by the message of a run that begins; the session is held.

        What its user has accepted elsewhere counts in this run, and in none after it.
        """
        words = own_words(run, session)
        if words is not None:
            self._heard(unit, run, words)
        for offer in self.offers.accepted(unit, run):
            take_up(unit, offer, run)

    def _heard(self, unit: "Unit", run: Run, words: str) -> None:
        offer = self.offers.open_one(unit, run)
        # A no may go to another question; who loses an offer by it can still ask.
        if intent_of(words) is MessageIntent.DECLINE or is_bare_no(words):
            if offer is not None:
                self.offers.answer(unit, run, offer, RequestState.DENIED)
            self._take_back(unit, run)
        elif offer is not None:
            act = act_offered(offer)
            if act is not None and act.is_asked_for(words, is_spoken_of=True):
                self.offers.answer(unit, run, offer, RequestState.ALLOWED)

    def act(self, run: Run, tool_name: str, arguments: Mapping[str, Any]) -> Act | None:
        """What a call with these arguments needs consent for; None where it needs none.

        What is not the user's to delete, the skills themselves refuse.
        """
        act = act_of(tool_name, arguments, is_local_skill=self.is_local_skill, scrub=self.scrub)
        if act is None or act.purpose is not Purpose.DELETE:
            return act
        # By the name that the skills will be asked for, not by what people are shown of it.
        slug = str(arguments.get("slug", ""))
        return act if self.ownership.needs_consent(run, slug) else None

    def declined(self, unit: "Unit", run: Run, act: Act) -> ConsentRefusal | None:
        """The answer to a call that the user has said no to, and that nobody is to be asked about."""
        words = self._words(unit, run)
        said_no = intent_of(words or "") is MessageIntent.DECLINE or (
            self.offers.has_declined(unit, run, act) and not self._is_wanted(unit, run, act, words)
        )
        return self._refusal(run, act, DECLINED, words) if said_no else None

    def refuses(self, unit: "Unit", run: Run, act: Act, call: ConsentCall) -> ConsentRefusal | None:
        """None where the user agreed, which is used up with it; else an offer is open. The run is held.

        To ask again for the same call gives the same answer.
        """
        hold_offers(unit, run.session_id)
        words = self._words(unit, run)
        if intent_of(words or "") is MessageIntent.DECLINE:
            return self._refusal(run, act, DECLINED, words)
        if self._use(unit, run, act, call, words):
            return None
        if self.offers.has_declined(unit, run, act):
            return self._refusal(run, act, DECLINED, words)
        if act.is_free_unasked and self.offers.open_one(unit, run) is None:
            return None
        self.offers.ask(unit, run, act, origin=CALL, call_key=call.key, call_id=call.call_id)
        return self._refusal(run, act, NEEDED, words)

    def _words(self, unit: "Unit", run: Run) -> str | None:
        return own_words(run, require_session(unit, run.session_id))

    def _use(self, unit: "Unit", run: Run, act: Act, call: ConsentCall, words: str | None) -> bool:
        """Whether there is consent to an act. A message gives it for its run, an offer for one call."""
        accepted = [offer for offer in self.offers.accepted(unit, run, act) if is_for(offer, run)]
        free = next((offer for offer in accepted if is_unused(unit, offer, call.key)), None)
        if free is not None:
            use_up(unit, free, {"call": call.key, "result": call.result_key})
            return True
        if any(was_said_in(offer, run) for offer in accepted):
            return True
        if not self._is_wanted(unit, run, act, words):
            return False
        self.offers.note(unit, run, act)
        return True

    def _is_wanted(self, unit: "Unit", run: Run, act: Act, words: str | None) -> bool:
        """Whether the message asks for it by itself. A mere yes may go to what another was asked."""
        if words is None or not act.is_asked_for(words):
            return False
        return intent_of(words) is not MessageIntent.ACCEPT or not self.offers.asks_others(
            unit, run
        )

    def _take_back(self, unit: "Unit", run: Run) -> None:
        """What was accepted before and not used yet does not count any more, whatever it was."""
        for offer in self.offers.accepted(unit, run):
            if is_unused(unit, offer):
                use_up(unit, offer, {"run_id": run.run_id})

    def _refusal(self, run: Run, act: Act, reason: str, words: str | None) -> ConsentRefusal:
        spoken = locale_of(run.locale)
        entry = AuditEntry(
            at_ms=self.clock.now_ms(),
            actor=run.user_id,
            action=act.action,
            resource="skills",
            resource_id=act.subject,
            outcome=AuditOutcome.REFUSED,
            reason=f"skills/{reason} in {run.run_id}",
        )
        key = _TOLD[reason, act.purpose]
        told = _TOLD_UNHEARD.get(key, key) if words is None else key
        return ConsentRefusal(content=say(spoken, told, **words_to_answer(spoken)), entry=entry)


def is_for(offer: PersonRequest, run: Run) -> bool:
    """Whether an acceptance counts in a run.

    One that no run has taken up yet is newer than all runs that began; only one of them is at work.
    """
    return _resolution(offer).get(FOR_RUN) in (None, run.run_id)


def is_unused(unit: "Unit", offer: PersonRequest, call_key: str | None = None) -> bool:
    """Whether it still covers a call: no other used it, or that one came to nothing."""
    if offer.body.get("origin") == MESSAGE:
        # Nobody was asked: the message itself counts.
        return False
    used = _resolution(offer).get(USED)
    if used is None or (call_key is not None and used.get("call") == call_key):
        return True
    results = unit.journal.by_keys(offer.session_id, [str(used.get("result"))])
    return any(event.data.get("status") not in SPENT for event in results)


def was_said_in(offer: PersonRequest, run: Run) -> bool:
    """Whether the message of a run accepted it; that is good for every call of the run."""
    return _resolution(offer).get("run_id") == run.run_id


def take_up(unit: "Unit", offer: PersonRequest, run: Run) -> None:
    """Let it count in a run that begins, and in none after it."""
    if FOR_RUN not in _resolution(offer):
        _keep(unit, offer, {FOR_RUN: run.run_id})


def use_up(unit: "Unit", offer: PersonRequest, used: Mapping[str, str]) -> None:
    """Keep what it was used for."""
    _keep(unit, offer, {USED: dict(used)})


def _resolution(offer: PersonRequest) -> Mapping[str, Any]:
    return offer.resolution or {}


def _keep(unit: "Unit", offer: PersonRequest, more: Mapping[str, object]) -> None:
    unit.requests.settle(replace(offer, resolution={**_resolution(offer), **more}))


def own_words(run: Run, session: Session) -> str | None:
    """The text of the message that a run began with; None where somebody else may have written it.

    Letters, schedules and what an agent tells a sidechain are not typed by the user, nor is what a
    caller passes on for somebody whom it names. Attached files are no text of the message.
    """
    if not is_interactive(run, session):
        return None
    if run.request.actor_id not in (_NOBODY_NAMED, run.user_id):
        return None
    return run.input.text
