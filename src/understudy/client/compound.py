"""Calls whose arguments are not the fields of one request: uploads and answers."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Final

from understudy.client.calls import FormUpload, at, body_of, given, post
from understudy.client.operation import Group, S, built

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.assets.model import Asset
    from understudy.client.calls import HttpCall
    from understudy.wire.approvals import AnswerBody
    from understudy.wire.runs import RunView
    from understudy.wire.skills import AcknowledgedFinding, SkillKept

ZIP: Final = "application/zip"


class AssetUploads(Group[S]):
    """Files as assets."""

    @built
    def upload(
        self, file_name: str, data: bytes, *, media_type: str | None = None, key: str | None = None
    ) -> HttpCall[Asset]:
        """Upload a file; the same content is stored once, as the same asset."""
        content = base64.b64encode(data).decode()
        fields = given(file_name=file_name, media_type=media_type, content_base64=content)
        return post(at("assets"), fields, key=key)


class SkillUploads(Group[S]):
    """Archives as skills."""

    @built
    def upload(
        self,
        file_name: str,
        archive: bytes,
        *,
        slug: str | None = None,
        acknowledged: Sequence[AcknowledgedFinding] = (),
        key: str | None = None,
    ) -> HttpCall[SkillKept]:
        """Upload the skill in a ZIP: a new one, or a new version of one's own."""
        fields = given(slug=slug)
        if acknowledged:
            fields["acknowledged"] = json.dumps([body_of(each) for each in acknowledged])
        upload = FormUpload(file_name=file_name, content=archive, media_type=ZIP, fields=fields)
        return post(at("skills", "upload"), upload=upload, key=key)


class QuestionAnswers(Group[S]):
    """Answers to the questions of runs."""

    @built
    def answer(
        self,
        run_id: str,
        request_id: str,
        answers: Sequence[AnswerBody],
        *,
        justification: str | None = None,
        key: str | None = None,
    ) -> HttpCall[RunView]:
        """Answer a question of a run."""
        fields = {"request_id": request_id, "answers": answers, "justification": justification}
        return post(_questions(run_id), {"resolution": body_of(fields)}, key=key)

    @built
    def decline(
        self,
        run_id: str,
        request_id: str,
        *,
        justification: str | None = None,
        key: str | None = None,
    ) -> HttpCall[RunView]:
        """Decline to answer a question, with an optional reason; the run continues."""
        fields = given(request_id=request_id, declined=True, justification=justification)
        return post(_questions(run_id), {"resolution": fields}, key=key)


def _questions(run_id: str) -> str:
    return at("runs", run_id, "questions")
