"""Skills: what they are, their versions, who may use them, and bundles where these are rows."""

import sqlalchemy as sa

from understudy.skills.model import SkillOrigin, SkillStatus, Visibility
from understudy.storage.columns import Json, Ms, Sorted
from understudy.storage.schema.metadata import metadata, one_of

skills = sa.Table(
    "skills",
    metadata,
    sa.Column("skill_id", sa.Text, primary_key=True),
    # A deleted skill keeps its slug, so that whoever takes it goes on with its numbers.
    sa.Column("slug", Sorted, nullable=False, unique=True),
    sa.Column("origin", sa.Text, nullable=False, index=True),
    sa.Column("owner_id", sa.Text, nullable=False, index=True),
    sa.Column("visibility", sa.Text, nullable=False, index=True),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("enabled", sa.Boolean, nullable=False),
    # The version that is current.
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("trash_name", sa.Text),
    # The name as lists are sorted by it, and everything that a query is looked for in.
    sa.Column("sort_name", Sorted, nullable=False),
    sa.Column("search", sa.Text, nullable=False),
    # Its words, as JSON: PostgreSQL keeps neither NUL nor half a character in a text.
    sa.Column("body", Json, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    one_of("origin", SkillOrigin),
    one_of("visibility", Visibility),
    one_of("status", SkillStatus),
    sa.Index("ix_skills_name", "sort_name", "slug"),
)

skill_versions = sa.Table(
    "skill_versions",
    metadata,
    sa.Column("skill_id", sa.Text, sa.ForeignKey("skills.skill_id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("restored_from", sa.Integer),
    sa.Column("trash_name", sa.Text, index=True),
)

skill_trash = sa.Table(
    "skill_trash",
    metadata,
    sa.Column("trash_name", sa.Text, primary_key=True),
    sa.Column("owner_id", sa.Text, nullable=False),
    sa.Column("deleted_by", sa.Text, nullable=False),
    sa.Column("deleted_at_ms", Ms, nullable=False),
    # The skill as it stood.
    sa.Column("body", Json, nullable=False),
    sa.Index("ix_skill_trash_newest", "deleted_at_ms", "trash_name"),
    sa.Index("ix_skill_trash_owner", "owner_id", "deleted_at_ms", "trash_name"),
)

skill_agent_grants = sa.Table(
    "skill_agent_grants",
    metadata,
    sa.Column("skill_id", sa.Text, sa.ForeignKey("skills.skill_id"), primary_key=True),
    sa.Column("agent_id", sa.Text, primary_key=True, index=True),
    sa.Column("pinned_version", sa.Integer),
    sa.Column("granted_by", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
)

skill_user_grants = sa.Table(
    "skill_user_grants",
    metadata,
    sa.Column("skill_id", sa.Text, sa.ForeignKey("skills.skill_id"), primary_key=True),
    sa.Column("user_id", sa.Text, primary_key=True, index=True),
    sa.Column("granted_by", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
)

# A use of what only lies in a folder has no skill; nothing of a use is ever changed.
skill_uses = sa.Table(
    "skill_uses",
    metadata,
    sa.Column("use_id", sa.Text, primary_key=True),
    sa.Column("skill_id", sa.Text, sa.ForeignKey("skills.skill_id")),
    sa.Column("slug", sa.Text, nullable=False),
    sa.Column("version", sa.Integer),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("agent_id", sa.Text, nullable=False),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("at_ms", Ms, nullable=False),
    sa.Index("ix_skill_uses_skill", "skill_id", "version"),
)

# Bundles, where several daemons share a database; each file once, however many versions have it.
skill_blobs = sa.Table(
    "skill_blobs",
    metadata,
    sa.Column("sha256", sa.Text, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)

skill_bundles = sa.Table(
    "skill_bundles",
    metadata,
    sa.Column("slug", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
)

skill_bundle_files = sa.Table(
    "skill_bundle_files",
    metadata,
    sa.Column("slug", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("path", sa.Text, primary_key=True),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("sha256", sa.Text, sa.ForeignKey("skill_blobs.sha256"), nullable=False),
    sa.ForeignKeyConstraint(["slug", "number"], ["skill_bundles.slug", "skill_bundles.number"]),
)
