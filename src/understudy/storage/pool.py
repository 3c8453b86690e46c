"""The connections to PostgreSQL that are kept open between units of work."""

from typing import Self, cast

import sqlalchemy as sa
from sqlalchemy.pool import ConnectionPoolEntry


class ClosingPool(sa.QueuePool):
    """A pool that after its end closes what comes back to it.

    A thread may be at work when the daemon stops. The connection that it gives back, or opens then,
    would be kept for a next user who never comes, and stay open until Python tidies up.
    """

    is_over = False

    def dispose(self) -> None:
        """Close what is here now, and from now on what comes back."""
        self.is_over = True
        super().dispose()

    def recreate(self) -> Self:
        """The pool that takes this one's place, and is no less over."""
        successor = cast("Self", super().recreate())
        successor.is_over = self.is_over
        return successor

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        if self.is_over:
            record.close()
            self._dec_overflow()
        else:
            super()._do_return_conn(record)
