"""`understudy setup`: three questions about model, learning and skills, written to the settings."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, TypeVar

import typer

from understudy.cli import screen
from understudy.cli.connection import DaemonConnection, command, destination, settings_or_exit
from understudy.cli.options import shared
from understudy.cli.output import ExitCode, error_lines, note, print_json
from understudy.cli.person import Left, Person, anybody
from understudy.cli.policy_documents import changed

if TYPE_CHECKING:
    from understudy.daemon.services import Services
    from understudy.settings import Settings

DEFAULT_AGENT: Final = "default"
CAPTURE: Final = "capture.semantic_candidates.enabled"
OFFLINE: Final = "offline"
LOCAL: Final = "local"
# A name of a variable; what has other characters may be the key itself.
_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
_YES: Final = {"y": True, "yes": True, "on": True, "n": False, "no": False, "off": False}
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """The route that answers by default."""

    # One of `MODELS`, or the name of a route that the operator wrote.
    source: str
    provider: str = "openai"
    model: str = ""
    base_url: str | None = None
    api_key_env: str | None = None

    @property
    def route(self) -> dict[str, str]:
        """The route as the config file has it."""
        fields = {
            "provider": self.provider,
            "model": self.model,
            "base_url": self.base_url,
            "api_key_env": self.api_key_env,
        }
        return {name: value for name, value in fields.items() if value}

    @property
    def route_id(self) -> str:
        """The name of the route."""
        return "scripted" if self.source == OFFLINE else self.source


# What is offered where nothing was chosen before.
MODELS: Final = {
    "openai": ModelAnswer(source="openai", model="gpt-5-mini", api_key_env="OPENAI_API_KEY"),
    "anthropic": ModelAnswer(
        source="anthropic",
        provider="anthropic",
        model="claude-sonnet-4-5",
        api_key_env="ANTHROPIC_API_KEY",
    ),
    LOCAL: ModelAnswer(source=LOCAL, base_url="http://127.0.0.1:8080/v1"),
    OFFLINE: ModelAnswer(source=OFFLINE, provider="scripted"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupAnswers:
    """The three answers."""

    model: ModelAnswer
    learning: bool
    skills: bool


class LearningSwitches(Protocol):
    """Reads and sets what the database keeps, of a daemon that runs or of one that does not."""

    def learning(self) -> bool:
        """Whether capture looks for statements in runs."""
        ...

    def skills(self) -> bool:
        """Whether the default agent makes skills."""
        ...

    def set_learning(self, is_on: bool) -> None:
        """Switch capture."""
        ...

    def set_skills(self, is_on: bool) -> None:
        """Switch the skills of the default agent."""
        ...


@dataclass(frozen=True, slots=True)
class RunningSwitches:
    """The switches of a daemon that runs, over its API."""

    daemon: DaemonConnection

    def learning(self) -> bool:
        """Whether capture looks for statements in runs."""
        policy = self.daemon.client.learning_policy.get().policy
        return policy.capture.semantic_candidates.enabled

    def skills(self) -> bool:
        """Whether the default agent makes skills."""
        agent = self.daemon.client.agents.get(DEFAULT_AGENT)
        return (agent.other_config or {}).get("skill_evolve") is True

    def set_learning(self, is_on: bool) -> None:
        """Switch capture."""
        calls = self.daemon.client.learning_policy
        revision = calls.get().revision
        wanted = changed(self.daemon.answer["policy"], [_capture(is_on)])
        calls.set(wanted, expected_revision=revision)

    def set_skills(self, is_on: bool) -> None:
        """Switch the skills of the default agent."""
        from understudy.wire.agents import UpdateAgent

        wanted = UpdateAgent(other_config={"skill_evolve": is_on})
        self.daemon.client.agents.update(DEFAULT_AGENT, wanted)


@dataclass(frozen=True, slots=True)
class StoppedSwitches:
    """The switches of a daemon that does not run, in its database."""

    services: "Services"

    def learning(self) -> bool:
        """Whether capture looks for statements in runs."""
        return self.services.learning.policy.policy()[0].capture.semantic_candidates.enabled

    def skills(self) -> bool:
        """Whether the default agent makes skills."""
        agent = self.services.agents.service.get(DEFAULT_AGENT)
        return agent.other_config.get("skill_evolve") is True

    def set_learning(self, is_on: bool) -> None:
        """Switch capture."""
        from understudy.access.tokens import LOCAL_ADMIN

        service = self.services.learning.policy
        policy, revision = service.policy()
        wanted = changed(service.kind.to_json(policy), [_capture(is_on)])
        service.set_policy(LOCAL_ADMIN, wanted, expected_revision=revision.revision)

    def set_skills(self, is_on: bool) -> None:
        """Switch the skills of the default agent."""
        from understudy.access.tokens import LOCAL_ADMIN
        from understudy.agents.service import AgentFields

        fields = AgentFields(other_config={"skill_evolve": is_on})
        self.services.agents.service.update(LOCAL_ADMIN, DEFAULT_AGENT, fields)


def _capture(is_on: bool) -> str:
    return f"{CAPTURE}={str(is_on).lower()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupOptions:
    """Answers that are given on the command line; each saves a question."""

    provider: Annotated[
        str | None,
        typer.Option(help="Who answers: `openai`, `anthropic`, `local` or `offline`."),
    ] = None
    model: Annotated[str | None, typer.Option(help="The name of the model.")] = None
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A server that speaks the API of the provider."),
    ] = None
    api_key_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The variable that holds the key; never the key."),
    ] = None
    learning: Annotated[
        bool | None,
        typer.Option("--learning/--no-learning", help="Suggest what conversations teach."),
    ] = None
    skills: Annotated[
        bool | None,
        typer.Option("--skills/--no-skills", help="Let the default agent make skills."),
    ] = None
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing: what is not given stays.")
    ] = False
    home: Annotated[
        Path | None, typer.Option("--home", help="Where the daemon's files live (UNDERSTUDY_HOME).")
    ] = None
    config: Annotated[
        Path | None, typer.Option("--config", help="The config file (UNDERSTUDY_CONFIG).")
    ] = None


@command()
def setup(ctx: typer.Context, given: SetupOptions) -> None:
    """Choose the model, and whether learning and skills are on; run it again to change them."""
    from understudy.settings import Flags, SettingsError
    from understudy.settings.config_edit import write_route

    settings = settings_or_exit(Flags(home=given.home, config=given.config))
    as_json = shared(ctx).json
    with _switches(ctx, settings) as (switches, is_running):
        before = SetupAnswers(
            model=current_model(settings), learning=switches.learning(), skills=switches.skills()
        )
        person = None if given.yes or as_json else anybody()
        after = asked(person, before, given)
        if after.model != before.model:
            try:
                write_route(settings.config_file, after.model.route_id, after.model.route)
            except SettingsError as problem:
                raise _refused([f"error: {problem}"]) from None
        if after.learning != before.learning:
            switches.set_learning(after.learning)
        if after.skills != before.skills:
            switches.set_skills(after.skills)
    is_stale = is_running and after.model != before.model
    if as_json:
        print_json(_json(after, settings, is_running=is_running, is_stale=is_stale))
    else:
        screen.fields(_lines(after, settings))
        note(_next_step(given, is_running=is_running, is_stale=is_stale))


@contextmanager
def _switches(ctx: typer.Context, settings: "Settings") -> Iterator[tuple[LearningSwitches, bool]]:
    """The switches, and whether they are those of a daemon that runs.

    A daemon that is named by --url is asked; else the one that works in the home, if any does.
    """
    from understudy.client import ClientError, UnreachableError
    from understudy.daemon.serve import CannotServe, HomeInUse, stopped_daemon

    where = destination(ctx)
    connection = DaemonConnection(where, as_json=shared(ctx).json)
    with ExitStack() as held:
        held.enter_context(connection.client)
        is_in_use = False
        if shared(ctx).url is None and not _is_on_postgresql(connection):
            try:
                services = held.enter_context(stopped_daemon(settings))
            except HomeInUse:
                is_in_use = True
            except CannotServe as problem:
                raise _refused([f"error: {problem}"]) from None
            else:
                yield StoppedSwitches(services), False
                return
        try:
            yield RunningSwitches(connection), True
        except UnreachableError as problem:
            if not is_in_use:
                raise _refused(error_lines(problem, has_token=bool(where.token))) from None
            said = f"error: a daemon works in {settings.home}, but none answers at {where.url}"
            raise _refused([said, "  name the address of the daemon with --url"]) from None
        except ClientError as problem:
            raise _refused(error_lines(problem, has_token=bool(where.token))) from None


def _is_on_postgresql(connection: DaemonConnection) -> bool:
    """Whether a daemon runs here that keeps its data elsewhere: it does not lock its home."""
    from understudy.client import ClientError

    try:
        connection.client.status()
    except ClientError:
        return False
    return bool(connection.answer.get("storage", {}).get("kind") == "postgresql")


def current_model(settings: "Settings") -> ModelAnswer:
    """The route that answers now, as an answer."""
    route = settings.routes[settings.default_route]
    if route.provider == "scripted":
        return MODELS[OFFLINE]
    return ModelAnswer(
        source=settings.default_route,
        provider=route.provider,
        model=route.model,
        base_url=route.base_url,
        api_key_env=route.api_key_env,
    )


def asked(person: Person | None, before: SetupAnswers, given: SetupOptions) -> SetupAnswers:
    """The answers: those that were given, those of the person, and what was there before."""
    answers = replace(
        before,
        model=_given_model(before.model, given),
        learning=before.learning if given.learning is None else given.learning,
        skills=before.skills if given.skills is None else given.skills,
    )
    if person is None:
        return answers
    try:
        if not any((given.provider, given.model, given.base_url, given.api_key_env)):
            answers = replace(answers, model=_ask_model(person, answers.model))
        if given.learning is None:
            told = "Suggest what conversations teach, for your review? (yes, no)"
            answers = replace(answers, learning=_ask_yes(person, told, answers.learning))
        if given.skills is None:
            told = "Let the default agent make skills, with your consent? (yes, no)"
            answers = replace(answers, skills=_ask_yes(person, told, answers.skills))
    except Left:
        note("the other answers stay as they are")
    return answers


def _given_model(before: ModelAnswer, given: SetupOptions) -> ModelAnswer:
    model = before
    if given.provider is not None:
        source = _source(given.provider)
        model = before if source == before.source else MODELS[source]
    typed = {
        "model": given.model,
        "base_url": None if given.base_url is None else web_address(given.base_url),
        "api_key_env": None if given.api_key_env is None else variable(given.api_key_env),
    }
    if model.source == OFFLINE and any(typed.values()):
        raise typer.BadParameter("the offline script takes no model, URL or key; say --provider")
    model = replace(model, **{name: it for name, it in typed.items() if it is not None})
    if model.source != OFFLINE and not model.model.strip():
        raise typer.BadParameter("name the model with --model")
    return model


def _ask_model(person: Person, before: ModelAnswer) -> ModelAnswer:
    choices = ", ".join(MODELS)
    source = _ask(person, f"Model from ({choices})", before.source, _source_or(before))
    start = before if source == before.source else MODELS[source]
    if source == OFFLINE:
        return start
    name = _ask(person, "Name of the model", start.model, _filled)
    base_url, key = start.base_url, start.api_key_env
    if source == LOCAL:
        base_url = _ask(person, "Base URL", base_url or "", web_address)
    else:
        key = _ask(person, "Environment variable that holds the key", key or "", variable)
    return replace(start, model=name, base_url=base_url, api_key_env=key or None)


def _source_or(before: ModelAnswer) -> Callable[[str], str]:
    """Reads a source; the route that is the default now may have any name."""
    return lambda typed: typed if typed == before.source else _source(typed)


def _source(typed: str) -> str:
    source = typed.strip().lower()
    if source not in MODELS:
        raise typer.BadParameter(f"say {', '.join(MODELS)}; got {typed!r}")
    return source


def variable(typed: str) -> str:
    """The name of an environment variable; what may be a key is refused and not repeated."""
    if not _VARIABLE.fullmatch(typed):
        raise typer.BadParameter(
            "give the name of an environment variable, such as OPENAI_API_KEY, and not the key"
        )
    return typed


def web_address(typed: str) -> str:
    """The address of a server."""
    if not typed.strip().startswith(("http://", "https://")):
        raise typer.BadParameter(f"give an address such as {MODELS[LOCAL].base_url}")
    return typed.strip()


def _filled(typed: str) -> str:
    if not typed.strip():
        raise typer.BadParameter("there is no default: type one")
    return typed.strip()


def _ask_yes(person: Person, question: str, before: bool) -> bool:
    answer = _ask(person, question, "yes" if before else "no", _yes_or_no)
    return _YES[answer]


def _yes_or_no(typed: str) -> str:
    if typed.strip().lower() not in _YES:
        raise typer.BadParameter("say yes or no")
    return typed.strip().lower()


def _ask(person: Person, question: str, default: str, read: Callable[[str], T]) -> T:
    """An answer that can be read; the default where nothing is typed."""
    while True:
        shown = f"{question} [{default}]: " if default else f"{question}: "
        typed = person.ask(shown)
        try:
            return read(typed or default)
        except typer.BadParameter as problem:
            note(f"  {problem.message}")


def _lines(answers: SetupAnswers, settings: "Settings") -> screen.Pairs:
    model = answers.model
    where = (
        f"{model.model} on route {model.route_id}" if model.source != OFFLINE else "offline script"
    )
    key = model.api_key_env
    missing = f"; {key} is not set here" if key and not settings.environment.get(key) else ""
    return [
        ("model", f"{where}{missing}"),
        (
            "learning",
            "on: suggestions wait for `understudy review next`" if answers.learning else "off",
        ),
        ("skills", f"on for agent {DEFAULT_AGENT}" if answers.skills else "off"),
        ("config", _config(settings)),
    ]


def _config(settings: "Settings") -> str:
    """The config file, if there is one: the offline script needs none."""
    path = settings.config_file
    return str(path) if path.exists() else f"none; {path} is read if you write one"


def _next_step(given: SetupOptions, *, is_running: bool, is_stale: bool) -> str:
    if is_stale:
        return "the daemon runs with the model that it started with: restart it to use the new one"
    if is_running:
        return "the daemon runs and uses this"
    places = {"--home": given.home, "--config": given.config}
    named = [word for name, path in places.items() if path for word in (name, str(path))]
    return f"start the daemon: {shlex.join(['understudy', 'serve', *named])}"


def _json(
    answers: SetupAnswers, settings: "Settings", *, is_running: bool, is_stale: bool
) -> dict[str, Any]:
    return {
        "model": {"route_id": answers.model.route_id, **answers.model.route},
        "learning": answers.learning,
        "skills": answers.skills,
        "config_file": str(settings.config_file),
        "config_exists": settings.config_file.exists(),
        "daemon_running": is_running,
        "restart_needed": is_stale,
    }


def _refused(lines: Iterable[str]) -> typer.Exit:
    for line in lines:
        note(line)
    return typer.Exit(ExitCode.REFUSED)
