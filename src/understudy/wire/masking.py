"""Masks values of answers: ids of other users' records, and quotations of sensitive statements.

Rows that a caller cannot see are left out by the stores. A shared record may still name another
user's run, and a journal may have the sentence that was learned.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from understudy.core.ids import MADE_ID
from understudy.core.showable import showable
from understudy.core.visibility import UNRESTRICTED, current_visibility, unrestricted
from understudy.wire.sensitive_quotations import Quotations

if TYPE_CHECKING:
    from understudy.storage.unit import Units

HIDDEN_ID: Final = "hidden"
_ID: Final = re.compile(rf"\b{MADE_ID}\b")
# Fields that may name a session, whose id may be any word that a caller chose.
# A member of a room or of a board is often called by it.
_NAMES: Final = frozenset({"display_name", "id", "owner", "ref_id", "resource_id"})
_NAMES_END: Final = ("_display_name", "member_id", "member_ids", "session_id", "session_ids")


def masked(units: "Units", answer: Any, asked: str = "") -> Any:
    """An answer, as JSON or as text, without what its caller may not read.

    What the request itself says may be repeated: `asked` is its text.
    """
    visibility = current_visibility.get()
    if visibility == UNRESTRICTED:
        return answer
    answer = showable(answer)
    values = list(_values(answer))
    sessions = sorted({value for field, value in values if _may_name(field)})
    ids = sorted({each for _, value in values for each in _ID.findall(value)})
    foreign: frozenset[str] = frozenset()
    if visibility.user_id is not None and (sessions or ids):
        with unrestricted(), units.read() as unit:
            found = unit.foreign_among(sessions, ids, visibility.user_id)
            foreign = frozenset(each for each in found if each not in asked)
    if foreign:
        answer = _changed(answer, lambda field, value: _without(foreign, field, value))
    if visibility.sees_sensitive:
        return answer
    quotations = quotations_near(units, (*sessions, *ids)).among("\n".join(v for _, v in values))
    if not quotations:
        return answer
    return _changed(answer, lambda field, value: quotations.masked(value))


def quotations_near(units: "Units", near: Iterable[str]) -> Quotations:
    """The quotations to mask in texts of these sessions and runs."""
    with unrestricted(), units.read() as unit:
        statements = unit.sensitive_statements()
    return Quotations.of(statements, frozenset(near))


def _may_name(field: str) -> bool:
    return field in _NAMES or field.endswith(_NAMES_END)


def _without(foreign: frozenset[str], field: str, value: str) -> str:
    if value in foreign and _may_name(field):
        return HIDDEN_ID
    return _ID.sub(lambda found: HIDDEN_ID if found[0] in foreign else found[0], value)


def _values(part: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """The texts of an answer with the names of their fields; a list has the name of its field."""
    if isinstance(part, str):
        yield field, part
    elif isinstance(part, dict):
        for name, value in part.items():
            yield from _values(value, name)
    elif isinstance(part, list):
        for value in part:
            yield from _values(value, field)


def _changed(part: Any, change: Callable[[str, str], str], field: str = "") -> Any:
    """An answer with its texts changed; names of fields stay."""
    if isinstance(part, str):
        return change(field, part)
    if isinstance(part, dict):
        return {name: _changed(value, change, name) for name, value in part.items()}
    if isinstance(part, list):
        return [_changed(value, change, field) for value in part]
    return part
