"""Templates and static files of the console."""

import hashlib
import json
import mimetypes
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool

from understudy.console.answers import answer_html
from understudy.console.conversation import gist, pretty
from understudy.console.diffs import difference, patch_rows
from understudy.console.live import signal_of
from understudy.console.markdown import rendered
from understudy.console.site_map import GO_KEYS, NAVIGATION, PAGES
from understudy.console.values import TONES, fields, shown
from understudy.console.visits import Visit
from understudy.i18n.catalogue import say
from understudy.i18n.terms import operation, sentence, term

ROOT: Final = files("understudy.console")
# Each named in its own language, for readers who cannot read the page's.
LANGUAGES: Final = {"en": "English", "vi": "Tiếng Việt", "zh": "中文"}
# The last second of the year 9999.
LAST_MS: Final = 253_402_300_799_000
LONG_ID_CHARS: Final = 24
COMMAND: Final = re.compile("`([^`]+)`")
# The seconds below which each unit is used, and the seconds of one unit; named in the catalogue.
UNITS: Final = ((60, 1), (3600, 60), (86_400, 3600), (30 * 86_400, 86_400))


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A static file."""

    content: bytes
    media_type: str
    digest: str


def _assets(folder: Traversable, prefix: str = "") -> dict[str, StaticFile]:
    found: dict[str, StaticFile] = {}
    for each in folder.iterdir():
        if each.is_dir():
            found |= _assets(each, f"{prefix}{each.name}/")
        else:
            content = each.read_bytes()
            kind = mimetypes.guess_type(each.name)[0] or "text/plain"
            digest = hashlib.sha256(content).hexdigest()[:16]
            found[prefix + each.name] = StaticFile(content, kind, digest)
    return found


ASSETS: Final = _assets(ROOT.joinpath("static"))


def asset_path(name: str) -> str:
    """The address of a static file."""
    return f"/static/{ASSETS[name].digest}/{name}"


async def render(template: str, visit: Visit | None, **values: Any) -> str:
    """Render a page in a thread: a long list takes time."""
    language = values.pop("language", None) or (visit.language if visit else "en")
    return await run_in_threadpool(render_now, template, visit, language, values)


def render_now(template: str, visit: Visit | None, language: str, values: Mapping[str, Any]) -> str:
    """Render a page in this thread."""
    now = time.time_ns() // 1_000_000
    return (
        _environment()
        .get_template(template)
        .render(
            visit=visit,
            language=language,
            t=partial(_text, language),
            term=partial(term, language),
            operation=partial(operation, language),
            why=partial(sentence, language),
            ago=partial(_ago, language, now=now),
            navigation=_navigation(visit),
            **values,
        )
    )


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {
        "asset": asset_path,
        "difference": difference,
        "fields": fields,
        "icon": _icon,
        "languages": LANGUAGES,
        "patch_rows": patch_rows,
        "go_keys": GO_KEYS,
        "shown": shown,
        "signal_of": signal_of,
        "tones": TONES,
        "with_query": _with_query,
    }
    made.filters |= {
        "as_json": _as_json,
        "commands": _commands,
        "day": _day,
        "document": rendered,
        "dollars": _dollars,
        "gist": gist,
        "iso": _iso,
        "markdown": answer_html,
        "moment": _moment,
        "pretty": pretty,
        "short": _short,
        "took": _took,
    }
    return made


def _source(name: str) -> str | None:
    file = ROOT.joinpath("templates", name)
    return file.read_text("utf-8") if file.is_file() else None


def _text(language: str, key: str, **values: object) -> str:
    return say(language, f"console.{key}", **values)


@cache
def _icon(name: str) -> Markup:
    """An icon of the console's own set, in the colour of the surrounding text."""
    path = ROOT.joinpath("templates", "icons", f"{name}.svg").read_text("utf-8")
    return Markup(path)  # noqa: S704 - a file of ours


def _navigation(visit: Visit | None) -> list[tuple[str, list[str]]]:
    """The navigation of a visitor, without pages that their role may not read."""
    twins = {page.path: page.twin for page in PAGES}
    return [
        (group, [name for name in names if visit and visit.may(twins[f"/{name}"])])
        for group, names in NAVIGATION
    ]


def _commands(text: str) -> Markup:
    """A catalogue text with the commands between backticks as `<code>`."""
    return Markup(COMMAND.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped


def _ago(language: str, at_ms: int | None, *, now: int) -> str:
    """A relative time in one unit; a date if it is long past or far ahead."""
    if not at_ms:
        return "–"
    seconds = (now - at_ms) // 1000
    distance = abs(seconds)
    names = _text(language, "units").split()
    for (below, unit), name in zip(UNITS, names, strict=True):
        if distance < below:
            key = "ago" if seconds >= 0 else "ahead"
            return _text(language, key, distance=f"{distance // unit} {name}")
    return _moment(at_ms)[:10]


def _moment(at_ms: int) -> str:
    return _date(at_ms).strftime("%Y-%m-%d %H:%M:%S UTC")


def _day(at_ms: int) -> str:
    return _date(at_ms).strftime("%Y-%m-%d")


def _took(ms: int) -> str:
    """A duration: `340 ms`, `2.1 s`, `3 min 20 s`."""
    if ms < 1000:
        return f"{ms} ms"
    seconds = ms / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{ms // 60_000} min {ms // 1000 % 60} s"


def _dollars(amount: float) -> str:
    """An amount in dollars; a small one is not rounded to zero."""
    return "< $0.01" if 0 < amount < 0.005 else f"${amount:,.2f}"


def _as_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _short(name: str) -> str:
    """A shortened id: its prefix and its end; other names stay as they are."""
    kind, _, rest = name.partition("_")
    return f"{kind}_…{rest[-6:]}" if len(rest) >= LONG_ID_CHARS else name


def _iso(at_ms: int) -> str:
    return _date(at_ms).isoformat()


def _date(at_ms: int) -> datetime:
    """A time as a datetime, capped at the year 9999, which `datetime` cannot exceed."""
    return datetime.fromtimestamp(min(at_ms, LAST_MS) / 1000, UTC)


def _with_query(visit: Visit, **changes: object) -> str:
    """The URL of this page with changed query parameters."""
    query: dict[str, Any] = {**visit.query, **changes}
    kept = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{visit.path}?{urlencode(kept)}" if kept else visit.path
