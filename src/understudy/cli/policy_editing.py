"""Editing a policy until the daemon takes it; what was written is never lost."""

import json
import tempfile
from typing import TYPE_CHECKING, Any, Final, Protocol

import typer

from understudy.cli.hints import understudy
from understudy.cli.inputs import NotAnObject, parse_object
from understudy.cli.output import ExitCode, problem_lines
from understudy.cli.person import Left, Person
from understudy.cli.policy_input import unwrapped

if TYPE_CHECKING:
    from understudy.client.errors import InvalidError

WRAPPED_IN: Final = "/policy"
NO_EDITOR: Final = "name an editor in EDITOR or VISUAL, or give --file or --stdin"


class SetPolicy(Protocol):
    """Puts a policy in force."""

    def __call__(self, policy: dict[str, Any]) -> object: ...


class Editing:
    """One person who edits one policy; `which` is what commands call it."""

    def __init__(self, person: Person, which: str, *, may_ask: bool) -> None:
        self._person = person
        self._which = which
        # Whether there is somebody to ask for another try.
        self._may_ask = may_ask

    def edit(self, policy: dict[str, Any], put: SetPolicy) -> bool:
        """Have it edited and put in force; False when nothing was changed."""
        from understudy.client import ClientError
        from understudy.client.errors import InvalidError

        before = text = json.dumps(policy, indent=2, ensure_ascii=False) + "\n"
        while True:
            edited = self._person.edit(text, name=f"{self._which}-policy.json")
            if edited is None:
                raise self._leave(text if text != before else None, NO_EDITOR)
            if edited.strip() == before.strip():
                return False
            text = edited
            try:
                put(unwrapped(parse_object(text)))
            except NotAnObject as problem:
                self._again(text, [f"error: what was written {problem}"])
            except InvalidError as problem:
                self._again(text, invalid_lines(problem))
            except ClientError as problem:
                problem.add_note(self._kept(text))
                raise
            else:
                return True

    def _again(self, text: str, problems: list[str]) -> None:
        """Say what is wrong, and ask whether to go on."""
        self._person.say(problems)
        if self._may_ask:
            try:
                if self._person.ask("[e]dit it again, or [q]uit: ").lower() not in ("q", "quit"):
                    return
            except Left:
                pass
        raise self._leave(text)

    def _leave(self, text: str | None, why: str | None = None) -> typer.Exit:
        self._person.say(
            [*([f"error: {why}"] if why else []), *([self._kept(text)] if text else [])]
        )
        return typer.Exit(ExitCode.USAGE)

    def _kept(self, text: str) -> str:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix=f"{self._which}-policy-", suffix=".json", delete=False
        ) as file:
            file.write(text)
        again = f"{understudy()} policy edit {self._which} --file {file.name}"
        return f"what you wrote is kept; `{again}` tries it again"


def invalid_lines(problem: "InvalidError") -> list[str]:
    """What is wrong with a policy, each with its place in what was written."""
    if not problem.errors:
        return problem_lines(problem.problem)
    told = [
        f"  {each.pointer.removeprefix(WRAPPED_IN) or '/'}: {each.detail}"
        for each in problem.errors
    ]
    return ["error: the policy is not taken, and the old one stays", *told]
