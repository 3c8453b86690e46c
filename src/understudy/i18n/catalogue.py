"""The message catalogues: one TOML file per language, with the same keys in all."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from understudy.i18n.locales import DEFAULT, LOCALES, locale_of

Entry = str | tuple[str, ...]


def say(locale: str | None, key: str, **values: object) -> str:
    """A text in a language, with English as the fallback."""
    text = entries(locale_of(locale)).get(key, entries(DEFAULT).get(key))
    if not isinstance(text, str):
        raise KeyError(key)
    return text.format_map(values)


def knows(key: str) -> bool:
    """Whether the catalogue has a key."""
    return isinstance(entries(DEFAULT).get(key), str)


def phrases(key: str) -> dict[str, tuple[str, ...]]:
    """The trigger phrases for one intent, by language; the first is the one that texts name."""
    return {locale: _list(locale, key) for locale in LOCALES}


def _list(locale: str, key: str) -> tuple[str, ...]:
    found = entries(locale).get(key, entries(DEFAULT).get(key))
    if not isinstance(found, tuple):
        raise KeyError(key)
    return found


@cache
def entries(locale: str) -> Mapping[str, Entry]:
    """All entries of one catalogue, by keys such as `skill.nudge_70_pct`."""
    source = files("understudy.i18n").joinpath("catalogues", f"{locale}.toml")
    found: dict[str, Entry] = {}
    tables: list[tuple[str, Mapping[str, Any]]] = [("", tomllib.loads(source.read_text("utf-8")))]
    for prefix, table in tables:
        for name, value in table.items():
            if isinstance(value, dict):
                tables.append((f"{prefix}{name}.", value))
            else:
                found[prefix + name] = tuple(value) if isinstance(value, list) else str(value)
    return found
