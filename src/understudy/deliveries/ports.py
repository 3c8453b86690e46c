"""What deliveries need from outside."""

from collections.abc import Sequence
from typing import Protocol

from understudy.deliveries.model import Claimed, Try
from understudy.runs.model import Delivery, DeliveryStatus
from understudy.runs.ports import DeliveryStore, RunUnit


class Outbox(DeliveryStore, Protocol):
    """The deliveries of all runs, and what was tried for each."""

    def find(self, run_id: str, delivery_id: str) -> Delivery | None:
        """One delivery of a run, held until the unit ends."""
        ...

    def next_due_ms(self) -> int | None:
        """When the next delivery is to be tried; None when none is pending."""
        ...

    def claim(self, *, now_ms: int, until_ms: int, limit: int) -> tuple[Claimed, ...]:
        """Take deliveries that are due; nobody else is given them before `until_ms`."""
        ...

    def settle(
        self, claimed: Claimed, tried: Try, status: DeliveryStatus, *, due_at_ms: int | None
    ) -> bool:
        """Write down a try and what follows; False when somebody else has the delivery by now."""
        ...

    def try_again(self, delivery_id: str, *, at_ms: int) -> None:
        """Make a dead delivery due, with as many tries as a new one."""
        ...

    def tries(self, delivery_ids: Sequence[str]) -> dict[str, tuple[Try, ...]]:
        """What was tried for some deliveries, oldest first."""
        ...


class SecretStore(Protocol):
    """The secret that webhooks are signed with, where the settings give none."""

    def get(self) -> str | None: ...

    def add(self, secret: str, *, at_ms: int) -> bool:
        """Keep the first secret; False when there is one already."""
        ...

    def replace(self, secret: str, *, at_ms: int) -> None:
        """Keep another secret from now on."""
        ...


class DeliveryUnit(RunUnit, Protocol):
    """One transaction over deliveries and the runs they tell of."""

    @property
    def deliveries(self) -> Outbox: ...

    @property
    def webhook_secret(self) -> SecretStore: ...
