"""Converts the body of a submit into a submission, and waits for runs inline."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Final, assert_never

from fastapi import Header
from starlette.requests import Request

from understudy.api.services import Services
from understudy.api.views.sessions import session_view
from understudy.assets.contents import draft_of
from understudy.assets.model import AssetDraft
from understudy.core.errors import coded_error
from understudy.runs.lifecycle import TERMINAL, WAITING
from understudy.runs.model import DebugLevel, InputItem
from understudy.runs.service import RunDetail
from understudy.runs.submission import Submission
from understudy.sessions.model import ReplyTarget, require_session
from understudy.wire.runs import (
    AssetReferenceItem,
    AttachedAsset,
    Attachment,
    BoardReferenceItem,
    InlineAssetItem,
    InlineFile,
    SubmitInput,
    TextItem,
)
from understudy.wire.runs import InputItem as InputItemBody
from understudy.wire.sessions import SessionView

AcceptLanguage = Annotated[
    str | None, Header(description="the language of a run that names none: en, vi or zh")
]
POLL_S: Final = 1.0
# A run that waits for a person would block that person's own call.
SETTLED: Final = TERMINAL | WAITING


def submission_of(body: SubmitInput, *, accept_language: str | None = None) -> Submission:
    """The submission of a body; omitted fields take their defaults."""
    names = ("source_plugin", "source_kind", "actor_id")
    given = {name: value for name in names if (value := getattr(body, name)) is not None}
    if body.completion_requirements:
        raise coded_error(
            "runs/completion_requirements_unsupported", pointer="/completion_requirements"
        )
    return Submission(
        content=body.content,
        input_items=tuple(
            item_of(item, f"/input_items/{index}") for index, item in enumerate(body.input_items)
        ),
        attachments=tuple(
            _attached(each, f"/attachments/{index}") for index, each in enumerate(body.attachments)
        ),
        binding_keys=tuple(body.binding_keys) or None,
        provider=body.provider,
        generation=body.generation.settings() if body.generation else {},
        metadata=body.metadata,
        reply_targets=_reply_targets(body),
        max_tool_iterations=body.max_tool_iterations,
        debug_level=None if body.debug_level is None else DebugLevel(body.debug_level),
        locale=body.locale,
        accept_language=accept_language,
        **given,
    )


def item_of(item: InputItemBody, pointer: str) -> InputItem | AssetDraft:
    """An input item of a body; `pointer` is its JSON pointer in the request."""
    match item:
        case TextItem():
            return InputItem(type="text", text=item.text)
        case AssetReferenceItem():
            return InputItem(type="asset_reference", asset_id=item.asset_id)
        case InlineAssetItem():
            return _draft(item, pointer)
        case BoardReferenceItem():
            raise coded_error("runs/input_item_unsupported", pointer=pointer)
        case _:
            assert_never(item)


def _attached(given: Attachment, pointer: str) -> str | AssetDraft:
    match given:
        case str():
            return given
        case AttachedAsset():
            return given.asset_id
        case InlineFile():
            return _draft(given, pointer)


def _draft(file: InlineFile, pointer: str) -> AssetDraft:
    return draft_of(
        file_name=file.file_name,
        media_type=file.media_type,
        content_base64=file.content_base64,
        pointer=pointer,
    )


def _reply_targets(body: SubmitInput) -> tuple[ReplyTarget, ...] | None:
    if body.reply_plugin is None and body.reply_address is None:
        if body.reply_targets is None:
            return None
        return tuple(ReplyTarget(**target.model_dump()) for target in body.reply_targets)
    if body.reply_targets or body.reply_plugin is None or body.reply_address is None:
        raise coded_error("runs/invalid_reply_target", pointer="/reply_plugin")
    return (ReplyTarget(plugin=body.reply_plugin, address=body.reply_address),)


async def settled(services: Services, request: Request, submitted: RunDetail) -> RunDetail:
    """Wait until the run has ended or waits for a person, or the client disconnects."""
    run_id, topic = submitted.run.run_id, f"session:{submitted.run.session_id}"
    while True:
        seen = {topic: services.resources.bell.count(topic)}
        detail = await asyncio.to_thread(services.runs.service.get, run_id)
        if detail.run.status in SETTLED or await request.is_disconnected():
            return detail
        if services.resources.shutting_down.is_set():
            raise coded_error("readiness/daemon_draining:run", run_id=run_id)
        await services.resources.bell.wait(seen, timeout_s=POLL_S)


async def answer_inline(
    services: Services, request: Request, act: Callable[[], RunDetail]
) -> SessionView:
    """Submit or resume a run, and answer its session once it has ended or waits for a person."""
    detail = await settled(services, request, await asyncio.to_thread(act))
    return await asyncio.to_thread(_inline_view, services, detail)


def _inline_view(services: Services, detail: RunDetail) -> SessionView:
    with services.resources.units.read() as unit:
        session = require_session(unit, detail.run.session_id)
        return session_view(unit, session, inline=detail)
