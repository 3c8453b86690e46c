"""Asking a person about one candidate: publish it, change it, reject it, or leave it for later."""

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from understudy.cli.candidates_shown import item_pairs
from understudy.cli.person import Left, Person
from understudy.cli.screen import field_lines, one_line, visible

if TYPE_CHECKING:
    from understudy.wire.learnings import RelatedLearningView, ReviewItemView

# Whole words or their letter, so that a sentence typed by mistake decides nothing.
KEYS: Final = {
    "p": "publish",
    "y": "publish",
    "yes": "publish",
    "v": "provisional",
    "e": "edit",
    "u": "supersede",
    "r": "reject",
    "n": "reject",
    "no": "reject",
    "s": "skip",
    "q": "quit",
    "?": "help",
    "": "help",
}
HELP: Final = (
    "p  publish it: prompts may be told of it (so does y)",
    "v  publish it as provisional: it is kept and found, but no prompt is told of it",
    "e  change its words, then decide",
    "u  publish it in the place of the learning that it conflicts with",
    "r  reject it, with a reason if you like (so does n)",
    "s  leave it waiting, show the next",
    "q  leave it waiting, stop here (so does Ctrl-C)",
)
# What publishing says more, by what was typed.
TIERS: Final[dict[str, dict[str, str]]] = {
    "publish": {},
    "provisional": {"publish_tier": "provisional"},
}
FILE: Final = "content.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """It is worth knowing; what is to be different is named as the API does."""

    changes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """It is not."""

    reason: str | None


Verdict = Publish | Reject


class Weighing:
    """One conversation about one candidate; what was edited outlives a refusal."""

    def __init__(self, person: Person, item: "ReviewItemView") -> None:
        self._person = person
        self._item = item
        self._edited: str | None = None
        self._in_the_way = item.conflicts_with

    def show(
        self, item: "ReviewItemView", *, in_the_way: "RelatedLearningView | None" = None
    ) -> None:
        """Lay a candidate before the person as it is by now, in the words that they gave it.

        `in_the_way` is what those words conflict with, where others than its own do.
        """
        self._item = item
        self._in_the_way = in_the_way or item.conflicts_with
        words = item.content if self._edited is None else self._edited
        card = item.model_copy(update={"content": words, "conflicts_with": self._in_the_way})
        self._person.say(["", *field_lines(item_pairs(card))])

    def ask(self) -> Verdict | None:
        """What the person decides; None to leave it for later. Raises `Left` to stop asking."""
        while True:
            match self._key():
                case "publish" | "provisional" as how:
                    return self._publish(TIERS[how])
                case "supersede":
                    if (found := self._supersede()) is not None:
                        return found
                case "reject":
                    reason = self._person.ask("why not (may be empty): ")
                    return Reject(reason=reason or None)
                case "edit":
                    self._edit()
                case "skip":
                    return None
                case "quit":
                    raise Left
                case "help":
                    self._person.say(HELP)
                case other:
                    self._person.say([f"{one_line(visible(other), 40)!r} is not understood", *HELP])

    def _key(self) -> str:
        publish = "[p]ublish" if self._edited is None else "[p]ublish as edited"
        supersede = "s[u]persede  " if self._in_the_way else ""
        typed = self._person.ask(
            f"{publish}  pro[v]isional  [e]dit  {supersede}[r]eject  [s]kip  [q]uit  [?] "
        ).lower()
        return KEYS.get(typed, typed)

    def _publish(self, changes: dict[str, str]) -> Publish:
        words = {} if self._edited is None else {"content": self._edited}
        return Publish(changes={**words, **changes})

    def _supersede(self) -> Publish | None:
        if self._in_the_way is None:
            self._person.say(["it conflicts with nothing that it could supersede; p publishes it"])
            return None
        return self._publish({"supersedes": self._in_the_way.learning_id})

    def _edit(self) -> None:
        now = self._item.content if self._edited is None else self._edited
        edited = self._person.edit(now, name=FILE)
        if edited is None:
            edited = self._person.ask("other words, empty for no change: ")
        edited = edited.strip()
        if not edited:
            self._person.say(["nothing changed"])
            return
        if edited != now:
            # What other words conflict with is not known before they are tried.
            self._in_the_way = self._item.conflicts_with
        self._edited = None if edited == self._item.content else edited
        self._person.say(_difference(self._item.content, edited) or ["nothing changed"])


def _difference(before: str, after: str) -> list[str]:
    lines = difflib.ndiff(visible(before).splitlines(), visible(after).splitlines())
    return [line for line in lines if not line.startswith(("?", " "))]
