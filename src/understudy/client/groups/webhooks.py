"""Calls about webhooks: what was sent to them, and the secret they are signed with."""

from collections.abc import Iterator

from understudy.client.calls import at, get, given, post
from understudy.client.groups.resource import Resource, every
from understudy.wire.base import Items
from understudy.wire.replies import DeliveryLogView, WebhookSecretView


class Deliveries(Resource):
    """How the outputs of runs fared at their reply targets."""

    def page(
        self, run_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[DeliveryLogView]:
        """Some of the deliveries of a run, in the order of its reply targets."""
        read = Items[DeliveryLogView].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(at("runs", run_id, "deliveries"), read, **query))

    def list(self, run_id: str) -> Iterator[DeliveryLogView]:
        """All deliveries of a run, in the order of its reply targets."""
        return every(lambda cursor: self.page(run_id, cursor=cursor))

    def retry(self, run_id: str, delivery_id: str, *, key: str | None = None) -> DeliveryLogView:
        """Have a dead delivery tried again."""
        path = at("runs", run_id, "deliveries", delivery_id, "retry")
        return self.transport.send(post(path, DeliveryLogView.model_validate, key=key))


class Webhooks(Resource):
    """What webhooks are signed with."""

    def rotate_secret(self, *, key: str | None = None) -> WebhookSecretView:
        """A new secret; it is in this answer and nowhere else."""
        read = WebhookSecretView.model_validate
        return self.transport.send(post(at("webhook-secret"), read, key=key))
