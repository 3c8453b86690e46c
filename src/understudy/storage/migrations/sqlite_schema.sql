-- Written by scripts/reference.
CREATE TABLE understudy_schema (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT understudy_schema_pkc PRIMARY KEY (version_num)
);
CREATE TABLE agents (
    agent_id TEXT NOT NULL,
    display_name TEXT NOT NULL,
    agent_type TEXT NOT NULL,
    route TEXT,
    max_tool_iterations INTEGER NOT NULL,
    other_config TEXT NOT NULL,
    permissions TEXT NOT NULL,
    owner_id TEXT,
    version INTEGER NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_agents PRIMARY KEY (agent_id),
    CONSTRAINT ck_agents_agent_type CHECK (agent_type IN ('predefined', 'open'))
);
CREATE TABLE asset_blobs (
    sha256 TEXT NOT NULL,
    content BLOB NOT NULL,
    CONSTRAINT pk_asset_blobs PRIMARY KEY (sha256)
);
CREATE TABLE assets (
    asset_id TEXT NOT NULL,
    file_name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_assets PRIMARY KEY (asset_id),
    CONSTRAINT uq_assets_media_type_sha256 UNIQUE (media_type, sha256)
);
CREATE INDEX ix_assets_newest ON assets (created_at_ms, asset_id);
CREATE INDEX ix_assets_sha256 ON assets (sha256);
CREATE TABLE audit (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at_ms BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    resource TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    version INTEGER,
    reason TEXT,
    request_id TEXT NOT NULL, place BIGINT, content_digest TEXT, link TEXT, erased_at_ms BIGINT,
    CONSTRAINT ck_audit_outcome CHECK (outcome IN ('done', 'refused'))
);
CREATE INDEX ix_audit_actor ON audit (actor);
CREATE INDEX ix_audit_resource ON audit (resource);
CREATE TABLE canary_secret (
    name TEXT NOT NULL,
    secret TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_canary_secret PRIMARY KEY (name)
);
CREATE TABLE capture_jobs (
    job_id TEXT NOT NULL,
    due_at_ms BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    claim TEXT,
    again_at_ms BIGINT,
    needs_model BOOLEAN DEFAULT 0 NOT NULL,
    error TEXT,
    CONSTRAINT pk_capture_jobs PRIMARY KEY (job_id)
);
CREATE INDEX ix_capture_jobs_due ON capture_jobs (needs_model, due_at_ms, job_id);
CREATE TABLE learning_candidates (
    candidate_id TEXT NOT NULL,
    origin TEXT NOT NULL,
    scope_key TEXT NOT NULL,
    kind TEXT NOT NULL,
    sensitivity TEXT NOT NULL,
    state TEXT NOT NULL,
    is_open BOOLEAN NOT NULL,
    capture_path TEXT NOT NULL,
    source_run_id TEXT,
    key_digest TEXT NOT NULL,
    rule_name TEXT,
    rule_folded TEXT,
    is_automatic BOOLEAN NOT NULL,
    is_expired BOOLEAN NOT NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT,
    decided_at_ms BIGINT,
    search TEXT NOT NULL,
    body TEXT NOT NULL,
    version INTEGER NOT NULL, applies TEXT NOT NULL DEFAULT 'when_relevant' CONSTRAINT ck_learning_candidates_applies CHECK (applies IN ('when_relevant', 'always')), snoozed_until_ms BIGINT, review_rank INTEGER DEFAULT '0' NOT NULL, key_rules INTEGER DEFAULT '0' NOT NULL,
    CONSTRAINT pk_learning_candidates PRIMARY KEY (candidate_id),
    CONSTRAINT ck_learning_candidates_origin CHECK (origin IN ('api', 'daemon')),
    CONSTRAINT ck_learning_candidates_kind
        CHECK (kind IN ('run_summary', 'fact', 'preference', 'decision', 'procedure')),
    CONSTRAINT ck_learning_candidates_sensitivity CHECK (sensitivity IN ('scoped', 'sensitive')),
    CONSTRAINT ck_learning_candidates_state
        CHECK (state IN ('pending', 'escalated', 'published', 'rejected')),
    CONSTRAINT ck_learning_candidates_capture_path
        CHECK (capture_path IN ('api', 'run_summary', 'labels', 'model', 'usage', 'rollout'))
);
CREATE INDEX ix_learning_candidates_tally
    ON learning_candidates (capture_path, rule_name, state, is_automatic, is_expired);
CREATE UNIQUE INDEX uq_learning_candidates_proposal
    ON learning_candidates (source_run_id, scope_key, kind, key_digest)
    WHERE origin = 'daemon';
CREATE UNIQUE INDEX uq_learning_candidates_summary ON learning_candidates (source_run_id)
    WHERE kind = 'run_summary';
CREATE INDEX ix_learning_candidates_decided ON learning_candidates (decided_at_ms, candidate_id)
    WHERE decided_at_ms IS NOT NULL;
CREATE INDEX ix_learning_candidates_expiring ON learning_candidates (expires_at_ms, candidate_id)
    WHERE is_open AND expires_at_ms IS NOT NULL;
CREATE INDEX ix_learning_candidates_state ON learning_candidates (state, candidate_id);
CREATE INDEX ix_learning_candidates_open ON learning_candidates (candidate_id) WHERE is_open;
CREATE INDEX ix_learning_candidates_key ON learning_candidates (key_digest, scope_key, kind, state);
CREATE INDEX ix_learning_candidates_scope ON learning_candidates (scope_key, candidate_id);
CREATE TABLE learning_reviews (
    candidate_id TEXT NOT NULL,
    policy_digest TEXT NOT NULL,
    reviewed_at_ms BIGINT NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_learning_reviews PRIMARY KEY (candidate_id, policy_digest)
);
CREATE TABLE learning_uses (
    learning_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    learning_version INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    CONSTRAINT pk_learning_uses PRIMARY KEY (learning_id, run_id, learning_version)
);
CREATE INDEX ix_learning_uses_newest
    ON learning_uses (learning_id, at_ms, run_id, learning_version);
CREATE TABLE learnings (
    learning_id TEXT NOT NULL,
    scope_key TEXT NOT NULL,
    kind TEXT NOT NULL,
    sensitivity TEXT NOT NULL,
    status TEXT NOT NULL,
    is_live BOOLEAN NOT NULL,
    is_active BOOLEAN NOT NULL,
    is_taken_back BOOLEAN NOT NULL,
    publish_tier TEXT NOT NULL,
    verification_status TEXT NOT NULL,
    policy_decision TEXT,
    actor_folded TEXT,
    key_digest TEXT NOT NULL,
    subject_digest TEXT,
    source_candidate_id TEXT,
    supersedes TEXT,
    created_at_ms BIGINT NOT NULL,
    published_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT,
    search TEXT NOT NULL,
    body TEXT NOT NULL,
    version INTEGER NOT NULL, applies TEXT NOT NULL DEFAULT 'when_relevant' CONSTRAINT ck_learnings_applies CHECK (applies IN ('when_relevant', 'always')), key_rules INTEGER DEFAULT '0' NOT NULL,
    CONSTRAINT pk_learnings PRIMARY KEY (learning_id),
    CONSTRAINT ck_learnings_kind
        CHECK (kind IN ('run_summary', 'fact', 'preference', 'decision', 'procedure')),
    CONSTRAINT ck_learnings_sensitivity CHECK (sensitivity IN ('scoped', 'sensitive')),
    CONSTRAINT ck_learnings_status
        CHECK (status IN ('provisional', 'active', 'superseded', 'revoked')),
    CONSTRAINT ck_learnings_publish_tier CHECK (publish_tier IN ('provisional', 'active')),
    CONSTRAINT ck_learnings_verification_status
        CHECK (verification_status IN ('unverified', 'pending', 'verified', 'failed')),
    CONSTRAINT ck_learnings_policy_decision
        CHECK (policy_decision IN ('manual', 'automatic', 'escalated')),
    CONSTRAINT uq_learnings_source_candidate_id UNIQUE (source_candidate_id)
);
CREATE INDEX ix_learnings_contradicting
    ON learnings (subject_digest, kind, published_at_ms, learning_id)
    WHERE is_active AND subject_digest IS NOT NULL;
CREATE INDEX ix_learnings_key ON learnings (key_digest, scope_key, kind) WHERE is_live;
CREATE INDEX ix_learnings_newest ON learnings (scope_key, published_at_ms, learning_id)
    WHERE is_live;
