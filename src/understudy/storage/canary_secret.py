"""The store of the secret by which canaries are drawn."""

from typing import Final

import sqlalchemy as sa

from understudy.storage.rows import insert_new
from understudy.storage.schema import canary_secret

ONLY: Final = "canary"


class CanarySecretStore:
    """Where the secret is kept; it never changes, so that a session keeps what it was offered."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def get(self) -> str | None:
        """The secret, if one was made."""
        return self._connection.execute(_GET).scalar()

    def add(self, secret: str, *, at_ms: int) -> bool:
        """Keep the first secret; False when there is one already."""
        values = {"name": ONLY, "secret": secret, "created_at_ms": at_ms}
        return insert_new(self._connection, canary_secret, values)


# Asked whenever a prompt is put together while there is a canary.
_GET: Final = sa.select(canary_secret.c.secret)
