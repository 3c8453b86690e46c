"""What the daemon suggested from counting, so that it does not suggest it again and again."""

import sqlalchemy as sa

from understudy.storage.columns import Ms
from understudy.storage.schema.metadata import metadata

suggestions = sa.Table(
    "suggestions",
    metadata,
    sa.Column("rule", sa.Text, primary_key=True),
    # What it is about: a skill, or an agent and the tools that it keeps using.
    sa.Column("subject", sa.Text, primary_key=True),
    # The candidate that was made of it last.
    sa.Column("candidate_id", sa.Text, nullable=False),
    sa.Column("at_ms", Ms, nullable=False),
)

# When any daemon on this database looked last; one row.
suggestion_looks = sa.Table(
    "suggestion_looks",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("at_ms", Ms, nullable=False),
)