CREATE INDEX ix_learnings_replacing ON learnings (supersedes) WHERE supersedes IS NOT NULL;
CREATE INDEX ix_learnings_scope ON learnings (scope_key, learning_id);
CREATE INDEX ix_learnings_status ON learnings (status, learning_id);
CREATE INDEX ix_learnings_taken_back ON learnings (key_digest, scope_key, kind) WHERE is_taken_back;
CREATE INDEX ix_learnings_subject ON learnings (subject_digest, scope_key, kind)
    WHERE is_live AND subject_digest IS NOT NULL;
CREATE TABLE personas (
    persona_id TEXT NOT NULL,
    display_name TEXT NOT NULL,
    body TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_personas PRIMARY KEY (persona_id)
);
CREATE TABLE projects (
    project_id TEXT NOT NULL,
    body TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL, status TEXT DEFAULT 'active' NOT NULL, search TEXT,
    CONSTRAINT pk_projects PRIMARY KEY (project_id)
);
CREATE TABLE receipts (
    key_hash TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_receipts PRIMARY KEY (key_hash)
);
CREATE TABLE responses (
    key_hash TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    status INTEGER,
    body TEXT,
    created_at_ms BIGINT NOT NULL, holder TEXT,
    CONSTRAINT pk_responses PRIMARY KEY (key_hash)
);
CREATE INDEX ix_responses_created_at_ms ON responses (created_at_ms);
CREATE TABLE review_jobs (
    job_id TEXT NOT NULL,
    due_at_ms BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    claim TEXT,
    again_at_ms BIGINT,
    needs_model BOOLEAN DEFAULT 0 NOT NULL,
    error TEXT,
    CONSTRAINT pk_review_jobs PRIMARY KEY (job_id)
);
CREATE INDEX ix_review_jobs_due ON review_jobs (needs_model, due_at_ms, job_id);
CREATE TABLE rollouts (
    skill_name TEXT NOT NULL,
    folded_name TEXT NOT NULL,
    source_learning_id TEXT NOT NULL,
    source_scope_key TEXT NOT NULL,
    status TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    digest TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    promoted_at_ms BIGINT NOT NULL,
    promoted_by TEXT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    is_flagged BOOLEAN NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_rollouts PRIMARY KEY (skill_name),
    CONSTRAINT ck_rollouts_status
        CHECK (status IN ('draft', 'verified', 'canary', 'active', 'revoked'))
);
CREATE UNIQUE INDEX uq_rollouts_live ON rollouts (source_learning_id) WHERE status <> 'revoked';
CREATE UNIQUE INDEX uq_rollouts_live_name ON rollouts (folded_name) WHERE status <> 'revoked';
CREATE INDEX ix_rollouts_source ON rollouts (source_learning_id, skill_name);
CREATE INDEX ix_rollouts_status ON rollouts (status, skill_name);
CREATE INDEX ix_rollouts_flagged ON rollouts (updated_at_ms, skill_name) WHERE is_flagged;
CREATE TABLE run_memory_bodies (
    run_id TEXT NOT NULL,
    body TEXT NOT NULL,
    stamp TEXT NOT NULL,
    CONSTRAINT pk_run_memory_bodies PRIMARY KEY (run_id)
);
CREATE TABLE runtime_revisions (
    revision INTEGER NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    actor TEXT NOT NULL,
    setting TEXT NOT NULL,
    document TEXT NOT NULL,
    rollback_of_revision INTEGER,
    CONSTRAINT pk_runtime_revisions PRIMARY KEY (revision)
);
CREATE TABLE signals (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    due_at_ms BIGINT,
    CONSTRAINT ck_signals_kind CHECK (kind IN ('look', 'stop'))
);
CREATE TABLE skill_blobs (
    sha256 TEXT NOT NULL,
    content BLOB NOT NULL,
    CONSTRAINT pk_skill_blobs PRIMARY KEY (sha256)
);
CREATE TABLE skill_bundles (
    slug TEXT NOT NULL,
    number INTEGER NOT NULL,
    digest TEXT NOT NULL,
    CONSTRAINT pk_skill_bundles PRIMARY KEY (slug, number)
);
CREATE TABLE skill_listing_days (
    ref TEXT NOT NULL,
    version INTEGER NOT NULL,
    day INTEGER NOT NULL,
    runs BIGINT NOT NULL,
    CONSTRAINT pk_skill_listing_days PRIMARY KEY (ref, version, day)
);
CREATE INDEX ix_skill_listing_days_day ON skill_listing_days (day);
CREATE TABLE skill_listings (
    ref TEXT NOT NULL,
    version INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    CONSTRAINT pk_skill_listings PRIMARY KEY (ref, version, run_id)
);
CREATE TABLE skill_trash (
    trash_name TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    deleted_by TEXT NOT NULL,
    deleted_at_ms BIGINT NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_skill_trash PRIMARY KEY (trash_name)
);
CREATE INDEX ix_skill_trash_newest ON skill_trash (deleted_at_ms, trash_name);
CREATE INDEX ix_skill_trash_owner ON skill_trash (owner_id, deleted_at_ms, trash_name);
CREATE TABLE skills (
    skill_id TEXT NOT NULL,
    slug TEXT NOT NULL,
    origin TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    visibility TEXT NOT NULL,
    status TEXT NOT NULL,
    enabled BOOLEAN NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    size INTEGER NOT NULL,
    trash_name TEXT,
    sort_name TEXT NOT NULL,
    search TEXT NOT NULL,
    body TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL, is_draft BOOLEAN DEFAULT 0 NOT NULL,
    CONSTRAINT pk_skills PRIMARY KEY (skill_id),
    CONSTRAINT ck_skills_origin CHECK (origin IN ('system', 'managed', 'promoted', 'local')),
    CONSTRAINT ck_skills_visibility CHECK (visibility IN ('private', 'internal', 'public')),
    CONSTRAINT ck_skills_status CHECK (status IN ('active', 'archived', 'deleted')),
    CONSTRAINT uq_skills_slug UNIQUE (slug)
);
CREATE INDEX ix_skills_name ON skills (sort_name, slug);
CREATE INDEX ix_skills_origin ON skills (origin);
CREATE INDEX ix_skills_owner_id ON skills (owner_id);
CREATE INDEX ix_skills_visibility ON skills (visibility);
CREATE TABLE suggestion_looks (
    name TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    CONSTRAINT pk_suggestion_looks PRIMARY KEY (name)
);
CREATE TABLE suggestions (
    rule TEXT NOT NULL,
    subject TEXT NOT NULL,
    candidate_id TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    CONSTRAINT pk_suggestions PRIMARY KEY (rule, subject)
);
CREATE TABLE term_entries (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    source_id TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    length INTEGER NOT NULL,
    scopes TEXT NOT NULL,
    tokens BLOB NOT NULL,
    CONSTRAINT uq_term_entries_kind_source_id UNIQUE (kind, source_id)
);
CREATE INDEX ix_term_entries_length ON term_entries (kind, length);
CREATE TABLE tokens (
    token_id TEXT NOT NULL,
    token_hash TEXT NOT NULL,
    user_id TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    locale TEXT,
    CONSTRAINT pk_tokens PRIMARY KEY (token_id),
    CONSTRAINT ck_tokens_role CHECK (role IN ('viewer', 'operator', 'admin')),
    CONSTRAINT uq_tokens_token_hash UNIQUE (token_hash)
);
CREATE TABLE tool_switches (
    name TEXT NOT NULL,
    enabled BOOLEAN NOT NULL,
    CONSTRAINT pk_tool_switches PRIMARY KEY (name)
);
CREATE TABLE webhook_secret (
    name TEXT NOT NULL,
    secret TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_webhook_secret PRIMARY KEY (name)
);
CREATE TABLE agent_files (
    agent_id TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    content TEXT NOT NULL,
    actor TEXT NOT NULL,
    run_id TEXT,
    created_at_ms BIGINT NOT NULL, reviewed_by TEXT, untrusted_sources TEXT DEFAULT '[]' NOT NULL, reason TEXT,
    CONSTRAINT pk_agent_files PRIMARY KEY (agent_id, name, version),
    CONSTRAINT fk_agent_files_agent_id FOREIGN KEY(agent_id) REFERENCES agents (agent_id) ON DELETE CASCADE
);
CREATE INDEX ix_agent_files_written ON agent_files (agent_id, name, created_at_ms, version);
CREATE TABLE file_proposals (
    proposal_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    content TEXT NOT NULL,
    base_version INTEGER NOT NULL,
    actor TEXT NOT NULL,
    run_id TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    decided_by TEXT,
    decided_at_ms BIGINT,
    reason TEXT,
    file_version INTEGER, untrusted_sources TEXT DEFAULT '[]' NOT NULL, user_id TEXT,
    CONSTRAINT pk_file_proposals PRIMARY KEY (proposal_id),
    CONSTRAINT ck_file_proposals_state
        CHECK (state IN ('pending', 'approved', 'rejected', 'superseded')),
    CONSTRAINT fk_file_proposals_agent_id FOREIGN KEY(agent_id) REFERENCES agents (agent_id) ON DELETE CASCADE
);
CREATE INDEX ix_file_proposals_agent ON file_proposals (agent_id, proposal_id);
CREATE INDEX ix_file_proposals_waiting ON file_proposals (agent_id, state, name);
CREATE INDEX ix_file_proposals_file ON file_proposals (agent_id, name, created_at_ms, proposal_id);
CREATE TABLE project_sessions (
    project_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    CONSTRAINT pk_project_sessions PRIMARY KEY (project_id, session_id),
    CONSTRAINT fk_project_sessions_project_id FOREIGN KEY(project_id) REFERENCES projects (project_id) ON DELETE CASCADE
);
CREATE INDEX ix_project_sessions_session_id ON project_sessions (session_id);
CREATE TABLE rollout_definitions (
    skill_name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_rollout_definitions PRIMARY KEY (skill_name, fingerprint),
    CONSTRAINT fk_rollout_definitions_skill_name FOREIGN KEY(skill_name) REFERENCES rollouts (skill_name)
);
CREATE TABLE rollout_events (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    skill_name TEXT NOT NULL,
    event TEXT NOT NULL,
    recorded_at_ms BIGINT NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT ck_rollout_events_event
        CHECK (event IN ('promote', 'rollout_result', 'revoke', 'rollback', 'hold', 'release', 'demote')),
    CONSTRAINT fk_rollout_events_skill_name FOREIGN KEY(skill_name) REFERENCES rollouts (skill_name)
);
CREATE INDEX ix_rollout_events_skill ON rollout_events (skill_name, number);
CREATE INDEX ix_rollout_events_watched ON rollout_events (skill_name, number)
    WHERE event IN ('promote', 'rollback', 'release');
