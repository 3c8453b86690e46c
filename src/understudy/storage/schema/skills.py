"""Skills, their versions, grants, uses, and bundles where these are rows."""

import sqlalchemy as sa

from understudy.skills.model import SkillOrigin, SkillStatus, VersionState, Visibility
from understudy.storage.rows import Json, Ms, Sorted
from understudy.storage.schema.metadata import metadata, one_of, some_of

# Literal SQL: a database uses a partial index only if the query repeats its condition.
MADE_BY_RUNS = sa.text("agent_id IS NOT NULL")
OF_PROMOTED = sa.text("fingerprint IS NOT NULL")
# What people have to decide about, with the name of a table in front of each column.
OPEN_VERSION = "{0}state = 'draft' OR {0}for_owner_only OR {0}grant_to IS NOT NULL"

skills = sa.Table(
    "skills",
    metadata,
    sa.Column("skill_id", sa.Text, primary_key=True),
    # A deleted skill keeps its slug, so that its successor continues the version numbers.
    sa.Column("slug", Sorted, nullable=False, unique=True),
    sa.Column("origin", sa.Text, nullable=False, index=True),
    sa.Column("owner_id", sa.Text, nullable=False, index=True),
    sa.Column("visibility", sa.Text, nullable=False, index=True),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("enabled", sa.Boolean, nullable=False),
    # The current version.
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("trash_name", sa.Text),
    sa.Column("is_draft", sa.Boolean, nullable=False, server_default=sa.false()),
    # The name as a sort key, and the folded text that queries search.
    sa.Column("sort_name", Sorted, nullable=False),
    sa.Column("search", sa.Text, nullable=False),
    # The texts, as JSON: PostgreSQL text takes neither NUL nor lone surrogates.
    sa.Column("body", Json, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    one_of("origin", SkillOrigin),
    one_of("visibility", Visibility),
    one_of("status", SkillStatus),
    sa.Index("ix_skills_name", "sort_name", "slug"),
    sa.Index("ix_skills_status", "status", "sort_name", "slug"),
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
    sa.Column("state", sa.Text, nullable=False, server_default=str(VersionState.SERVED)),
    sa.Column("derived_from_untrusted", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("untrusted_path", Json, nullable=False, server_default="[]"),
    sa.Column("decided_by", sa.Text),
    sa.Column("decided_at_ms", Ms),
    # The agent whose run made it, if one did.
    sa.Column("agent_id", sa.Text),
    # Position in the digest chain; null until the row is sealed, and in rows from before the chain.
    sa.Column("place", sa.BigInteger, index=True),
    sa.Column("content_digest", sa.Text),
    sa.Column("link", sa.Text),
    # Who signed the bundle that was uploaded.
    sa.Column("signature", Json),
    # When its bundle was erased; the row stays, with its digest.
    sa.Column("erased_at_ms", Ms),
    sa.Column("for_owner_only", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("grant_to", sa.Text),
    one_of("state", VersionState),
    # With all that a count of them reads.
    some_of(
        "ix_skill_versions_open",
        *("skill_id", "number", "state", "for_owner_only", "grant_to", "trash_name", "run_id"),
        where=sa.text(OPEN_VERSION.format("")),
    ),
    sa.Index(
        "ix_skill_versions_made_by",
        "agent_id",
        "created_at_ms",
        "number",
        "skill_id",
        sqlite_where=MADE_BY_RUNS,
        postgresql_where=MADE_BY_RUNS,
    ),
)

skill_trash = sa.Table(
    "skill_trash",
    metadata,
    sa.Column("trash_name", sa.Text, primary_key=True),
    sa.Column("owner_id", sa.Text, nullable=False),
    sa.Column("deleted_by", sa.Text, nullable=False),
    sa.Column("deleted_at_ms", Ms, nullable=False),
    # The skill at the time of its deletion.
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

# Skill roots on the daemon's machine that operators added.
skill_roots = sa.Table(
    "skill_roots",
    metadata,
    sa.Column("root_id", sa.Text, primary_key=True),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("owner_id", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.UniqueConstraint("owner_id", "path"),
)

skill_user_grants = sa.Table(
    "skill_user_grants",
    metadata,
    sa.Column("skill_id", sa.Text, sa.ForeignKey("skills.skill_id"), primary_key=True),
    sa.Column("user_id", sa.Text, primary_key=True, index=True),
    sa.Column("granted_by", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
)

# A use of a local skill has no skill id; uses are never changed.
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
    # The definition of a promoted skill, which has no row and no versions here.
    sa.Column("fingerprint", sa.Text),
    sa.Column("version_label", sa.Text),
    # The tools that the run is limited to since this use.
    sa.Column("allowed_tools", Json, nullable=False, server_default="[]"),
    sa.Column("blocked_tools", Json, nullable=False, server_default="[]"),
    sa.Index("ix_skill_uses_skill", "skill_id", "version"),
    sa.Index("ix_skill_uses_run", "run_id"),
    sa.Index("ix_skill_uses_newest", "at_ms"),
    sa.Index(
        "ix_skill_uses_promoted",
        "at_ms",
        "run_id",
        sqlite_where=OF_PROMOTED,
        postgresql_where=OF_PROMOTED,
    ),
)

# Which runs had which skill listed: by its id, or by `local:` or `promoted:` and its slug with
# version 0. Listings of ended runs are summed up by day, so this table stays small.
skill_listings = sa.Table(
    "skill_listings",
    metadata,
    sa.Column("ref", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("at_ms", Ms, nullable=False),
)

# How many runs had a skill listed on a day, counted from 1970; day 0 holds all earlier ones.
skill_listing_days = sa.Table(
    "skill_listing_days",
    metadata,
    sa.Column("ref", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("day", sa.Integer, primary_key=True),
    sa.Column("runs", sa.BigInteger, nullable=False),
    sa.Index("ix_skill_listing_days_day", "day"),
)

# Bundles, where several daemons share a database; each file is stored once.
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
