"""Consent of the user of a run to what a tool call would do; recorded, never guessed.

Consent is what this user typed in the message that started the run, or answered to an offer. Text of
a tool, a file, a mail or another user is no consent.
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
from understudy.evolution.acts import THIS_WORK, Act, Purpose, act_of, asks_to_patch
from understudy.evolution.answers import MessageIntent, intent_of, is_bare_no, words_to_answer
from understudy.evolution.offer_book import CALL, FOR_RUN, MESSAGE, OfferBook, act_offered
from understudy.evolution.run_settings import is_interactive
from understudy.i18n.catalogue import say
from understudy.i18n.locales import locale_of
from understudy.redaction.scrub import scrub
from understudy.runs.answers import answers_in
from understudy.runs.model import Run
from understudy.runs.offers import hold_offers
from understudy.runs.requests import Audience, PersonRequest, RequestState
from understudy.runs.taint import is_passed_on
from understudy.sessions.model import Session, require_session
from understudy.skills.access import find
from understudy.skills.model import Skill

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# A skill with more versions always needs consent.
LOOKED_AT: Final = 20
NEEDED: Final = "consent_needed"
DECLINED: Final = "consent_declined"
_TOLD: Final[Mapping[tuple[str, Purpose], str]] = {
    (NEEDED, Purpose.KEEP): "consent.needed",
    (NEEDED, Purpose.DELETE): "consent.needed_delete",
    (DECLINED, Purpose.KEEP): "consent.declined",
    (DECLINED, Purpose.DELETE): "consent.declined_delete",
}
# The text for runs in which the user cannot reply.
_TOLD_UNHEARD: Final[Mapping[str, str]] = {"consent.needed": "consent.needed_elsewhere"}
USED: Final = "used"
# Results of a call that used the consent up.
SPENT: Final = frozenset({"ok", "unknown"})


@dataclass(frozen=True, slots=True)
class SkillOwnership:
    """Whether deleting a skill needs consent, by its owner and the runs that made its versions."""

    units: "Units"

    def needs_consent(self, run: Run, ref: str) -> bool:
        """Whether the user of a run may delete this skill, and not all of it is the work of the same agent."""
        with self.units.read() as unit:
            try:
                skill = find(unit, ref)
            except DamagedRecord:
                # An admin can delete a damaged skill, and its owner is unknown.
                return run.role is Role.ADMIN
            except Invalid:
                return False
            if skill is None or (skill.owner_id != run.user_id and run.role is not Role.ADMIN):
                return False
            try:
                return not _is_made_by(unit, run, skill)
            except DamagedRecord:
                return True


def _is_made_by(unit: "Unit", run: Run, skill: Skill) -> bool:
    """Whether the agent of a run made every version for the same user."""
    versions = unit.skills.versions(skill.skill_id, PageRequest(limit=LOOKED_AT))
    run_ids = (version.run_id for version in versions.items)
    makers = (None if run_id is None else unit.runs.get(run_id) for run_id in run_ids)
    return versions.next_cursor is None and all(
        maker is not None and (maker.agent_id, maker.user_id) == (run.agent_id, run.user_id)
        for maker in makers
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentCall:
    """A tool call, with the keys of its steps."""

    call_id: str
    key: str
    result_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentRefusal:
    """A refusal for lack of consent: the answer to the model, and the audit entry."""

    content: str
    entry: AuditEntry


@dataclass(frozen=True, slots=True)
class ConsentRecords:
    """Settles offers by messages of users, and allows calls that they consented to."""

    clock: Clock
    offers: OfferBook
    ownership: SkillOwnership
    # Whether a path of the workspace is the SKILL.md of a local skill.
    is_local_skill: Callable[[str], bool] = lambda _: False
    scrub: Scrub = scrub

    def hear(self, unit: "Unit", run: Run, session: Session) -> None:
        """Settle an open offer by the message of a run that starts; the session is locked.

        Offers that its user accepted elsewhere count in this run, and in none after it.
        """
        if not self.offers.stands(unit, run):
            return
        words = own_words(run, session)
        if words is not None:
            self._heard(unit, run, words)
        for offer in self.offers.accepted(unit, run):
            take_up(unit, offer, run)

    def _heard(self, unit: "Unit", run: Run, words: str) -> None:
        offer = self.offers.open_one(unit, run)
        # The no may answer another question; the user can still ask for what was offered.
        if intent_of(words) is MessageIntent.DECLINE or is_bare_no(words):
            if offer is not None:
                self.offers.answer(unit, run, offer, RequestState.DENIED)
            self._take_back(unit, run)
        elif offer is not None:
            act = act_offered(offer)
            if act is not None and act.is_asked_for(words, is_spoken_of=True):
                self.offers.answer(unit, run, offer, RequestState.ALLOWED)

    def act(self, run: Run, tool_name: str, arguments: Mapping[str, Any]) -> Act | None:
        """The act that a call needs consent for; None where it needs none.

        Skills that the user may not delete are refused by the skill service.
        """
        act = act_of(tool_name, arguments, is_local_skill=self.is_local_skill, scrub=self.scrub)
        if act is None or act.purpose is not Purpose.DELETE:
            return act
        # By the raw argument that the skill service gets, not by the shown one.
        slug = str(arguments.get("slug", ""))
        return act if self.ownership.needs_consent(run, slug) else None

    def declined(self, unit: "Unit", run: Run, act: Act) -> ConsentRefusal | None:
        """The refusal of a call that the user has declined; None where they have not."""
        words = self._words(unit, run, act)
        said_no = intent_of(words or "") is MessageIntent.DECLINE or (
            self.offers.has_declined(unit, run, act) and not self._is_wanted(unit, run, act, words)
        )
        return self._refusal(run, act, DECLINED, words) if said_no else None

    def refuses(self, unit: "Unit", run: Run, act: Act, call: ConsentCall) -> ConsentRefusal | None:
        """None where the user consented, which uses the consent up; else opens an offer. The run is locked.

        Idempotent for the same call.
        """
        hold_offers(unit, run.session_id)
        words = self._words(unit, run, act)
        if intent_of(words or "") is MessageIntent.DECLINE:
            return self._refusal(run, act, DECLINED, words)
        if self._use(unit, run, act, call, words):
            return None
        if self.offers.has_declined(unit, run, act):
            return self._refusal(run, act, DECLINED, words)
        self.offers.ask(unit, run, act, origin=CALL, call_key=call.key, call_id=call.call_id)
        return self._refusal(run, act, NEEDED, words)

    def _words(self, unit: "Unit", run: Run, act: Act) -> str | None:
        """What the user said last about an act, else the message that started the run."""
        said = said_by_user(unit, run)
        last = (it for it in reversed(said) if intent_of(it) is not None or act.is_asked_for(it))
        return next(last, said[0] if said else None)

    def _use(self, unit: "Unit", run: Run, act: Act, call: ConsentCall, words: str | None) -> bool:
        """Whether there is consent to an act. A message consents for its run, an offer for one call."""
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
        """Whether the message asks for the act by itself. A mere yes may answer the offer of another user."""
        if words is None or not act.is_asked_for(words):
            return False
        return intent_of(words) is not MessageIntent.ACCEPT or not self.offers.asks_others(
            unit, run
        )

    def _take_back(self, unit: "Unit", run: Run) -> None:
        """Use up every accepted offer that is not used yet."""
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
    """Whether an accepted offer counts in a run.

    An offer that no run has taken up was accepted during the only run at work.
    """
    return _resolution(offer).get(FOR_RUN) in (None, run.run_id)


def is_unused(unit: "Unit", offer: PersonRequest, call_key: str | None = None) -> bool:
    """Whether an accepted offer still covers a call: no other call used it, or that call failed."""
    if offer.body.get("origin") == MESSAGE:
        # No offer was made: the message itself counts, for every call.
        return False
    used = _resolution(offer).get(USED)
    if used is None or (call_key is not None and used.get("call") == call_key):
        return True
    results = unit.journal.by_keys(offer.session_id, [str(used.get("result"))])
    return any(event.data.get("status") not in SPENT for event in results)


def was_said_in(offer: PersonRequest, run: Run) -> bool:
    """Whether the message of a run accepted the offer; that covers every call of the run."""
    return _resolution(offer).get("run_id") == run.run_id


def take_up(unit: "Unit", offer: PersonRequest, run: Run) -> None:
    """Bind an accepted offer to a run that starts."""
    if FOR_RUN not in _resolution(offer):
        _keep(unit, offer, {FOR_RUN: run.run_id})


def use_up(unit: "Unit", offer: PersonRequest, used: Mapping[str, str]) -> None:
    """Record the call that used an accepted offer."""
    _keep(unit, offer, {USED: dict(used)})


def _resolution(offer: PersonRequest) -> Mapping[str, Any]:
    return offer.resolution or {}


def _keep(unit: "Unit", offer: PersonRequest, more: Mapping[str, object]) -> None:
    unit.requests.settle(replace(offer, resolution={**_resolution(offer), **more}))


def own_words(run: Run, session: Session) -> str | None:
    """The text of the message that started a run; None where somebody else may have written it.

    Mail, schedules, and the task of a sidechain are not typed by the user, nor is a message that
    another program or actor passes on. Attached files are no part of it.
    """
    if not is_interactive(run, session) or is_passed_on(run):
        return None
    return run.input.text


def said_by_user(unit: "Unit", run: Run) -> tuple[str, ...]:
    """What the user of a run said in it: the message that started it, and answers to its questions.

    A label that they chose, which the agent wrote, counts only as one of the literal replies.
    """
    words = own_words(run, require_session(unit, run.session_id))
    answers = (
        text
        for request in unit.requests.of_runs([run.run_id])
        if request.audience is Audience.USER and request.resolved_by == run.user_id
        for text, is_typed in answers_in(request)
        if is_typed or intent_of(text) in (MessageIntent.ACCEPT, MessageIntent.DECLINE)
    )
    return (*(() if words is None else (words,)), *answers)


def asks_to_change(unit: "Unit", run: Run, ref: str) -> bool:
    """Whether the user of a run asked that this skill be changed.

    What a run of this session made, they also mean by `the skill`, and by keeping the work as one.
    """
    said = said_by_user(unit, run)
    if not said or intent_of(said[-1]) is MessageIntent.DECLINE:
        return False
    try:
        skill = find(unit, ref)
    except (DamagedRecord, Invalid):
        return False
    if skill is None:
        return False
    version = unit.skills.version(skill.skill_id, skill.own_version or skill.version)
    maker = unit.runs.get(version.run_id) if version and version.run_id else None
    is_of_here = maker is not None and maker.session_id == run.session_id
    return any(
        (is_of_here and THIS_WORK.is_asked_for(words))
        or asks_to_patch(words, (skill.slug, skill.name), is_spoken_of=is_of_here)
        for words in said
    )