CREATE TABLE rollout_evidence (
    evidence_id TEXT NOT NULL,
    skill_name TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    kind TEXT NOT NULL,
    proof TEXT NOT NULL,
    run_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    root_session_id TEXT NOT NULL,
    success BOOLEAN NOT NULL,
    note TEXT NOT NULL,
    actor TEXT NOT NULL,
    recorded_at_ms BIGINT NOT NULL,
    trial_id TEXT,
    workspace_digest TEXT,
    CONSTRAINT pk_rollout_evidence PRIMARY KEY (evidence_id),
    CONSTRAINT ck_rollout_evidence_kind CHECK (kind IN ('verification', 'canary')),
    CONSTRAINT ck_rollout_evidence_proof CHECK (proof IN ('attested', 'executed')),
    CONSTRAINT uq_rollout_evidence_skill_name_attempt_run_id UNIQUE (skill_name, attempt, run_id),
    CONSTRAINT fk_rollout_evidence_skill_name FOREIGN KEY(skill_name) REFERENCES rollouts (skill_name)
);
CREATE INDEX ix_rollout_evidence_counted
    ON rollout_evidence (skill_name, attempt, fingerprint, kind, proof, success, root_session_id);
CREATE INDEX ix_rollout_evidence_newest
    ON rollout_evidence (skill_name, attempt, kind, recorded_at_ms, evidence_id);
CREATE TABLE rollout_outcomes (
    skill_name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    run_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    root_session_id TEXT NOT NULL,
    stage TEXT NOT NULL,
    outcome TEXT NOT NULL,
    used_at_ms BIGINT NOT NULL,
    ended_at_ms BIGINT NOT NULL,
    carrying_run_id TEXT,
    CONSTRAINT pk_rollout_outcomes PRIMARY KEY (skill_name, fingerprint, run_id),
    CONSTRAINT ck_rollout_outcomes_stage
        CHECK (stage IN ('draft', 'verified', 'canary', 'active', 'revoked')),
    CONSTRAINT ck_rollout_outcomes_outcome CHECK (outcome IN ('succeeded', 'failed', 'abandoned')),
    CONSTRAINT fk_rollout_outcomes_skill_name FOREIGN KEY(skill_name) REFERENCES rollouts (skill_name)
);
CREATE INDEX ix_rollout_outcomes_used
    ON rollout_outcomes (skill_name, fingerprint, stage, used_at_ms, run_id);
CREATE TABLE rollout_trials (
    trial_id TEXT NOT NULL,
    skill_name TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    marker TEXT NOT NULL,
    run_id TEXT,
    session_id TEXT,
    cases TEXT NOT NULL,
    report TEXT,
    reason TEXT,
    actor TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    ended_at_ms BIGINT,
    workspace_digest TEXT,
    CONSTRAINT pk_rollout_trials PRIMARY KEY (trial_id),
    CONSTRAINT ck_rollout_trials_kind CHECK (kind IN ('verification', 'canary')),
    CONSTRAINT ck_rollout_trials_state CHECK (state IN ('pending', 'passed', 'failed')),
    CONSTRAINT fk_rollout_trials_skill_name FOREIGN KEY(skill_name) REFERENCES rollouts (skill_name)
);
CREATE INDEX ix_rollout_trials_skill ON rollout_trials (skill_name, trial_id);
CREATE INDEX ix_rollout_trials_pending ON rollout_trials (trial_id) WHERE state = 'pending';
CREATE INDEX ix_rollout_trials_under_way ON rollout_trials (skill_name, trial_id)
    WHERE state = 'pending';
