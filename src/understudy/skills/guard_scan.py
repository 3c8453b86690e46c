"""The guard over a skill: its files, and what they say once they are parsed."""

from collections.abc import Callable, Iterator, Mapping

from understudy.guard.rule import Finding
from understudy.guard.scan import go_on, scan_bundle
from understudy.guard.source import ParsedValue
from understudy.skills.bundles.document import (
    UnreadableDocument,
    Value,
    YamlDocument,
    read_front_matter,
)
from understudy.skills.bundles.limits import MANIFEST
from understudy.skills.runtime_settings import RUNTIME_FILE, read_settings


def scan_skill(
    files: Mapping[str, bytes], *, pause: Callable[[], None] = go_on
) -> tuple[Finding, ...]:
    """Every line of a skill that may not be there; each way in asks this, and not the guard alone."""
    return scan_bundle(files, said=said_in(files), pause=pause)


def said_in(files: Mapping[str, bytes]) -> Iterator[ParsedValue]:
    """What stands in the fields of SKILL.md and of the runtime settings.

    A value can be written so that its line does not show what it says: with escapes, over several
    lines, beside a comment. What cannot be parsed is refused elsewhere.
    """
    for path, read in _READERS.items():
        try:
            document = read(files[path].decode())
        except (KeyError, UnicodeDecodeError, UnreadableDocument):
            continue
        for key, value in document.values.items():
            for text in (key, *_texts(value)):
                yield ParsedValue(path=path, line=document.lines.get(key, 1), text=text)


def _front_matter(content: str) -> YamlDocument:
    return read_front_matter(content).document


_READERS: Mapping[str, Callable[[str], YamlDocument]] = {
    MANIFEST: _front_matter,
    RUNTIME_FILE: read_settings,
}


def _texts(value: Value) -> Iterator[str]:
    """Every text in a value, however deep; documents are only so deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    else:
        for inner in value:
            yield from _texts(inner)
        # A list is shown as a row of words.
        yield " ".join(inner for inner in value if isinstance(inner, str))
