"""Logging to stderr: one pipeline for our loggers and those of libraries, scrubbed last."""

import logging
import sys
from collections.abc import Callable, Mapping
from typing import Final, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from understudy.core.showable import Json

ScrubJson = Callable[[Json], Json]

# Libraries that log too much at info; their warnings are kept.
CHATTY: Final = (
    "alembic", "anthropic", "dbos", "httpcore", "httpx", "httpx2", "openai", "uvicorn",
    "uvicorn.access", "uvicorn.error",
)  # fmt: skip
# Loggers of the MCP library: a server controls their messages and rate, so we log our own.
SILENT: Final = ("client", "mcp")
FIRST_FIELDS: Final = ("ts", "level", "event")


def configure_logging(
    level: str, *, json: bool | None, scrub: ScrubJson, stream: TextIO | None = None
) -> None:
    """Set up logging for the process; `json=None` means JSON unless stderr is a terminal.

    `scrub` removes secrets from the fields of an event, as `redaction.scrub_json` does.
    """
    stream = stream or sys.stderr
    threshold = logging.getLevelNamesMapping()[level.upper()]
    as_json = not stream.isatty() if json is None else json
    formatter = _formatter(scrub, as_json=as_json, colours=stream.isatty())
    _configure_structlog(threshold)
    _route(logging.getLogger(), _handler(stream, formatter, threshold), threshold)
    quiet = max(threshold, logging.WARNING)
    for name in CHATTY:
        logger = logging.getLogger(name)
        # A handler of their own: DBOS resets its logger's level, and adds a handler where it
        # finds none.
        _route(logger, _handler(stream, formatter, quiet), quiet)
        logger.propagate = False
    for name in SILENT:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # A record that fails to format must not be printed unscrubbed.
    logging.raiseExceptions = False


def _configure_structlog(threshold: int) -> None:
    structlog.configure(
        processors=[*_shared(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        cache_logger_on_first_use=False,
    )


def _shared() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
    ]


def _formatter(scrub: ScrubJson, *, as_json: bool, colours: bool) -> logging.Formatter:
    renderer: Processor = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(
            colors=colours,
            timestamp_key="ts",
            exception_formatter=structlog.dev.plain_traceback,
        )
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_shared(),
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            _scrubbing(scrub),
            renderer,
        ],
    )


def _scrubbing(scrub: ScrubJson) -> Processor:
    def scrub_event(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
        first = [key for key in FIRST_FIELDS if key in event]
        ordered = {key: event[key] for key in [*first, *(k for k in event if k not in first)]}
        scrubbed = scrub(_plain(ordered))
        return scrubbed if isinstance(scrubbed, dict) else {"event": "log.not_scrubbed"}

    return scrub_event


def _plain(value: object) -> Json:
    """The value as JSON, so that nothing is converted to text after scrubbing."""
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return str(value)
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(item) for item in value]
        case _:
            return str(value)


def _handler(stream: TextIO, formatter: logging.Formatter, level: int) -> logging.Handler:
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    handler.setLevel(level)
    return handler


def _route(logger: logging.Logger, handler: logging.Handler, level: int) -> None:
    logger.handlers[:] = [handler]
    logger.setLevel(level)