CREATE UNIQUE INDEX uq_rollout_trials_run ON rollout_trials (run_id);
CREATE TABLE sessions (
    session_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    thread_id TEXT,
    parent_session_id TEXT,
    status TEXT NOT NULL,
    ended_reason TEXT,
    persona_id TEXT,
    persona TEXT,
    capability_scope TEXT,
    credential_scope TEXT,
    permissions TEXT,
    route_policy TEXT,
    reply_targets TEXT NOT NULL,
    workdir TEXT,
    trial_id TEXT,
    journal_length INTEGER NOT NULL,
    version INTEGER NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL, active_skills TEXT DEFAULT '[]' NOT NULL,
    CONSTRAINT pk_sessions PRIMARY KEY (session_id),
    CONSTRAINT ck_sessions_status CHECK (status IN ('active', 'ended')),
    CONSTRAINT fk_sessions_agent_id FOREIGN KEY(agent_id) REFERENCES agents (agent_id),
    CONSTRAINT fk_sessions_parent_session_id FOREIGN KEY(parent_session_id) REFERENCES sessions (session_id)
);
CREATE INDEX ix_sessions_agent_id ON sessions (agent_id);
CREATE INDEX ix_sessions_newest ON sessions (created_at_ms, session_id);
CREATE INDEX ix_sessions_parent_session_id ON sessions (parent_session_id);
CREATE INDEX ix_sessions_persona_id ON sessions (persona_id);
CREATE TABLE skill_agent_grants (
    skill_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    pinned_version INTEGER,
    granted_by TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_skill_agent_grants PRIMARY KEY (skill_id, agent_id),
    CONSTRAINT fk_skill_agent_grants_skill_id FOREIGN KEY(skill_id) REFERENCES skills (skill_id)
);
CREATE INDEX ix_skill_agent_grants_agent_id ON skill_agent_grants (agent_id);
CREATE TABLE skill_bundle_files (
    slug TEXT NOT NULL,
    number INTEGER NOT NULL,
    path TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    CONSTRAINT pk_skill_bundle_files PRIMARY KEY (slug, number, path),
    CONSTRAINT fk_skill_bundle_files_slug_number FOREIGN KEY(slug, number) REFERENCES skill_bundles (slug, number),
    CONSTRAINT fk_skill_bundle_files_sha256 FOREIGN KEY(sha256) REFERENCES skill_blobs (sha256)
);
CREATE TABLE skill_user_grants (
    skill_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    granted_by TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_skill_user_grants PRIMARY KEY (skill_id, user_id),
    CONSTRAINT fk_skill_user_grants_skill_id FOREIGN KEY(skill_id) REFERENCES skills (skill_id)
);
CREATE INDEX ix_skill_user_grants_user_id ON skill_user_grants (user_id);
CREATE TABLE skill_uses (
    use_id TEXT NOT NULL,
    skill_id TEXT,
    slug TEXT NOT NULL,
    version INTEGER,
    digest TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    fingerprint TEXT,
    version_label TEXT, allowed_tools TEXT DEFAULT '[]' NOT NULL, blocked_tools TEXT DEFAULT '[]' NOT NULL,
    CONSTRAINT pk_skill_uses PRIMARY KEY (use_id),
    CONSTRAINT fk_skill_uses_skill_id FOREIGN KEY(skill_id) REFERENCES skills (skill_id)
);
CREATE INDEX ix_skill_uses_skill ON skill_uses (skill_id, version);
CREATE INDEX ix_skill_uses_run ON skill_uses (run_id);
CREATE INDEX ix_skill_uses_newest ON skill_uses (at_ms);
CREATE INDEX ix_skill_uses_promoted ON skill_uses (at_ms, run_id) WHERE fingerprint IS NOT NULL;
CREATE TABLE skill_versions (
    skill_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    digest TEXT NOT NULL,
    size INTEGER NOT NULL,
    actor TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    run_id TEXT,
    restored_from INTEGER,
    trash_name TEXT,
    agent_id TEXT, place BIGINT, content_digest TEXT, link TEXT, state TEXT NOT NULL DEFAULT 'served' CONSTRAINT ck_skill_versions_state CHECK (state IN ('served', 'draft', 'rejected')), derived_from_untrusted BOOLEAN DEFAULT 0 NOT NULL, untrusted_path TEXT DEFAULT '[]' NOT NULL, decided_by TEXT, decided_at_ms BIGINT, erased_at_ms BIGINT, signature TEXT, for_owner_only BOOLEAN DEFAULT 0 NOT NULL, grant_to TEXT,
    CONSTRAINT pk_skill_versions PRIMARY KEY (skill_id, number),
    CONSTRAINT fk_skill_versions_skill_id FOREIGN KEY(skill_id) REFERENCES skills (skill_id)
);
CREATE INDEX ix_skill_versions_trash_name ON skill_versions (trash_name);
CREATE INDEX ix_skill_versions_made_by ON skill_versions (agent_id, created_at_ms, number, skill_id)
    WHERE agent_id IS NOT NULL;
CREATE TABLE user_context_files (
    agent_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    content TEXT NOT NULL,
    actor TEXT NOT NULL,
    run_id TEXT,
    created_at_ms BIGINT NOT NULL, reviewed_by TEXT, untrusted_sources TEXT DEFAULT '[]' NOT NULL, reason TEXT,
    CONSTRAINT pk_user_context_files PRIMARY KEY (agent_id, user_id, name, version),
    CONSTRAINT fk_user_context_files_agent_id FOREIGN KEY(agent_id) REFERENCES agents (agent_id) ON DELETE CASCADE
);
CREATE TABLE journal (
    sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    "offset" INTEGER NOT NULL,
    kind TEXT NOT NULL,
    run_id TEXT,
    "key" TEXT,
    at_ms BIGINT NOT NULL,
    data TEXT NOT NULL,
    agent_id TEXT, withdrawn_by TEXT,
    CONSTRAINT uq_journal_session_id_offset UNIQUE (session_id, "offset"),
    CONSTRAINT uq_journal_session_id_key UNIQUE (session_id, "key"),
    CONSTRAINT fk_journal_session_id FOREIGN KEY(session_id) REFERENCES sessions (session_id)
);
CREATE INDEX ix_journal_run ON journal (run_id, "offset");
CREATE INDEX ix_journal_checkpoints ON journal (session_id, "offset") WHERE kind = 'checkpoint';
CREATE INDEX ix_journal_tool_results ON journal (session_id, "offset") WHERE kind = 'tool_result';
CREATE INDEX ix_journal_nudges ON journal (agent_id, at_ms, sequence) WHERE kind = 'nudge';
CREATE TABLE messages (
    message_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    to_agent_id TEXT,
    status TEXT NOT NULL,
    hops INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    run_id TEXT,
    due_at_ms BIGINT,
    call_digest TEXT,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_messages PRIMARY KEY (message_id),
    CONSTRAINT ck_messages_status CHECK (status IN ('pending', 'delivering', 'acked', 'dead')),
    CONSTRAINT fk_messages_session_id FOREIGN KEY(session_id) REFERENCES sessions (session_id),
    CONSTRAINT uq_messages_call_digest UNIQUE (call_digest)
);
CREATE INDEX ix_messages_session ON messages (session_id, created_at_ms, message_id);
CREATE INDEX ix_messages_agent ON messages (to_agent_id, created_at_ms, message_id);
CREATE INDEX ix_messages_run_id ON messages (run_id);
CREATE INDEX ix_messages_undelivered ON messages (session_id)
    WHERE status IN ('pending', 'delivering');
