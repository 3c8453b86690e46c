"""skills."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

SORTED = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    _make_skills()
    _make_versions()
    _make_grants()
    _make_bundles()
    _make_uses()


def _make_skills() -> None:
    op.create_table(
        "skills",
        sa.Column("skill_id", sa.Text(), nullable=False),
        sa.Column("slug", SORTED, nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("visibility", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("trash_name", sa.Text(), nullable=True),
        sa.Column("sort_name", SORTED, nullable=False),
        sa.Column("search", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "origin IN ('system', 'managed', 'promoted', 'local')", name=op.f("ck_skills_origin")
        ),
        sa.CheckConstraint(
            "status IN ('active', 'archived', 'deleted')", name=op.f("ck_skills_status")
        ),
        sa.CheckConstraint(
            "visibility IN ('private', 'internal', 'public')", name=op.f("ck_skills_visibility")
        ),
        sa.PrimaryKeyConstraint("skill_id", name=op.f("pk_skills")),
        sa.UniqueConstraint("slug", name=op.f("uq_skills_slug")),
    )
    with op.batch_alter_table("skills", schema=None) as batch_op:
        batch_op.create_index("ix_skills_name", ["sort_name", "slug"], unique=False)
        batch_op.create_index(batch_op.f("ix_skills_origin"), ["origin"], unique=False)
        batch_op.create_index(batch_op.f("ix_skills_owner_id"), ["owner_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_skills_visibility"), ["visibility"], unique=False)


def _make_versions() -> None:
    op.create_table(
        "skill_versions",
        sa.Column("skill_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("restored_from", sa.Integer(), nullable=True),
        sa.Column("trash_name", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["skill_id"], ["skills.skill_id"], name=op.f("fk_skill_versions_skill_id")
        ),
        sa.PrimaryKeyConstraint("skill_id", "number", name=op.f("pk_skill_versions")),
    )
    with op.batch_alter_table("skill_versions", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_skill_versions_trash_name"), ["trash_name"], unique=False
        )
    op.create_table(
        "skill_trash",
        sa.Column("trash_name", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("deleted_by", sa.Text(), nullable=False),
        sa.Column("deleted_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("trash_name", name=op.f("pk_skill_trash")),
    )
    with op.batch_alter_table("skill_trash", schema=None) as batch_op:
        batch_op.create_index(
            "ix_skill_trash_newest", ["deleted_at_ms", "trash_name"], unique=False
        )
        batch_op.create_index(
            "ix_skill_trash_owner", ["owner_id", "deleted_at_ms", "trash_name"], unique=False
        )


def _make_grants() -> None:
    op.create_table(
        "skill_agent_grants",
        sa.Column("skill_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("pinned_version", sa.Integer(), nullable=True),
        sa.Column("granted_by", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["skill_id"], ["skills.skill_id"], name=op.f("fk_skill_agent_grants_skill_id")
        ),
        sa.PrimaryKeyConstraint("skill_id", "agent_id", name=op.f("pk_skill_agent_grants")),
    )
    with op.batch_alter_table("skill_agent_grants", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_skill_agent_grants_agent_id"), ["agent_id"], unique=False
        )
    op.create_table(
        "skill_user_grants",
        sa.Column("skill_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("granted_by", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["skill_id"], ["skills.skill_id"], name=op.f("fk_skill_user_grants_skill_id")
        ),
        sa.PrimaryKeyConstraint("skill_id", "user_id", name=op.f("pk_skill_user_grants")),
    )
    with op.batch_alter_table("skill_user_grants", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_skill_user_grants_user_id"), ["user_id"], unique=False)


def _make_bundles() -> None:
    op.create_table(
        "skill_blobs",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_skill_blobs")),
    )
    op.create_table(
        "skill_bundles",
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("slug", "number", name=op.f("pk_skill_bundles")),
    )
    op.create_table(
        "skill_bundle_files",
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["sha256"], ["skill_blobs.sha256"], name=op.f("fk_skill_bundle_files_sha256")
        ),
        sa.ForeignKeyConstraint(
            ["slug", "number"],
            ["skill_bundles.slug", "skill_bundles.number"],
            name=op.f("fk_skill_bundle_files_slug_number"),
        ),
        sa.PrimaryKeyConstraint("slug", "number", "path", name=op.f("pk_skill_bundle_files")),
    )


def _make_uses() -> None:
    op.create_table(
        "skill_uses",
        sa.Column("use_id", sa.Text(), nullable=False),
        sa.Column("skill_id", sa.Text(), nullable=True),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["skill_id"], ["skills.skill_id"], name=op.f("fk_skill_uses_skill_id")
        ),
        sa.PrimaryKeyConstraint("use_id", name=op.f("pk_skill_uses")),
    )
    with op.batch_alter_table("skill_uses", schema=None) as batch_op:
        batch_op.create_index("ix_skill_uses_skill", ["skill_id", "version"], unique=False)
