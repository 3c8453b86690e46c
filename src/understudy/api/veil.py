"""What an answer does not tell: ids of others in what is shared, and sensitive words that a run quotes.

Rows that do not exist for a caller are left out by the stores. This is about the rest: a record that
everybody may read names the run of somebody else, or a journal holds the sentence that was learned.
"""

import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from understudy.api.operations import SAFE_METHODS
from understudy.core.sight import WHOLE, Sight, current_sight, whole_sight

if TYPE_CHECKING:
    from understudy.daemon.services import Services

TEXTS: Final = ("application/json", "text/", "application/problem+json")
BAD_REQUEST: Final = 400
HIDDEN_ID: Final = "hidden"
HIDDEN_WORDS: Final = "[sensitive]"
# Fields that name a session, whose id may be any word that a caller chose.
_SESSION: Final = re.compile(
    r'("(?:\w*session_id|member_id|ref_id|resource_id|id)"\s*:\s*")([^"\\]{1,200})"'
)
_ID: Final = re.compile(r"\b[a-z]{2,4}_[0-9a-f]{32}\b")
# A shorter sentence is a word that occurs anywhere.
_LEAST_CHARS: Final = 4
_BETWEEN: Final = r"(?:\s|\\[nrt])+"


async def veiled(request: Request, services: "Services", answer: Response) -> Response:
    """The answer as the caller of this request may read it; ids that the request names stay."""
    sight = current_sight.get()
    if sight == WHOLE or not (answer.media_type or "").startswith(TEXTS):
        return answer
    if isinstance(answer, StreamingResponse):
        answer.body_iterator = _chunks(services, sight, answer.body_iterator)
        return answer
    asked = await _asked(request, is_read=answer.status_code < BAD_REQUEST)
    body = await run_in_threadpool(veil, services, sight, bytes(answer.body), asked)
    if body != answer.body:
        answer.body = body
        answer.headers["content-length"] = str(len(body))
    return answer


async def _asked(request: Request, *, is_read: bool) -> str:
    """What the request itself said, which an answer may repeat; a list repeats nothing of it."""
    if request.method not in SAFE_METHODS:
        return (await request.body()).decode(errors="replace") + "\n".join(_named(request))
    return "" if is_read else "\n".join(_named(request))


def _named(request: Request) -> Iterator[str]:
    yield from map(str, request.path_params.values())
    yield from request.query_params.values()


async def _chunks(services: "Services", sight: Sight, chunks: Any) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        yield await run_in_threadpool(veil, services, sight, chunk)


def veil(services: "Services", sight: Sight, body: bytes, asked: str = "") -> bytes:
    """The text of an answer, or of a part of a stream, without what the sight does not reach."""
    text = body.decode(errors="replace")
    sessions = sorted({found[2] for found in _SESSION.finditer(text)})
    ids = sorted(set(_ID.findall(text)))
    if not sessions and not ids:
        return body
    with whole_sight(), services.resources.units.read() as unit:
        foreign = (
            frozenset(
                each
                for each in unit.foreign_among(sessions, ids, sight.user_id)
                if each not in asked
            )
            if sight.user_id is not None
            else frozenset()
        )
        words = () if sight.sees_sensitive else tuple(unit.sensitive_words(sessions, ids))
    if foreign:
        text = _ID.sub(lambda it: HIDDEN_ID if it[0] in foreign else it[0], text)
        text = _SESSION.sub(lambda it: f'{it[1]}{HIDDEN_ID}"' if it[2] in foreign else it[0], text)
    for pattern in _patterns(words):
        text = pattern.sub(HIDDEN_WORDS, text)
    return text.encode()


def _patterns(words: Iterable[str]) -> Iterable[re.Pattern[str]]:
    """Each statement as it may stand in JSON: in any case, with other blanks, without its full stop."""
    for statement in set(words):
        bare = statement.strip().rstrip(".!?\N{IDEOGRAPHIC FULL STOP}")
        if len(bare) < _LEAST_CHARS:
            continue
        parts = (
            "|".join(
                {
                    re.escape(json.dumps(it, ensure_ascii=ascii_only)[1:-1])
                    for ascii_only in (True, False)
                }
            )
            for it in bare.split()
        )
        yield re.compile(_BETWEEN.join(f"(?:{part})" for part in parts), re.IGNORECASE)