CREATE INDEX ix_messages_due ON messages (due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE INDEX ix_messages_delivering ON messages (session_id) WHERE status = 'delivering';
CREATE TABLE rollout_replay_cases (
    trial_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    recorded_run_id TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    marker TEXT,
    without_run_id TEXT,
    with_run_id TEXT,
    report TEXT,
    judged_at_ms BIGINT,
    yardstick TEXT,
    is_regression BOOLEAN,
    is_success BOOLEAN,
    CONSTRAINT pk_rollout_replay_cases PRIMARY KEY (trial_id, number),
    CONSTRAINT ck_rollout_replay_cases_yardstick CHECK (yardstick IN ('marker', 'judge', 'status')),
    CONSTRAINT fk_rollout_replay_cases_trial_id FOREIGN KEY(trial_id) REFERENCES rollout_trials (trial_id)
);
CREATE UNIQUE INDEX uq_rollout_replay_cases_without ON rollout_replay_cases (without_run_id);
CREATE UNIQUE INDEX uq_rollout_replay_cases_with ON rollout_replay_cases (with_run_id);
CREATE TABLE rollout_snapshots (
    skill_name TEXT NOT NULL,
    number INTEGER NOT NULL,
    status TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    recorded_at_ms BIGINT NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_rollout_snapshots PRIMARY KEY (skill_name, number),
    CONSTRAINT ck_rollout_snapshots_status
        CHECK (status IN ('draft', 'verified', 'canary', 'active', 'revoked')),
    CONSTRAINT fk_rollout_snapshots_skill_name_fingerprint FOREIGN KEY(skill_name, fingerprint) REFERENCES rollout_definitions (skill_name, fingerprint),
    CONSTRAINT fk_rollout_snapshots_skill_name FOREIGN KEY(skill_name) REFERENCES rollouts (skill_name)
);
CREATE INDEX ix_rollout_snapshots_active ON rollout_snapshots (skill_name, attempt, number)
    WHERE status = 'active';
CREATE TABLE runs (
    run_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    stop_request TEXT,
    parked BOOLEAN NOT NULL,
    asleep BOOLEAN DEFAULT 0 NOT NULL,
    wakes INTEGER DEFAULT '0' NOT NULL,
    attempt INTEGER NOT NULL,
    accepted_offset INTEGER NOT NULL,
    submitted_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    started_at_ms BIGINT,
    finished_at_ms BIGINT,
    brings_others_in BOOLEAN DEFAULT 0 NOT NULL,
    skill_fingerprint TEXT,
    trial_id TEXT,
    wanted TEXT NOT NULL,
    snapshot TEXT,
    state TEXT NOT NULL, taints TEXT,
    CONSTRAINT pk_runs PRIMARY KEY (run_id),
    CONSTRAINT ck_runs_status
        CHECK (status IN ('queued', 'running', 'waiting_for_approval', 'waiting_for_user_question', 'completed', 'failed', 'interrupted', 'cancelled')),
    CONSTRAINT fk_runs_session_id FOREIGN KEY(session_id) REFERENCES sessions (session_id)
);
CREATE INDEX ix_runs_newest ON runs (submitted_at_ms, run_id);
CREATE INDEX ix_runs_status ON runs (status, submitted_at_ms, run_id);
CREATE INDEX ix_runs_session ON runs (session_id, submitted_at_ms, run_id);
CREATE INDEX ix_runs_unfinished ON runs (session_id, accepted_offset) WHERE finished_at_ms IS NULL;
CREATE INDEX ix_runs_brings_others_in ON runs (session_id, accepted_offset) WHERE brings_others_in;
CREATE INDEX ix_runs_agent ON runs (agent_id, submitted_at_ms, run_id);
CREATE INDEX ix_runs_skill_fingerprint ON runs (skill_fingerprint, submitted_at_ms, run_id)
    WHERE skill_fingerprint IS NOT NULL;
CREATE TABLE schedules (
    schedule_id TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    acting_admin TEXT,
    target_session_id TEXT NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    ended_reason TEXT,
    cadence TEXT NOT NULL,
    request TEXT NOT NULL,
    overlap_policy TEXT NOT NULL,
    misfire_policy TEXT NOT NULL,
    max_executions INTEGER,
    executions INTEGER NOT NULL,
    next_fire_at_ms BIGINT,
    due_at_ms BIGINT,
    last_fired_at_ms BIGINT,
    retrying_id TEXT,
    retries INTEGER NOT NULL,
    version INTEGER NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_schedules PRIMARY KEY (schedule_id),
    CONSTRAINT ck_schedules_status CHECK (status IN ('active', 'paused', 'completed', 'canceled')),
    CONSTRAINT ck_schedules_overlap_policy
        CHECK (overlap_policy IN ('skip', 'queue_one', 'parallel')),
    CONSTRAINT ck_schedules_misfire_policy
        CHECK (misfire_policy IN ('coalesce_once', 'skip_missed')),
    CONSTRAINT fk_schedules_target_session_id FOREIGN KEY(target_session_id) REFERENCES sessions (session_id)
);
CREATE INDEX ix_schedules_newest ON schedules (created_at_ms, schedule_id);
CREATE INDEX ix_schedules_owner ON schedules (owner_id, status);
CREATE INDEX ix_schedules_target_session_id ON schedules (target_session_id);
CREATE INDEX ix_schedules_due ON schedules (due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE TABLE session_mcp_servers (
    session_id TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_session_mcp_servers PRIMARY KEY (session_id, name),
    CONSTRAINT fk_session_mcp_servers_session_id FOREIGN KEY(session_id) REFERENCES sessions (session_id)
);
CREATE TABLE sidechains (
    session_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    first_run_id TEXT NOT NULL,
    label TEXT,
    created_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_sidechains PRIMARY KEY (session_id),
    CONSTRAINT fk_sidechains_session_id FOREIGN KEY(session_id) REFERENCES sessions (session_id)
);
CREATE INDEX ix_sidechains_run_id ON sidechains (run_id);
CREATE TABLE tasks (
    task_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    status TEXT NOT NULL,
    run_id TEXT,
    call_digest TEXT,
    body TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_tasks PRIMARY KEY (task_id),
    CONSTRAINT ck_tasks_status
        CHECK (status IN ('pending', 'in_progress', 'blocked', 'completed', 'failed', 'cancelled')),
    CONSTRAINT uq_tasks_session_id_number UNIQUE (session_id, number),
    CONSTRAINT fk_tasks_session_id FOREIGN KEY(session_id) REFERENCES sessions (session_id),
    CONSTRAINT uq_tasks_call_digest UNIQUE (call_digest)
);
CREATE TABLE artifacts (
    artifact_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    call_key TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    size INTEGER NOT NULL,
    created_at_ms BIGINT NOT NULL,
    content BLOB NOT NULL,
    CONSTRAINT pk_artifacts PRIMARY KEY (artifact_id),
    CONSTRAINT fk_artifacts_run_id FOREIGN KEY(run_id) REFERENCES runs (run_id),
    CONSTRAINT uq_artifacts_call_key UNIQUE (call_key)
);
CREATE INDEX ix_artifacts_run_id ON artifacts (run_id);
CREATE TABLE debug_requests (
    number INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    step INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    at_ms BIGINT NOT NULL,
    request TEXT NOT NULL,
    response TEXT,
    CONSTRAINT pk_debug_requests PRIMARY KEY (number),
    CONSTRAINT fk_debug_requests_run_id FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
CREATE INDEX ix_debug_requests_run_id ON debug_requests (run_id);
CREATE TABLE deliveries (
    delivery_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    plugin TEXT NOT NULL,
    address TEXT NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    attempts_before INTEGER NOT NULL,
    due_at_ms BIGINT,
    delivered_at_ms BIGINT,
    last_error TEXT, task_id TEXT,
    CONSTRAINT pk_deliveries PRIMARY KEY (delivery_id),
    CONSTRAINT ck_deliveries_status CHECK (status IN ('pending', 'delivered', 'dead', 'skipped')),
    CONSTRAINT uq_deliveries_run_id_position UNIQUE (run_id, position),
    CONSTRAINT fk_deliveries_run_id FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
CREATE INDEX ix_deliveries_due ON deliveries (due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE TABLE requests (
    request_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    run_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    call_key TEXT NOT NULL,
    audience TEXT NOT NULL,
    state TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT,
    resolution TEXT,
    resolved_by TEXT,
    resolved_at_ms BIGINT,
    user_id TEXT,
    agent_id TEXT,
    CONSTRAINT pk_requests PRIMARY KEY (request_id),
    CONSTRAINT ck_requests_kind CHECK (kind IN ('approval', 'question', 'offer')),
    CONSTRAINT ck_requests_audience CHECK (audience IN ('user', 'parent')),
    CONSTRAINT ck_requests_state
        CHECK (state IN ('pending', 'allowed', 'denied', 'answered', 'declined', 'expired', 'cancelled')),
    CONSTRAINT fk_requests_run_id FOREIGN KEY(run_id) REFERENCES runs (run_id),
    CONSTRAINT uq_requests_call_key UNIQUE (call_key)
);
CREATE INDEX ix_requests_due ON requests (expires_at_ms)
    WHERE state = 'pending' AND expires_at_ms IS NOT NULL;
CREATE INDEX ix_requests_all ON requests (kind, created_at_ms, request_id);
CREATE INDEX ix_requests_listed ON requests (kind, state, created_at_ms, request_id);
CREATE UNIQUE INDEX ix_requests_open_offer ON requests (session_id, user_id)
    WHERE kind = 'offer' AND state = 'pending';
CREATE INDEX ix_requests_offers ON requests (session_id, user_id, created_at_ms, request_id)
    WHERE kind = 'offer';
CREATE INDEX ix_requests_offered_by ON requests (agent_id, created_at_ms, request_id)
    WHERE kind = 'offer';
CREATE TABLE run_memories (
    run_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    recorded_at_ms BIGINT NOT NULL,
    semantic_capture TEXT NOT NULL,
    stamp TEXT NOT NULL,
    CONSTRAINT pk_run_memories PRIMARY KEY (run_id),
    CONSTRAINT ck_run_memories_semantic_capture
        CHECK (semantic_capture IN ('pending', 'completed', 'skipped')),
    CONSTRAINT fk_run_memories_run_id FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
CREATE INDEX ix_run_memories_session ON run_memories (session_id, recorded_at_ms, run_id);
CREATE INDEX ix_run_memories_oldest ON run_memories (recorded_at_ms, run_id);
CREATE INDEX ix_run_memories_pending ON run_memories (recorded_at_ms)
    WHERE semantic_capture = 'pending';
CREATE TABLE run_memory_backlog (
    run_id TEXT NOT NULL,
    reason TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    CONSTRAINT pk_run_memory_backlog PRIMARY KEY (run_id),
    CONSTRAINT fk_run_memory_backlog_run_id FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
CREATE TABLE schedule_executions (
    number INTEGER NOT NULL,
    execution_id TEXT NOT NULL,
    schedule_id TEXT NOT NULL,
    status TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    scheduled_for_ms BIGINT,
    attempts INTEGER NOT NULL,
    run_id TEXT,
    reason TEXT,
    triggered_by TEXT,
    CONSTRAINT pk_schedule_executions PRIMARY KEY (number),
    CONSTRAINT ck_schedule_executions_status
        CHECK (status IN ('submitted', 'skipped', 'missed', 'retrying', 'failed')),
    CONSTRAINT uq_schedule_executions_execution_id UNIQUE (execution_id),
    CONSTRAINT fk_schedule_executions_schedule_id FOREIGN KEY(schedule_id) REFERENCES schedules (schedule_id) ON DELETE CASCADE
);
CREATE INDEX ix_schedule_executions_newest ON schedule_executions (schedule_id, number);
CREATE TABLE delivery_tries (
    delivery_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    at_ms BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    status_code INTEGER,
    error TEXT,
    CONSTRAINT pk_delivery_tries PRIMARY KEY (delivery_id, attempt),
    CONSTRAINT ck_delivery_tries_outcome CHECK (outcome IN ('delivered', 'retry', 'dead')),
    CONSTRAINT fk_delivery_tries_delivery_id FOREIGN KEY(delivery_id) REFERENCES deliveries (delivery_id)
);
CREATE TABLE run_memory_evidence (
    run_id TEXT NOT NULL,
    request TEXT NOT NULL,
    outcome TEXT NOT NULL,
    CONSTRAINT pk_run_memory_evidence PRIMARY KEY (run_id),
    CONSTRAINT fk_run_memory_evidence_run_id FOREIGN KEY(run_id) REFERENCES run_memories (run_id) ON DELETE CASCADE
);
CREATE TABLE run_memory_scopes (
    scope_key TEXT NOT NULL,
    recorded_at_ms BIGINT NOT NULL,
    run_id TEXT NOT NULL,
    CONSTRAINT pk_run_memory_scopes PRIMARY KEY (scope_key, recorded_at_ms, run_id),
    CONSTRAINT fk_run_memory_scopes_run_id FOREIGN KEY(run_id) REFERENCES run_memories (run_id) ON DELETE CASCADE
);
CREATE INDEX ix_run_memory_scopes_run_id ON run_memory_scopes (run_id);
CREATE VIRTUAL TABLE term_tokens
            USING fts5(tokens, content='', columnsize=0, detail=none, tokenize='ascii');
CREATE VIRTUAL TABLE term_vocabulary USING fts5vocab(term_tokens, row);
CREATE INDEX ix_learnings_standing ON learnings (scope_key, published_at_ms, learning_id) WHERE is_active AND applies = 'always';
CREATE TABLE run_captures (
	run_id TEXT NOT NULL,
	state TEXT NOT NULL,
	found INTEGER NOT NULL,
	attempts INTEGER NOT NULL,
	reason TEXT,
	at_ms BIGINT NOT NULL,
	CONSTRAINT pk_run_captures PRIMARY KEY (run_id),
	CONSTRAINT fk_run_captures_run_id_run_memories FOREIGN KEY(run_id) REFERENCES run_memories (run_id) ON DELETE CASCADE,
	CONSTRAINT ck_run_captures_state CHECK (state IN ('off', 'pending', 'completed', 'skipped', 'failed', 'given_up'))
);
CREATE INDEX ix_run_captures_given_up ON run_captures (at_ms) WHERE state = 'given_up';
CREATE INDEX ix_learning_uses_run ON learning_uses (run_id);
CREATE TABLE chains (
	name TEXT NOT NULL,
	place BIGINT NOT NULL,
	link TEXT NOT NULL,
	base_place BIGINT NOT NULL,
	base_link TEXT NOT NULL,
	unchained BIGINT NOT NULL,
	CONSTRAINT pk_chains PRIMARY KEY (name)
);
CREATE INDEX ix_audit_place ON audit (place);
CREATE INDEX ix_skill_versions_place ON skill_versions (place);
CREATE TABLE channels (
    channel_id TEXT NOT NULL,
    title TEXT NOT NULL,
    search TEXT NOT NULL,
    body TEXT NOT NULL,
    message_count INTEGER NOT NULL,
    last_message_id TEXT,
    last_message_preview TEXT,
    sequence INTEGER NOT NULL,
    version INTEGER NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_channels PRIMARY KEY (channel_id)
);
CREATE TABLE channel_members (
    channel_id TEXT NOT NULL,
    member_id TEXT NOT NULL,
    member_kind TEXT NOT NULL,
    session_id TEXT,
    actor_id TEXT,
    display_name TEXT NOT NULL,
    body TEXT NOT NULL,
    joined_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_channel_members PRIMARY KEY (channel_id, member_id),
    CONSTRAINT fk_channel_members_channel_id FOREIGN KEY (channel_id)
        REFERENCES channels (channel_id) ON DELETE CASCADE,
    CONSTRAINT fk_channel_members_session_id FOREIGN KEY (session_id)
        REFERENCES sessions (session_id),
    CONSTRAINT ck_channel_members_member_kind CHECK (member_kind IN ('session', 'human_actor')),
    CONSTRAINT uq_channel_members_channel_id_session_id UNIQUE (channel_id, session_id),
    CONSTRAINT uq_channel_members_channel_id_actor_id UNIQUE (channel_id, actor_id)
);
CREATE INDEX ix_channel_members_session_id ON channel_members (session_id);
CREATE TABLE channel_messages (
    message_id TEXT NOT NULL,
    channel_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    root_id TEXT NOT NULL,
    sender_session_id TEXT,
    source_run_id TEXT,
    search TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_channel_messages PRIMARY KEY (message_id),
    CONSTRAINT fk_channel_messages_channel_id FOREIGN KEY (channel_id)
        REFERENCES channels (channel_id) ON DELETE CASCADE,
    CONSTRAINT uq_channel_messages_source_run_id UNIQUE (source_run_id)
);
CREATE UNIQUE INDEX ix_channel_messages_log ON channel_messages (channel_id, position);
CREATE INDEX ix_channel_messages_thread ON channel_messages (root_id, position);
CREATE INDEX ix_channel_messages_spoken ON channel_messages (channel_id, sender_session_id, position)
    WHERE sender_session_id IS NOT NULL;
CREATE TABLE channel_reactions (
    message_id TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    emoji TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_channel_reactions PRIMARY KEY (message_id, actor_id, emoji),
    CONSTRAINT fk_channel_reactions_message_id FOREIGN KEY (message_id)
        REFERENCES channel_messages (message_id) ON DELETE CASCADE
);
CREATE TABLE channel_threads (
    thread_root_message_id TEXT NOT NULL,
    channel_id TEXT NOT NULL,
    topic_kind TEXT NOT NULL,
    status TEXT NOT NULL,
    dedupe_key TEXT,
    wish_message_id TEXT,
    due_at_ms BIGINT,
    failures INTEGER NOT NULL,
    body TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_channel_threads PRIMARY KEY (thread_root_message_id),
    CONSTRAINT fk_channel_threads_channel_id FOREIGN KEY (channel_id)
        REFERENCES channels (channel_id) ON DELETE CASCADE,
    CONSTRAINT ck_channel_threads_topic_kind
        CHECK (topic_kind IN ('human', 'autonomous_root', 'summary')),
    CONSTRAINT ck_channel_threads_status
        CHECK (status IN ('proposed', 'active', 'reviewing', 'completed', 'superseded'))
);
CREATE INDEX ix_channel_threads_channel_id ON channel_threads (channel_id);
CREATE INDEX ix_channel_threads_due ON channel_threads (due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE TABLE channel_leases (
    turn_id TEXT NOT NULL,
    channel_id TEXT NOT NULL,
    thread_root_message_id TEXT NOT NULL,
    holder_session_id TEXT NOT NULL,
    active_run_id TEXT,
    expires_at_ms BIGINT NOT NULL,
    body TEXT NOT NULL,
    output TEXT,
    created_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_channel_leases PRIMARY KEY (turn_id),
    CONSTRAINT fk_channel_leases_channel_id FOREIGN KEY (channel_id)
        REFERENCES channels (channel_id) ON DELETE CASCADE,
    CONSTRAINT uq_channel_leases_active_run_id UNIQUE (active_run_id)
);
CREATE INDEX ix_channel_leases_channel_id ON channel_leases (channel_id);
CREATE INDEX ix_channel_leases_thread_root_message_id ON channel_leases (thread_root_message_id);
CREATE INDEX ix_channel_leases_expires_at_ms ON channel_leases (expires_at_ms);
CREATE TABLE channel_stimuli (
    stimulus_id TEXT NOT NULL,
    channel_id TEXT NOT NULL,
    status TEXT NOT NULL,
    due_at_ms BIGINT,
    dedupe_key TEXT,
    progress_key TEXT,
    call_digest TEXT,
    body TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    CONSTRAINT pk_channel_stimuli PRIMARY KEY (stimulus_id),
    CONSTRAINT fk_channel_stimuli_channel_id FOREIGN KEY (channel_id)
        REFERENCES channels (channel_id) ON DELETE CASCADE,
    CONSTRAINT uq_channel_stimuli_call_digest UNIQUE (call_digest),
    CONSTRAINT ck_channel_stimuli_status CHECK
        (status IN ('pending', 'claimed', 'dispatched', 'coalesced', 'superseded', 'cancelled'))
);
CREATE INDEX ix_channel_stimuli_newest ON channel_stimuli (channel_id, created_at_ms, stimulus_id);
CREATE INDEX ix_channel_stimuli_due ON channel_stimuli (due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE TABLE channel_events (
    channel_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    name TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    data TEXT NOT NULL,
    CONSTRAINT pk_channel_events PRIMARY KEY (channel_id, sequence),
    CONSTRAINT fk_channel_events_channel_id FOREIGN KEY (channel_id)
        REFERENCES channels (channel_id) ON DELETE CASCADE,
    CONSTRAINT ck_channel_events_name CHECK (name IN ('message', 'reaction', 'member', 'lease'))
);
CREATE TABLE asset_references (
            asset_id TEXT NOT NULL,
            kind TEXT NOT NULL,
            ref_id TEXT NOT NULL,
            CONSTRAINT pk_asset_references PRIMARY KEY (asset_id, kind, ref_id),
            CONSTRAINT ck_asset_references_kind CHECK (kind IN ('run', 'schedule', 'channel')),
            CONSTRAINT fk_asset_references_asset_id
                FOREIGN KEY(asset_id) REFERENCES assets (asset_id)
        );
CREATE INDEX ix_sessions_owner_id ON sessions (owner_id);
CREATE INDEX ix_runs_user_id ON runs (user_id);
CREATE TABLE asset_owners (
	owner_id TEXT NOT NULL,
	asset_id TEXT NOT NULL, file_name TEXT, created_at_ms BIGINT,
	CONSTRAINT pk_asset_owners PRIMARY KEY (owner_id, asset_id),
	CONSTRAINT fk_asset_owners_asset_id FOREIGN KEY(asset_id) REFERENCES assets (asset_id) ON DELETE CASCADE
);
CREATE INDEX ix_asset_owners_asset_id ON asset_owners (asset_id);
CREATE TABLE channel_bridges (
        bridge_id TEXT NOT NULL,
        channel_id TEXT NOT NULL,
        connector TEXT NOT NULL,
        body TEXT NOT NULL,
        credentials TEXT NOT NULL,
        due_at_ms BIGINT,
        version INTEGER NOT NULL,
        created_at_ms BIGINT NOT NULL,
        updated_at_ms BIGINT NOT NULL,
        CONSTRAINT pk_channel_bridges PRIMARY KEY (bridge_id),
        CONSTRAINT fk_channel_bridges_channel_id FOREIGN KEY (channel_id)
            REFERENCES channels (channel_id) ON DELETE CASCADE,
        CONSTRAINT ck_channel_bridges_connector CHECK
            (connector IN ('webhook', 'slack', 'telegram', 'discord', 'matrix', 'email'))
    );
CREATE INDEX ix_channel_bridges_channel_id ON channel_bridges (channel_id);
CREATE INDEX ix_channel_bridges_due ON channel_bridges (due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE TABLE bridge_links (
        bridge_id TEXT NOT NULL,
        external_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        CONSTRAINT pk_bridge_links PRIMARY KEY (bridge_id, external_id),
        CONSTRAINT fk_bridge_links_bridge_id FOREIGN KEY (bridge_id)
            REFERENCES channel_bridges (bridge_id) ON DELETE CASCADE
    );
CREATE INDEX ix_bridge_links_message_id ON bridge_links (message_id);
CREATE TABLE bridge_deliveries (
        delivery_id TEXT NOT NULL,
        bridge_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        status TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        due_at_ms BIGINT,
        last_error TEXT,
        created_at_ms BIGINT NOT NULL,
        CONSTRAINT pk_bridge_deliveries PRIMARY KEY (delivery_id),
        CONSTRAINT fk_bridge_deliveries_bridge_id FOREIGN KEY (bridge_id)
            REFERENCES channel_bridges (bridge_id) ON DELETE CASCADE,
        CONSTRAINT ck_bridge_deliveries_status CHECK
            (status IN ('pending', 'delivered', 'dead', 'refused'))
    );
CREATE INDEX ix_bridge_deliveries_newest
        ON bridge_deliveries (bridge_id, created_at_ms, delivery_id);
CREATE INDEX ix_bridge_deliveries_due
        ON bridge_deliveries (due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE TABLE second_approvals (
	approval_id TEXT NOT NULL,
	subject TEXT NOT NULL,
	operation TEXT NOT NULL,
	"values" TEXT NOT NULL,
	body TEXT,
	first_by TEXT NOT NULL,
	created_at_ms BIGINT NOT NULL,
	expires_at_ms BIGINT NOT NULL,
	fingerprint TEXT NOT NULL, proposed_by TEXT,
	CONSTRAINT pk_second_approvals PRIMARY KEY (approval_id),
	CONSTRAINT uq_second_approvals_fingerprint UNIQUE (fingerprint)
);
CREATE TABLE unlearns (
	unlearn_id TEXT NOT NULL,
	mode TEXT NOT NULL,
	status TEXT NOT NULL,
	step TEXT NOT NULL,
	actor TEXT NOT NULL,
	created_at_ms BIGINT NOT NULL,
	updated_at_ms BIGINT NOT NULL,
	target TEXT NOT NULL,
	reason TEXT,
	error TEXT,
	receipt TEXT,
	work TEXT,
	CONSTRAINT pk_unlearns PRIMARY KEY (unlearn_id),
	CONSTRAINT ck_unlearns_mode CHECK (mode IN ('revoke', 'erase')),
	CONSTRAINT ck_unlearns_status CHECK (status IN ('pending', 'running', 'done', 'failed'))
);
CREATE TABLE unlearn_jobs (
	job_id TEXT NOT NULL,
	due_at_ms BIGINT NOT NULL,
	attempts INTEGER NOT NULL,
	claim TEXT,
	again_at_ms BIGINT,
	needs_model BOOLEAN DEFAULT 0 NOT NULL,
	error TEXT,
	CONSTRAINT pk_unlearn_jobs PRIMARY KEY (job_id)
);
CREATE INDEX ix_unlearn_jobs_due ON unlearn_jobs (needs_model, due_at_ms, job_id);
CREATE TABLE unlearn_key (
	name TEXT NOT NULL,
	secret TEXT NOT NULL,
	created_at_ms BIGINT NOT NULL,
	CONSTRAINT pk_unlearn_key PRIMARY KEY (name)
);
CREATE INDEX ix_learning_candidates_run ON learning_candidates (source_run_id);
CREATE TABLE project_tasks (
	project_id TEXT NOT NULL,
	project_task_id TEXT NOT NULL,
	status TEXT NOT NULL,
	assignee_member_id TEXT,
	latest_run_id TEXT,
	call_digest TEXT,
	body TEXT NOT NULL,
	version INTEGER NOT NULL,
	created_at_ms BIGINT NOT NULL,
	updated_at_ms BIGINT NOT NULL, created_by_run_id TEXT,
	CONSTRAINT pk_project_tasks PRIMARY KEY (project_id, project_task_id),
	CONSTRAINT fk_project_tasks_project_id FOREIGN KEY(project_id) REFERENCES projects (project_id),
	CONSTRAINT uq_project_tasks_call_digest UNIQUE (call_digest),
	CONSTRAINT ck_project_tasks_status CHECK (status IN ('pending', 'in_progress', 'blocked', 'completed', 'failed', 'cancelled'))
);
CREATE INDEX ix_project_tasks_run ON project_tasks (latest_run_id) WHERE latest_run_id IS NOT NULL;
CREATE TABLE playbook_versions (
	playbook_id TEXT NOT NULL,
	version TEXT NOT NULL,
	digest TEXT NOT NULL,
	status TEXT NOT NULL,
	search TEXT NOT NULL,
	body TEXT NOT NULL,
	state TEXT NOT NULL,
	created_at_ms BIGINT NOT NULL,
	updated_at_ms BIGINT NOT NULL,
	CONSTRAINT pk_playbook_versions PRIMARY KEY (playbook_id, version),
	CONSTRAINT ck_playbook_versions_status CHECK (status IN ('draft', 'verified', 'canary', 'active', 'revoked'))
);
CREATE TABLE flows (
	flow_id TEXT NOT NULL,
	playbook_id TEXT NOT NULL,
	session_id TEXT NOT NULL,
	run_id TEXT NOT NULL,
	body TEXT NOT NULL,
	created_at_ms BIGINT NOT NULL,
	updated_at_ms BIGINT NOT NULL,
	CONSTRAINT pk_flows PRIMARY KEY (flow_id),
	CONSTRAINT fk_flows_session_id FOREIGN KEY(session_id) REFERENCES sessions (session_id),
	CONSTRAINT uq_flows_run_id UNIQUE (run_id)
);
CREATE INDEX ix_flows_newest ON flows (created_at_ms, flow_id);
CREATE INDEX ix_flows_session ON flows (session_id, created_at_ms);
CREATE INDEX ix_flows_playbook ON flows (playbook_id, created_at_ms);
CREATE TABLE skill_roots (
	root_id TEXT NOT NULL,
	path TEXT NOT NULL,
	owner_id TEXT NOT NULL,
	created_at_ms BIGINT NOT NULL,
	CONSTRAINT pk_skill_roots PRIMARY KEY (root_id),
	CONSTRAINT uq_skill_roots_owner_id_path UNIQUE (owner_id, path)
);
CREATE TABLE signing_keys (
	key_id TEXT NOT NULL,
	name TEXT NOT NULL,
	kind TEXT NOT NULL,
	public_key TEXT NOT NULL,
	created_by TEXT NOT NULL,
	created_at_ms BIGINT NOT NULL,
	CONSTRAINT pk_signing_keys PRIMARY KEY (key_id),
	CONSTRAINT uq_signing_keys_name UNIQUE (name),
	CONSTRAINT ck_signing_keys_kind CHECK (kind IN ('own', 'trusted'))
);
CREATE TABLE session_bindings (
	binding_key TEXT NOT NULL,
	session_id TEXT NOT NULL,
	bound_by TEXT NOT NULL,
	created_at_ms BIGINT NOT NULL,
	CONSTRAINT pk_session_bindings PRIMARY KEY (binding_key),
	CONSTRAINT fk_session_bindings_session_id FOREIGN KEY(session_id) REFERENCES sessions (session_id)
);
CREATE INDEX ix_session_bindings_session_id ON session_bindings (session_id);
CREATE TABLE background_tasks (
	task_id TEXT NOT NULL,
	session_id TEXT NOT NULL,
	run_id TEXT NOT NULL,
	status TEXT NOT NULL,
	needs_notice BOOLEAN NOT NULL,
	holder TEXT NOT NULL,
	lease_until_ms BIGINT NOT NULL,
	created_at_ms BIGINT NOT NULL,
	ended_at_ms BIGINT,
	body TEXT NOT NULL,
	CONSTRAINT pk_background_tasks PRIMARY KEY (task_id),
	CONSTRAINT ck_background_tasks_status CHECK (status IN ('in_progress', 'completed', 'failed', 'cancelled')),
	CONSTRAINT fk_background_tasks_session_id FOREIGN KEY(session_id) REFERENCES sessions (session_id),
	CONSTRAINT fk_background_tasks_run_id FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
CREATE INDEX ix_background_tasks_run_id ON background_tasks (run_id);
CREATE INDEX ix_background_tasks_newest ON background_tasks (created_at_ms, task_id);
CREATE INDEX ix_background_tasks_session ON background_tasks (session_id, created_at_ms, task_id);
CREATE INDEX ix_background_tasks_running ON background_tasks (session_id) WHERE ended_at_ms IS NULL;
CREATE INDEX ix_background_tasks_untold ON background_tasks (session_id) WHERE needs_notice;
CREATE TABLE background_output (
	task_id TEXT NOT NULL,
	start INTEGER NOT NULL,
	size INTEGER NOT NULL,
	text TEXT NOT NULL,
	CONSTRAINT pk_background_output PRIMARY KEY (task_id, start),
	CONSTRAINT fk_background_output_task_id FOREIGN KEY(task_id) REFERENCES background_tasks (task_id) ON DELETE CASCADE
);
CREATE INDEX ix_deliveries_task_id ON deliveries (task_id);
CREATE INDEX ix_learning_candidates_key_rules ON learning_candidates (key_rules);
CREATE INDEX ix_learnings_key_rules ON learnings (key_rules);
CREATE INDEX ix_learning_candidates_sensitive ON learning_candidates (candidate_id) WHERE sensitivity = 'sensitive' AND kind <> 'run_summary';
CREATE INDEX ix_learnings_sensitive ON learnings (learning_id) WHERE sensitivity = 'sensitive' AND kind <> 'run_summary';
CREATE INDEX ix_learnings_kind ON learnings (kind, learning_id);
CREATE INDEX ix_learnings_applies ON learnings (applies, learning_id);
CREATE INDEX ix_learnings_publish_tier ON learnings (publish_tier, learning_id);
CREATE INDEX ix_learnings_verification_status ON learnings (verification_status, learning_id);
CREATE INDEX ix_learnings_policy_decision ON learnings (policy_decision, learning_id);
CREATE INDEX ix_learning_candidates_applies ON learning_candidates (applies, candidate_id);
CREATE INDEX ix_messages_status ON messages (to_agent_id, status, created_at_ms, message_id);
CREATE INDEX ix_playbook_versions_status ON playbook_versions (status, playbook_id);
CREATE INDEX ix_projects_status ON projects (status, project_id);
CREATE INDEX ix_requests_run ON requests (run_id, state, created_at_ms, request_id, kind);
CREATE INDEX ix_requests_session ON requests (session_id, state, created_at_ms, request_id, kind);
CREATE INDEX ix_schedules_status ON schedules (status, created_at_ms, schedule_id);
CREATE INDEX ix_schedules_session ON schedules (target_session_id, created_at_ms, schedule_id);
CREATE INDEX ix_tokens_newest ON tokens (created_at_ms, token_id);
CREATE INDEX ix_artifacts_created_at_ms ON artifacts (created_at_ms);
CREATE INDEX ix_background_tasks_ended_at_ms ON background_tasks (ended_at_ms);
CREATE INDEX ix_debug_requests_at_ms ON debug_requests (at_ms);
CREATE INDEX ix_deliveries_delivered_at_ms ON deliveries (delivered_at_ms);
CREATE INDEX ix_messages_updated_at_ms ON messages (updated_at_ms);
CREATE INDEX ix_receipts_created_at_ms ON receipts (created_at_ms);
CREATE INDEX ix_requests_waiting ON requests (kind, created_at_ms, request_id, user_id, state, audience) WHERE state = 'pending' AND audience = 'user';
CREATE INDEX ix_skills_status ON skills (status, sort_name, slug);
CREATE INDEX ix_learning_candidates_queue ON learning_candidates (review_rank, candidate_id, expires_at_ms, snoozed_until_ms, is_open, sensitivity) WHERE is_open;
CREATE INDEX ix_learning_candidates_snoozed ON learning_candidates (snoozed_until_ms) WHERE is_open AND snoozed_until_ms IS NOT NULL;
CREATE INDEX ix_audit_refused ON audit (number) WHERE outcome = 'refused';
CREATE INDEX ix_project_tasks_created_by ON project_tasks (created_by_run_id) WHERE created_by_run_id IS NOT NULL;
CREATE TABLE accepted_mcp_tools (
	digest TEXT NOT NULL,
	name TEXT NOT NULL,
	accepted_by TEXT NOT NULL,
	accepted_at_ms BIGINT NOT NULL,
	CONSTRAINT pk_accepted_mcp_tools PRIMARY KEY (digest)
);
CREATE INDEX ix_skill_versions_open ON skill_versions (skill_id, number, state, for_owner_only, grant_to, trash_name, run_id) WHERE state = 'draft' OR for_owner_only OR grant_to IS NOT NULL;
CREATE TABLE daemons (
	executor_id TEXT NOT NULL,
	CONSTRAINT pk_daemons PRIMARY KEY (executor_id)
);
CREATE INDEX ix_runs_unfinished_of_user ON runs (user_id, status, submitted_at_ms, run_id) WHERE finished_at_ms IS NULL;
INSERT INTO understudy_schema VALUES ('0054');
