"""Functions as commands: what they take, and how their answers are shown."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any

import typer
from typer.testing import CliRunner

from tests.support.tiny_daemon import tiny_daemon
from tests.unit.client.fake_daemon import run_document
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.main import build_app
from understudy.cli.options import PageOptions
from understudy.cli.output import ExitCode

ThingId = Annotated[str, typer.Argument(metavar="THING")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThingOptions:
    """What is said of a thing."""

    color: Annotated[str | None, typer.Option("--color")] = None
    weight: Annotated[int, typer.Option("--weight")] = 1


def thing(name: str) -> SimpleNamespace:
    return SimpleNamespace(name=name, color="red")


def run(commands: Commands, *line: str) -> Any:
    # A second command, so that the first one is called by its name.
    commands("other")(lambda: None)
    result = CliRunner().invoke(commands.app, list(line))
    assert result.exit_code == 0, result.output
    return result


def test_a_dataclass_stands_for_the_options_that_are_its_fields() -> None:
    commands, seen = Commands("Things."), []

    @commands("paint")
    def paint(
        daemon: DaemonConnection, thing_id: ThingId, about: ThingOptions, quick: bool = False
    ) -> None:
        seen.append((thing_id, about, quick))

    run(commands, "paint", "t1", "--color", "blue", "--quick")

    assert seen == [("t1", ThingOptions(color="blue", weight=1), True)]


def test_a_page_stands_for_limit_and_cursor() -> None:
    commands, seen = Commands("Things."), []

    @commands("list")
    def list_things(daemon: DaemonConnection, page: PageOptions) -> None:
        seen.append(page)

    run(commands, "list", "--limit", "3", "--cursor", "c1")
    run(commands, "list")

    assert seen == [{"limit": 3, "cursor": "c1"}, {"limit": 50, "cursor": None}]


def test_a_text_is_a_note_with_the_answer_and_the_arguments() -> None:
    commands = Commands("Things.")

    @commands("rename", show="{thing_id} is {view.name}, see `{understudy} things`")
    def rename(daemon: DaemonConnection, thing_id: ThingId) -> object:
        return thing("new {name}")

    result = run(commands, "rename", "t1")

    assert result.stderr == "t1 is new {name}, see `understudy things`\n"


def test_a_layout_is_a_record_or_with_a_word_for_none_a_table() -> None:
    commands, layout = Commands("Things."), {"thing": "name", "color": "color"}

    @commands("show", show=layout)
    def show(daemon: DaemonConnection) -> object:
        return thing("t1")

    @commands("list", show=layout, empty="No things in {place}.")
    def list_things(daemon: DaemonConnection, place: ThingId) -> object:
        items = [] if place == "nowhere" else [thing("t1")]
        return SimpleNamespace(items=items, next_cursor="c2" if items else None)

    assert run(commands, "show").stdout == "thing  t1\ncolor  red\n"
    found = run(commands, "list", "here")
    assert found.stdout == "THING  COLOR\nt1     red\n"
    assert found.stderr == "more follow: --cursor c2\n"
    assert run(commands, "list", "nowhere").stdout == "No things in nowhere.\n"


def test_a_function_prints_the_answer_or_says_what_its_fields_are() -> None:
    commands = Commands("Things.")

    @commands("print", show=lambda view: print(view.name))
    def print_thing(daemon: DaemonConnection) -> object:
        return thing("t1")

    @commands("tell", show=lambda view: [("name", view.name)])
    def tell(daemon: DaemonConnection) -> object:
        return thing("t2")

    assert run(commands, "print").stdout == "t1\n"
    assert run(commands, "tell").stdout == "name  t2\n"


def test_with_json_the_answer_stands_as_it_came() -> None:
    commands = Commands("Things.")

    @commands("show", show={"thing": "name"})
    def show(daemon: DaemonConnection) -> object:
        daemon.answer = {"name": "t1"}
        return thing("t1")

    assert run(commands, "show", "--json").stdout == '{"name": "t1"}\n'


def test_a_value_of_the_wrong_type_ends_a_command_with_its_name() -> None:
    wrong = run_document(submitted_at_ms="yesterday")
    with tiny_daemon({"/v1/runs": {"items": [wrong]}}) as (url, _):
        done = CliRunner().invoke(build_app(), ["runs", "list", "--url", url])
    assert done.exit_code == ExitCode.FAILED
    assert isinstance(done.exception, SystemExit)
    assert "submitted_at_ms" in done.output
    assert "Traceback" not in done.output
