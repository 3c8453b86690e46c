"""The request of a schedule: validated at creation as if it were submitted then."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from understudy.assets.contents import refer
from understudy.assets.model import AssetDraft, ReferenceKind
from understudy.core.errors import Invalid
from understudy.core.principal import Principal
from understudy.runs.intake import check_route, take_input
from understudy.runs.model import SCHEDULE_SOURCE, RunKind
from understudy.runs.submission import Submission, check_limits, language_of
from understudy.sessions.bindings import take_keys
from understudy.sessions.model import Session
from understudy.sessions.scopes import effective_credential_scope

if TYPE_CHECKING:
    from understudy.providers.registry import Routes
    from understudy.storage.unit import Unit

FIELD: Final = "request"
SOURCE_PLUGIN, SOURCE_KIND = SCHEDULE_SOURCE


@contextmanager
def within_request() -> Iterator[None]:
    """Prefix the pointers of submission errors with their place in the schedule's body."""
    try:
        yield
    except Invalid as problem:
        raise problem.moved(lambda pointer: f"/{FIELD}{pointer}") from None


def prepare(
    unit: "Unit",
    principal: Principal,
    session: Session,
    request: Submission,
    *,
    routes: "Routes",
    now_ms: int,
) -> Submission:
    """The request as stored: its files become assets, and open choices stay open.

    Without reply targets of its own, it uses the session's at the time of each fire.
    """
    with within_request():
        check_limits(request)
        if request.provider is not None:
            check_route(request.provider, routes, effective_credential_scope(session))
        taken = take_input(unit, principal, request, now_ms=now_ms)
        take_keys(unit, principal, session, request.binding_keys or (), at_ms=now_ms)
    return replace(
        request,
        content="",
        attachments=(),
        binding_keys=None,
        input_items=taken.items,
        metadata=taken.metadata,
        kind=RunKind.SCHEDULED_INPUT,
        source_plugin=SOURCE_PLUGIN,
        source_kind=SOURCE_KIND,
        # No caller, and so no language, is present when it fires.
        locale=language_of(request, principal),
        accept_language=None,
    )


def hold_assets(unit: "Unit", schedule_id: str, request: Submission) -> None:
    """Add references that keep the assets of a request from being deleted."""
    kept = (item for item in request.input_items if not isinstance(item, AssetDraft))
    for asset_id in dict.fromkeys(item.asset_id for item in kept):
        if asset_id is not None:
            refer(unit, asset_id, ReferenceKind.SCHEDULE, schedule_id)
