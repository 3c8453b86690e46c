"""Log lines: one pipeline, fields in order, scrubbed last."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from understudy.core.showable import Json
from understudy.telemetry.logs import CHATTY, configure_logging


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def scrub(value: Json) -> Json:
    """Stands in for the real scrubber, which lives in a sibling package."""
    match value:
        case str():
            return value.replace("hunter2", "<gone>")
        case list():
            return [scrub(item) for item in value]
        case dict():
            return {key: scrub(item) for key, item in value.items()}
        case _:
            return value


def fail() -> None:
    raise ValueError("hunter2")


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    loggers = [logging.getLogger(), *(logging.getLogger(name) for name in CHATTY)]
    before = [(logger, logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    raise_exceptions, configured = logging.raiseExceptions, structlog.get_config()
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)
    logging.raiseExceptions = raise_exceptions
    structlog.configure(**configured)


@pytest.fixture
def stream() -> io.StringIO:
    stream = io.StringIO()
    configure_logging("info", json=None, scrub=scrub, stream=stream)
    return stream


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_line_with_time_level_and_name_first(stream: io.StringIO) -> None:
    structlog.get_logger("understudy.runs").info("run.started", run_id="run_1", attempt=2)
    (line,) = lines(stream)
    assert list(line)[:3] == ["ts", "level", "event"]
    assert str(line.pop("ts")).endswith("Z")
    assert line == {
        "level": "info", "event": "run.started", "run_id": "run_1", "attempt": 2,
        "logger": "understudy.runs",
    }  # fmt: skip


def test_events_below_the_level_are_left_out(stream: io.StringIO) -> None:
    structlog.get_logger().debug("not.this")
    logging.getLogger("somebody").debug("nor this")
    assert lines(stream) == []


def test_secrets_go_from_messages_fields_objects_and_tracebacks(stream: io.StringIO) -> None:
    class Holder:
        def __str__(self) -> str:
            return "holds hunter2"

    log = structlog.get_logger()
    log.info("hunter2", nested={"a": ["hunter2", Holder()], 1: ("hunter2",)}, raw=b"hunter2")
    try:
        fail()
    except ValueError:
        log.exception("failed")
    logging.getLogger("library").error("said %s", "hunter2", stack_info=True)
    assert len(lines(stream)) == 3
    assert "hunter2" not in stream.getvalue()
    assert "ValueError: <gone>" in str(lines(stream)[1]["exception"])


def test_bound_context_appears_in_every_event(stream: io.StringIO) -> None:
    with structlog.contextvars.bound_contextvars(run_id="run_1"):
        structlog.get_logger().info("one")
        logging.getLogger("library").warning("two")
    assert [line["run_id"] for line in lines(stream)] == ["run_1", "run_1"]


@pytest.mark.parametrize("name", CHATTY)
def test_a_chatty_library_is_heard_from_warning_on_and_once(stream: io.StringIO, name: str) -> None:
    logger = logging.getLogger(name)
    logger.setLevel(logging.INFO)  # as DBOS does to its own
    logger.info("chatter")
    logger.warning("trouble")
    assert [(line["event"], line["level"]) for line in lines(stream)] == [("trouble", "warning")]


def test_a_stricter_level_holds_for_chatty_libraries_too() -> None:
    stream = io.StringIO()
    configure_logging("error", json=True, scrub=scrub, stream=stream)
    logging.getLogger("uvicorn.error").warning("trouble")
    assert lines(stream) == []


def test_configuring_again_replaces_the_handlers(stream: io.StringIO) -> None:
    configure_logging("info", json=True, scrub=scrub, stream=stream)
    structlog.get_logger().info("once")
    assert len(lines(stream)) == 1


def test_a_terminal_gets_text_with_plain_tracebacks() -> None:
    stream = Terminal()
    configure_logging("info", json=None, scrub=scrub, stream=stream)
    try:
        fail()
    except ValueError:
        structlog.get_logger().exception("failed")
    assert "Traceback" in stream.getvalue()
    assert "ValueError: <gone>" in stream.getvalue()
    assert not stream.getvalue().startswith("{")


def test_a_record_that_cannot_be_rendered_is_dropped_not_printed_raw(
    stream: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    logging.getLogger("library").error("%d", "hunter2")
    assert "hunter2" not in stream.getvalue() + capsys.readouterr().err


def test_a_scrubber_that_answers_nonsense_hides_the_event() -> None:
    stream = io.StringIO()
    configure_logging("info", json=True, scrub=lambda _: None, stream=stream)
    structlog.get_logger().info("hunter2")
    assert lines(stream) == [{"event": "log.not_scrubbed"}]
