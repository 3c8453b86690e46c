"""Exit codes, stdout and stderr of commands, and suggestions for the next command."""

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NoReturn

import typer

from understudy.cli.screen import printable

if TYPE_CHECKING:
    from understudy.client.errors import ClientError

_url: ContextVar[str | None] = ContextVar("understudy_hinted_url", default=None)
# Problems whose errors say it all, each named by its code: what stands above them.
LISTED: Final[Mapping[str, str]] = {"skill_unsafe": "the content guard refuses this"}


@contextmanager
def for_daemon_at(url: str | None) -> Iterator[None]:
    """Set the URL in suggested commands; None for the default daemon."""
    before = _url.set(url)
    try:
        yield
    finally:
        _url.reset(before)


def understudy() -> str:
    """The prefix of a suggested command."""
    url = _url.get()
    return "understudy" if url is None else f"understudy --url {shlex.quote(url)}"


class ExitCode(IntEnum):
    """The exit codes of commands."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    UNREACHABLE = 5


BY_STATUS: Final[Mapping[int, ExitCode]] = {
    400: ExitCode.USAGE,
    401: ExitCode.REFUSED,
    403: ExitCode.REFUSED,
    404: ExitCode.NOT_FOUND,
    409: ExitCode.REFUSED,
    412: ExitCode.REFUSED,
    413: ExitCode.USAGE,
    422: ExitCode.REFUSED,
    429: ExitCode.UNREACHABLE,
    503: ExitCode.UNREACHABLE,
    504: ExitCode.UNREACHABLE,
}
# Errors with status 400 that are refusals by a rule of the daemon, not usage errors.
BY_CODE: Final[Mapping[str, ExitCode]] = dict.fromkeys(
    (
        "evidence_not_executed",
        "evidence_of_a_trial",
        "fingerprint_mismatch",
        "invalid_rollout_step",
        "rollout_not_in_canary",
        "rollout_not_on_trial",
        "rollout_not_ready",
        "rollout_revoked",
        "rollout_starts_in_draft",
        "run_not_ended",
        "source_not_promotable",
        "verification_failed",
    ),
    ExitCode.REFUSED,
)
# `{understudy}` is how commands for this daemon begin, `{skill}` the promoted skill that it is about.
HINTS: Final[Mapping[str, str]] = {
    "unreachable": "start one with `understudy serve`, or name another with --url",
    "unauthorized": "give a token with --token or UNDERSTUDY_TOKEN",
    "unknown_token": "this token is unknown or was deleted; give another with --token or UNDERSTUDY_TOKEN",
    "session_busy": "queue it instead with `{understudy} runs submit`",
    "approval_state_conflict": "see what waits with `{understudy} approvals list`",
    "approval_request_not_pending": "see what waits with `{understudy} approvals list`",
    "question_state_conflict": "see what waits with `{understudy} questions list`",
    "run_memory_not_found": "see what is kept with `{understudy} memory list`",
    "run_memory_maintenance_failed": "`{understudy} doctor` says what is in the way",
    "candidate_not_found": "see what there is with `{understudy} candidates list`",
    "learning_not_found": "see what is known with `{understudy} learnings list`",
    "learning_conflict": "with `--supersedes LEARNING` it takes its place, with `--beside` both are kept",
    "agent_file_version_not_found": "`{understudy} agents files history AGENT NAME` lists them",
    "agent_file_version_deleted": "`{understudy} agents files delete AGENT NAME` takes it out of force",
    "skill_not_found": "see what there is with `{understudy} skills list`",
    "skill_text_not_found": "`{understudy} skills files SKILL SKILL.md` prints what stands there",
    "skill_text_ambiguous": "give more of the text around it, or --all for every place",
    "skill_changed": "`{understudy} skills diff SKILL` tells what changed",
    "skill_has_grants": "`{understudy} skills grants SKILL` lists them, `skills revoke` ends one",
    "skill_unsafe": "change these lines; `{understudy} skills scan PATH` finds the same in files here",
    "skill_trash_not_found": "see what there is with `{understudy} skills trash`",
    "rollout_not_found": "see what there is with `{understudy} rollouts list`",
    "rollout_snapshot_not_found": "`{understudy} rollouts history {skill}` lists what there is",
    "evidence_not_executed": "`{understudy} rollouts trial {skill} --expect TEXT` executes it",
    "trial_not_found": "see what there is with `{understudy} rollouts trials {skill}`",
    "session_not_idle": "wait until its runs have ended, or stop them with"
    " `{understudy} sessions interrupt`",
}
# Hints for what a rollout step lacks; the first code in this order wins.
STEP_HINTS: Final[Mapping[str, str]] = {
    "canary_failed": "`{understudy} rollouts advance {skill} --to draft` begins anew; mend it, and show"
    " again that it works",
    "rollout_held": "`{understudy} rollouts show {skill}` says why it is held, and"
    " `{understudy} rollouts release {skill}` lets it go on",
    "needs_verification": "`{understudy} rollouts trial {skill} --expect TEXT` shows whether it works",
    "needs_canary": "`{understudy} rollouts trial {skill} --kind canary --expect TEXT` tries the canary",
    "needs_replay": "`{understudy} rollouts trial {skill} --case RUN --expect TEXT` replays a recorded run",
}


def exit_code(error: "ClientError") -> ExitCode:
    """The exit code of a call that did not succeed."""
    from understudy.client import errors

    match error:
        case errors.ProblemError():
            by_status = BY_STATUS.get(error.status, ExitCode.FAILED)
            return BY_CODE.get(error.code, by_status)
        case errors.UnreachableError():
            return ExitCode.UNREACHABLE
        case errors.InvalidCall():
            return ExitCode.USAGE
        case _:
            return ExitCode.FAILED


def problem_of(error: "ClientError") -> dict[str, Any]:
    """The problem object of an error: the daemon's own, or one made here."""
    from understudy.client import errors

    match error:
        case errors.ProblemError():
            return error.problem
        case errors.UnreachableError():
            return client_problem("unreachable", "Daemon unreachable", str(error), status=503)
        case errors.InvalidCall():
            return client_problem("invalid_call", "Invalid call", str(error))
        case errors.WaitTimeout():
            return client_problem("wait_timeout", "Waited long enough", str(error), status=504)
        case _:
            return client_problem("answer_not_understood", "Unknown answer", str(error), status=502)


