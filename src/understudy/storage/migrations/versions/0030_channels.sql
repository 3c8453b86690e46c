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
