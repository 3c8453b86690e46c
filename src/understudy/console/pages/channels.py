"""Channels: the list of rooms, and each room with its log, its roster and who speaks next."""

from typing import Any, Final

from understudy.console.page import Listing
from understudy.console.visits import Visit

MESSAGES: Final = 100
EMOJI: Final = ("👍", "👀", "✅", "❓")


async def _room(visit: Visit) -> dict[str, Any]:
    ids = {"channel_id": visit.request.path_params["id"]}
    record = await visit.call("channels.get", **ids)
    messages = await visit.call("channels.messages", limit=MESSAGES, **ids)
    return {
        "record": record,
        "messages": messages["items"],
        "is_cut": messages.get("next_cursor") is not None,
        "leases": (await visit.call("channels.leases", **ids))["items"],
        "order": await visit.call("channels.next_speakers", **ids),
        "names": {
            member.get("session_id", member["member_id"]): member["display_name"]
            for member in record["members"]
        },
        "emoji": EMOJI,
        "ids": ids,
        "twin": ids,
    }


PAGES: Final = Listing(
    name="channels",
    all="channels.list",
    one="channels.get",
    key="channel_id",
    columns=("title", "channel_id", "message_count", "last_message_preview", "updated_at_ms"),
    title="title",
    template="channel.html",
    load=_room,
).pages()
