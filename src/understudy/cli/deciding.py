"""Asking a person about one tool call: allow it, change it, deny it, or leave it for later."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from understudy.cli.calls_shown import call_lines, diff_lines
from understudy.cli.inputs import NotAnObject, parse_object
from understudy.cli.offers import is_offer, settle_offer
from understudy.cli.output import error_lines
from understudy.cli.person import Left, Person
from understudy.cli.requests_shown import approval_lines
from understudy.cli.screen import one_line, visible

if TYPE_CHECKING:
    from understudy.client import Client
    from understudy.wire.runs import RunView
    from understudy.wire.waiting import ApprovalResolution, ApprovalView

# Whole words or their first letter, so that a sentence typed by mistake decides nothing.
KEYS: Final = {
    "a": "allow",
    "y": "allow",
    "yes": "allow",
    "e": "edit",
    "d": "deny",
    "n": "deny",
    "no": "deny",
    "v": "view",
    "s": "skip",
    "q": "quit",
    "?": "help",
    "": "help",
}
HELP: Final = (
    "a  let it run (so does y)",
    "e  change what it is called with, then decide",
    "d  do not let it run; the model is told why (so does n)",
    "v  show everything it is called with",
    "s  leave it waiting, show the next",
    "q  leave it waiting, stop here (so does Ctrl-C)",
)


class Decision:
    """One conversation about one tool call."""

    def __init__(self, person: Person, view: "ApprovalView") -> None:
        self._person = person
        self._view = view
        self._updated: dict[str, Any] | None = None
        # What was edited last, sound or not: the next edit begins with it.
        self._draft = json.dumps(view.input, indent=2, ensure_ascii=False)

    def ask(self) -> "ApprovalResolution | None":
        """What the person decides; None to leave it for later. Raises `Left` to stop asking."""
        while True:
            match self._key():
                case "allow":
                    return self._allow()
                case "deny":
                    if (denied := self._deny()) is not None:
                        return denied
                case "edit":
                    self._edit()
                case "view":
                    self._person.say(call_lines(self._current))
                case "skip":
                    return None
                case "quit":
                    raise Left
                case "help":
                    self._person.say(HELP)
                case other:
                    self._person.say([f"{one_line(visible(other), 40)!r} is not understood", *HELP])

    @property
    def _current(self) -> Mapping[str, Any]:
        return self._view.input if self._updated is None else self._updated

    def _key(self) -> str:
        allow = "[a]llow" if self._updated is None else "[a]llow as edited"
        typed = self._person.ask(f"{allow}  [e]dit  [d]eny  [v]iew  [s]kip  [q]uit  [?] ").lower()
        return KEYS.get(typed, typed)

    def _allow(self) -> "ApprovalResolution":
        from understudy.client.calls import given
        from understudy.wire.waiting import ApprovalResolution

        fields = given(updated_input=self._updated)
        return ApprovalResolution(request_id=self._view.id, behavior="allow", **fields)

    def _deny(self) -> "ApprovalResolution | None":
        from understudy.wire.waiting import ApprovalResolution

        reason = self._person.ask("why not (the model is told): ")
        if not reason:
            self._person.say(["not denied: a reason is needed"])
            return None
        return ApprovalResolution(request_id=self._view.id, behavior="deny", reason=reason)

    def _edit(self) -> None:
        edited = self._person.edit(self._draft)
        if edited is None:
            self._person.say(["now:  " + json.dumps(self._current)])
            edited = self._person.ask("new arguments as a JSON object, empty for no change: ")
        if not edited.strip():
            return
        self._draft = edited
        try:
            value = parse_object(edited)
        except NotAnObject as problem:
            self._person.say([f"what was written {problem}; e edits it again"])
            return
        self._updated = None if value == self._view.input else value
        self._person.say(diff_lines(self._view.input, value) or ["nothing changed"])


def settle(
    client: "Client", person: Person, view: "ApprovalView", run: "RunView | None" = None
) -> "tuple[ApprovalResolution, RunView] | None":
    """Show a tool call, or an offer, and ask about it; what was decided and the run, or None for later."""
    from understudy.client.errors import InvalidError

    if is_offer(view):
        return settle_offer(client, person, view)
    if view.input_cut:
        # Who decides must see all of it.
        view = client.approvals.get(view.id)
    person.say(["", *approval_lines(view, run)])
    decision = Decision(person, view)
    while (resolution := decision.ask()) is not None:
        try:
            return resolution, client.approvals.resolve(view.run_id, [resolution])
        except InvalidError as problem:
            # What was edited is kept, so that it can be mended.
            person.say(error_lines(problem))
    return None