def client_problem(code: str, title: str, detail: str, *, status: int = 400) -> dict[str, Any]:
    """A problem of the client itself, with the status a daemon would give it."""
    return {
        "type": f"urn:understudy:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "code": code,
        "domain": "client",
    }


def end_with_problem(
    code: str, title: str, detail: str, *, status: int, exit_code: ExitCode, as_json: bool
) -> NoReturn:
    """Exit with a problem of the client itself."""
    if as_json:
        print_json(client_problem(code, title, detail, status=status))
    note(f"error: {detail}")
    raise typer.Exit(exit_code)


def print_json(value: object) -> None:
    """A JSON document alone on stdout; on a terminal it is indented."""
    indent = 2 if sys.stdout.isatty() else None
    takes_all = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(value, ensure_ascii=not takes_all, indent=indent), flush=True)


def note(text: str) -> None:
    """A line for people, on stderr, so that stdout holds results only."""
    # Flushed, so that the order holds where stdout and stderr go to one place.
    sys.stdout.flush()
    print(printable(text), file=sys.stderr, flush=True)


def report(error: "ClientError", *, as_json: bool, has_token: bool = False) -> ExitCode:
    """Say what went wrong, and answer the exit code."""
    if as_json:
        print_json(problem_of(error))
    for line in error_lines(error, has_token=has_token):
        note(line)
    return exit_code(error)


def error_lines(error: "ClientError", *, has_token: bool = False) -> list[str]:
    """An error in words, with what is worth knowing about this very call."""
    from understudy.client.errors import UnauthorizedError

    is_unknown = has_token and isinstance(error, UnauthorizedError)
    notes = [f"  {text}" for text in getattr(error, "__notes__", ())]
    return [*problem_lines(problem_of(error), "unknown_token" if is_unknown else None), *notes]


def problem_lines(problem: Mapping[str, Any], hint_for: str | None = None) -> list[str]:
    """A problem in words: what, where, and what to do about it."""
    code, domain = problem.get("code"), problem.get("domain")
    errors = problem.get("errors") or ()
    heading = LISTED.get(str(code)) if errors else None
    detail = heading or problem.get("detail") or problem.get("title") or "the daemon refused"
    lines = [f"error: {detail}" + (f" ({domain}/{code})" if code and domain else "")]
    for field in errors:
        words = field.get("detail", "")
        if words and words != detail:
            lines.append(f"  {field.get('code' if heading else 'pointer', '')}: {words}")
    if hint := HINTS.get(hint_for or str(code)) or step_hint(each.get("code") for each in errors):
        lines.append(f"  {hint.format(understudy=understudy(), skill=_skill(problem))}")
    return lines


def step_hint(lacking: Iterable[object]) -> str | None:
    """The hint for the first missing condition of a rollout step; None where there is none."""
    codes = set(lacking)
    return next((hint for code, hint in STEP_HINTS.items() if code in codes), None)


def _skill(problem: Mapping[str, Any]) -> str:
    """The name of the promoted skill of a problem, shell-quoted; `NAME` if it has none."""
    name = (problem.get("params") or {}).get("skill_name")
    return shlex.quote(name) if isinstance(name, str) else "NAME"
