"""The input of a run as it is kept: assets by their ids, held for as long as the run exists."""

from typing import TYPE_CHECKING, Final

from understudy.assets.contents import keep, refer
from understudy.assets.model import Asset, AssetDraft, ReferenceKind
from understudy.core.errors import coded_error
from understudy.core.principal import Principal
from understudy.runs.model import GivenAs, InputItem, Run, RunInput
from understudy.runs.submission import Submission, items_of
from understudy.sessions.journal import caller_metadata

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# What a model call can carry; more would be refused by every provider.
MAX_INPUT_BYTES: Final = 24 * 1024 * 1024


def take_input(
    unit: "Unit", principal: Principal, submission: Submission, *, now_ms: int
) -> RunInput:
    """The input with every file in it an asset that is there and stays."""
    given = items_of(submission)
    if any(_is_file(item) for item in given.values()):
        unit.assets.hold()
    items = tuple(
        _kept(unit, principal, item, pointer=pointer, now_ms=now_ms)
        for pointer, item in given.items()
    )
    _check_size(items)
    return RunInput(items=items, metadata=caller_metadata(submission.metadata))


def refer_to_assets(unit: "Unit", run: Run) -> None:
    """Keep the assets of a run's input from being deleted."""
    for asset_id in dict.fromkeys(item.asset_id for item in run.input.items):
        if asset_id is not None:
            refer(unit, asset_id, ReferenceKind.RUN, run.run_id)


def _is_file(item: InputItem | AssetDraft) -> bool:
    return isinstance(item, AssetDraft) or item.type != "text"


def _kept(
    unit: "Unit",
    principal: Principal,
    item: InputItem | AssetDraft,
    *,
    pointer: str,
    now_ms: int,
) -> InputItem:
    if isinstance(item, AssetDraft):
        kept, _ = keep(unit, principal, item, now_ms=now_ms)
        # The same content may have been there before, under another name.
        return _item_of(kept, file_name=item.file_name, given_as="inline")
    if item.type == "text":
        return item
    asset = unit.assets.get(item.asset_id or "")
    if asset is None:
        raise coded_error(
            "assets/asset_not_found:in_input", pointer=pointer, asset_id=item.asset_id
        )
    # What a schedule fires with was taken before, and knows its name and how it came.
    return _item_of(asset, file_name=item.file_name or asset.file_name, given_as=item.given_as)


def _item_of(asset: Asset, *, file_name: str, given_as: GivenAs | None) -> InputItem:
    return InputItem(
        type="asset_reference",
        asset_id=asset.asset_id,
        file_name=file_name,
        media_type=asset.media_type,
        size=asset.size,
        given_as=given_as,
    )


def _check_size(items: tuple[InputItem, ...]) -> None:
    # The same asset twice goes over the wire twice.
    if sum(item.size or 0 for item in items) > MAX_INPUT_BYTES:
        raise coded_error("assets/input_assets_too_large", limit_bytes=MAX_INPUT_BYTES)
