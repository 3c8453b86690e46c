"""Presets of connectors, and paths into their payloads: a subset of JSONPath."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote

from understudy.channels.bridge_model import Bridge, Connector, IncomingMessage
from understudy.core.errors import coded_error
from understudy.core.records import parsed

MAX_MESSAGES: Final = 200
MAX_ID_CHARS: Final = 400
MAX_NAME_CHARS: Final = 200
_STEP: Final = re.compile(r"\.([A-Za-z_][\w-]*)|\['([^'\]]{1,200})'\]|\[(\d{1,4})\]|(\[\*\])")
_NAME: Final = re.compile(r"\{([a-z_]+)\}")
PATHS: Final = ("each", "id", "text", "author", "author_name", "thread")
SEPARATOR: Final = " | "


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingShape:
    """The request template that sends a message to a connector."""

    url: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """The payload formats of a connector, and the names of its credentials and settings."""

    required: tuple[str, ...]
    credentials: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    # Settings that say where the credentials are sent.
    target: tuple[str, ...] = ()
    incoming: Mapping[str, Any]
    outgoing: OutgoingShape | None = None


@cache
def presets() -> Mapping[Connector, Preset]:
    """The preset of every connector."""
    text = files("understudy.channels").joinpath("bridge_presets.toml").read_text("utf-8")
    table = tomllib.loads(text)
    return {connector: parsed(Preset, table[connector]) for connector in Connector}


def check_names(bridge: Bridge) -> None:
    """Refuse settings and credentials that the connector does not have, and missing credentials."""
    preset = presets()[bridge.connector]
    credentials = (*preset.required, *preset.credentials)
    # A custom URL may have placeholders of its own.
    own = [each for each in _NAME.findall(bridge.outgoing_url or "") if each not in credentials]
    settings = (*preset.settings, *preset.target, *own)
    for group, known in (("credentials", credentials), ("settings", settings)):
        for name in getattr(bridge, group):
            if name not in known:
                raise coded_error(
                    "channels/bridge_invalid:name",
                    pointer=f"/{group}/{name}",
                    name=name,
                    group=group,
                    connector=bridge.connector,
                    known=", ".join(known) or "–",
                )
    for name in preset.required:
        if not bridge.credentials.get(name):
            raise coded_error(
                "channels/bridge_invalid:credential",
                pointer=f"/credentials/{name}",
                connector=bridge.connector,
                name=name,
            )


def target_of(bridge: Bridge) -> tuple[str | None, ...]:
    """Where the credentials of a bridge are sent; the secret of a webhook signs and is not sent."""
    if bridge.connector is Connector.WEBHOOK:
        return ()
    url = bridge.outgoing_url or None
    names = (*presets()[bridge.connector].target, *_NAME.findall(url or ""))
    return (url, *(bridge.settings.get(name) for name in names))


def check_mapping(mapping: Mapping[str, Any]) -> None:
    """Refuse an invalid mapping, with the path that cannot be parsed."""
    for name, value in mapping.items():
        pointer = f"/mapping/{name}"
        if name in PATHS and isinstance(value, str):
            given = [value]
        elif name == "never" and isinstance(value, list | tuple):
            given = [str(each) for each in value]
        elif name == "only" and isinstance(value, Mapping):
            given = list(value)
        else:
            known = ", ".join((*PATHS, "only", "never"))
            raise coded_error(
                "channels/mapping_invalid:field", pointer=pointer, name=name, known=known
            )
        for path in given:
            for one in path.split(SEPARATOR):
                if _steps(one) is None:
                    raise coded_error("channels/mapping_invalid", pointer=pointer, path=one)


def heard_in(bridge: Bridge, document: Any) -> list[IncomingMessage]:
    """The messages in a connector's payload; others, such as our own, are left out."""
    mapping = {**presets()[bridge.connector].incoming, **bridge.mapping}
    parts = values_at(document, mapping["each"]) if mapping.get("each") else iter([document])
    heard: list[IncomingMessage] = []
    for part in parts:
        if len(heard) >= MAX_MESSAGES:
            break
        message = _message(mapping, part)
        if message is not None:
            heard.append(message)
    return heard


def values_at(document: Any, paths: str) -> Iterator[Any]:
    """The values at the first path that matches anything."""
    for path in paths.split(SEPARATOR):
        found = [document]
        for step in _steps(path) or ():
            found = [value for each in found for value in _below(each, step)]
        found = [value for value in found if value is not None]
        if found:
            yield from found
            return


def filled(template: Any, names: Mapping[str, str], *, is_url: bool = False) -> Any:
    """A template with its placeholders filled in, once: placeholders in a value stay as they are.

    Fields with only a placeholder without a value are left out.
    """
    if isinstance(template, Mapping):
        parts = {key: filled(value, names) for key, value in template.items()}
        return {key: value for key, value in parts.items() if value != ""}
    if not isinstance(template, str):
        return template

    def value(match: re.Match[str]) -> str:
        found = names.get(match[1], "")
        # A whole URL may be a credential; a value within one must be quoted.
        return quote(found, safe="") if is_url and match[0] != template[: len(match[0])] else found

    return _NAME.sub(value, template)


def _message(mapping: Mapping[str, Any], part: Any) -> IncomingMessage | None:
    if any(list(values_at(part, path)) for path in mapping.get("never", ())):
        return None
    for path, wanted in mapping.get("only", {}).items():
        if wanted not in list(values_at(part, path)):
            return None
    found = {name: _text_at(part, mapping.get(name)) for name in PATHS if name != "each"}
    external_id, author, text = found["id"], found["author"], found["text"]
    if not external_id or not author or not text or not text.strip():
        return None
    name, thread = found["author_name"], found["thread"]
    return IncomingMessage(
        external_id=external_id[:MAX_ID_CHARS],
        author=author[:MAX_ID_CHARS],
        text=text,
        author_name=" ".join(name.split())[:MAX_NAME_CHARS] if name else None,
        thread=thread[:MAX_ID_CHARS] if thread else None,
    )


def _text_at(part: Any, path: str | None) -> str | None:
    value = next(values_at(part, path), None) if path else None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value).replace("\0", "")


def _steps(path: str) -> list[tuple[str | None, str | None, str | None, str | None]] | None:
    """The parsed steps of a path; None when it is invalid."""
    rest = path.strip()
    if not rest.startswith("$"):
        return None
    place, steps = 1, []
    while place < len(rest):
        match = _STEP.match(rest, place)
        if match is None:
            return None
        steps.append(match.groups())
        place = match.end()
    return steps  # type: ignore[return-value]


def _below(value: Any, step: tuple[str | None, str | None, str | None, str | None]) -> list[Any]:
    name, quoted_name, index, every = step
    if every:
        return list(value)[:MAX_MESSAGES] if isinstance(value, list) else []
    if index is not None:
        return [value[int(index)]] if isinstance(value, list) and int(index) < len(value) else []
    key = name or quoted_name
    return [value[key]] if isinstance(value, dict) and key in value else []
