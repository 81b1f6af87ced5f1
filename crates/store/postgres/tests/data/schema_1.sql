-- A schema of version 1 with one room in it, by pg_dump --schema --inserts; {s} stands for the schema.
SET check_function_bodies = false;
CREATE SCHEMA {s};
CREATE FUNCTION {s}.commit_room_1(c_room text, c_expected bigint, c_fencing bigint, c_at bigint, c_changes boolean, c_stamp bigint, c_known_data bigint, c_known_bindings bigint, r_data text, r_status text, r_open boolean, r_sets_activity boolean, r_activity bigint, e_index bigint, e_id text, e_type text, e_channel text, e_participant text, e_parent text, e_created bigint, e_redacted boolean, e_words text[], e_data text, e_payload bytea, d_index bigint, d_id text, d_type text, d_channel text, d_participant text, d_parent text, d_created bigint, d_redacted boolean, d_words text[], d_data text, d_payload bytea, o_key text, o_data text, b_channels text[], b_data text[], p_ids text[], p_data text[], p_via text[], p_via_of bigint[], s_type text, s_sender text, s_channel text, s_participant text, s_data text, t_ids text[], t_data text[], n_ids text[], n_data text[], w_ids text[], w_channels text[], w_indexes bigint[], w_events text[], w_data text[], OUT outcome integer, OUT version bigint, OUT latest_index bigint, OUT event_count bigint, OUT updated_us bigint, OUT activity_us bigint, OUT data_stamp bigint, OUT data text, OUT bindings_stamp bigint, OUT bindings text[], OUT detached text[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    head {s}.event_sequences%ROWTYPE;
    via text[];
BEGIN
    outcome := 0;
    UPDATE {s}.event_sequences AS h SET
        open = coalesce(r_open, h.open),
        version = h.version + c_changes::int,
        latest_index = coalesce(e_index, h.latest_index),
        event_count = h.event_count + (e_index IS NOT NULL)::int,
        updated_us = CASE WHEN c_changes THEN c_at ELSE h.updated_us END,
        activity_us = CASE WHEN r_sets_activity THEN r_activity ELSE h.activity_us END,
        fencing = greatest(h.fencing, c_fencing),
        data_stamp = CASE WHEN r_data IS NULL THEN h.data_stamp ELSE c_stamp END,
        bindings_stamp = CASE WHEN b_channels IS NULL THEN h.bindings_stamp ELSE c_stamp END
    WHERE h.room_id = c_room
        AND (c_fencing IS NULL OR h.fencing IS NULL OR c_fencing >= h.fencing)
        AND (c_expected IS NULL OR h.version = c_expected)
        AND (e_index IS NULL OR e_index = coalesce(h.latest_index, -1) + 1)
        AND (r_data IS NULL OR h.data_stamp = c_known_data)
    RETURNING * INTO head;
    IF NOT FOUND THEN
        SELECT * INTO head FROM {s}.event_sequences AS h WHERE h.room_id = c_room;
        IF NOT FOUND THEN
            outcome := 1;
        ELSIF c_fencing < head.fencing THEN
            outcome := 2;
        ELSIF c_expected <> head.version THEN
            outcome := 3;
        ELSIF e_index <> coalesce(head.latest_index, -1) + 1 THEN
            outcome := 4;
        ELSIF r_data IS NOT NULL AND c_known_data IS DISTINCT FROM head.data_stamp THEN
            outcome := 5;
        ELSE
            outcome := 6;
        END IF;
        version := head.version;
        latest_index := head.latest_index;
        RETURN;
    END IF;
    IF e_index IS NOT NULL THEN
        INSERT INTO {s}.events (room_id, index, id, tenant, type, channel_id, participant_id,
            parent_event_id, created_us, redacted, words, data, payload)
        VALUES (c_room, e_index, e_id, head.tenant, e_type, e_channel, e_participant, e_parent,
            e_created, e_redacted, e_words, e_data, e_payload);
    END IF;
    IF d_id IS NOT NULL THEN
        INSERT INTO {s}.event_versions (room_id, event_id, data, payload)
        SELECT e.room_id, e.id, e.data, e.payload FROM {s}.events AS e
        WHERE e.room_id = c_room AND e.id = d_id AND e.index = d_index
            AND d_id IS DISTINCT FROM e_id
        FOR UPDATE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no event to edit' USING ERRCODE = 'RK001';
        END IF;
        UPDATE {s}.events AS e SET type = d_type, channel_id = d_channel,
            participant_id = d_participant, parent_event_id = d_parent, created_us = d_created,
            redacted = d_redacted, words = d_words, data = d_data, payload = d_payload
        WHERE e.room_id = c_room AND e.id = d_id;
    END IF;
    IF o_key IS NOT NULL THEN
        INSERT INTO {s}.outcomes (room_id, key, data) VALUES (c_room, o_key, o_data);
    END IF;
    IF r_data IS NOT NULL THEN
        UPDATE {s}.rooms AS r SET data = r_data, status = coalesce(r_status, r.status)
        WHERE r.room_id = c_room;
        IF r_open IS NOT NULL THEN
            UPDATE {s}.senders AS x SET open = r_open WHERE x.room_id = c_room AND x.open <> r_open;
            UPDATE {s}.bindings AS x SET open = r_open WHERE x.room_id = c_room AND x.open <> r_open;
        END IF;
    END IF;
    IF b_channels IS NOT NULL THEN
        FOR i IN 1 .. cardinality(b_channels) LOOP
            IF b_data[i] IS NULL THEN
                DELETE FROM {s}.bindings AS b
                WHERE b.room_id = c_room AND b.channel_id = b_channels[i];
                UPDATE {s}.rooms AS r
                SET detached = array_append(array_remove(r.detached, b_channels[i]), b_channels[i])
                WHERE r.room_id = c_room;
            ELSE
                INSERT INTO {s}.bindings AS b (room_id, channel_id, tenant, open, data)
                VALUES (c_room, b_channels[i], head.tenant, head.open, b_data[i])
                ON CONFLICT ON CONSTRAINT bindings_pkey DO UPDATE SET data = excluded.data;
                UPDATE {s}.rooms AS r SET detached = array_remove(r.detached, b_channels[i])
                WHERE r.room_id = c_room AND b_channels[i] = ANY (r.detached);
            END IF;
        END LOOP;
    END IF;
    IF p_ids IS NOT NULL THEN
        FOR i IN 1 .. cardinality(p_ids) LOOP
            INSERT INTO {s}.participants AS p (room_id, id, connected_via, data)
            VALUES (c_room, p_ids[i], ARRAY(
                SELECT x.channel FROM unnest(p_via, p_via_of) WITH ORDINALITY AS x (channel, who, n)
                WHERE x.who = i ORDER BY x.n), p_data[i])
            ON CONFLICT ON CONSTRAINT participants_pkey
            DO UPDATE SET data = excluded.data, connected_via = excluded.connected_via;
        END LOOP;
    END IF;
    IF s_sender IS NOT NULL THEN
        -- Most have spoken before; one look is cheaper than an insert that comes to nothing.
        PERFORM 1 FROM {s}.senders AS x
        JOIN {s}.participants AS p ON p.room_id = x.room_id AND p.id = s_participant
        WHERE x.room_id = c_room AND x.channel_type = s_type AND x.sender_id = s_sender
            AND s_channel = ANY (p.connected_via);
    END IF;
    IF s_sender IS NOT NULL AND NOT FOUND THEN
        INSERT INTO {s}.senders AS x (room_id, channel_type, sender_id, tenant, open)
        VALUES (c_room, s_type, s_sender, head.tenant, head.open)
        ON CONFLICT ON CONSTRAINT senders_pkey DO NOTHING;
        SELECT p.connected_via INTO via FROM {s}.participants AS p
        WHERE p.room_id = c_room AND p.id = s_participant;
        IF NOT FOUND THEN
            INSERT INTO {s}.participants (room_id, id, connected_via, data)
            VALUES (c_room, s_participant, ARRAY[s_channel], s_data);
        ELSIF NOT s_channel = ANY (via) THEN
            UPDATE {s}.participants AS p SET connected_via = array_append(p.connected_via, s_channel)
            WHERE p.room_id = c_room AND p.id = s_participant;
        END IF;
    END IF;
    IF t_ids IS NOT NULL THEN
        INSERT INTO {s}.tasks (room_id, id, data)
        SELECT c_room, x.id, x.data
        FROM unnest(t_ids, t_data) WITH ORDINALITY AS x (id, data, n) ORDER BY x.n;
    END IF;
    IF n_ids IS NOT NULL THEN
        INSERT INTO {s}.observations (room_id, id, data)
        SELECT c_room, x.id, x.data
        FROM unnest(n_ids, n_data) WITH ORDINALITY AS x (id, data, n) ORDER BY x.n;
    END IF;
    IF w_ids IS NOT NULL THEN
        FOR i IN 1 .. cardinality(w_ids) LOOP
            INSERT INTO {s}.owed (delivery_id, room_id, channel_id, index, event_id, data)
            VALUES (w_ids[i], c_room, w_channels[i], w_indexes[i], w_events[i], w_data[i])
            ON CONFLICT ON CONSTRAINT owed_pkey DO UPDATE SET channel_id = excluded.channel_id,
                index = excluded.index, event_id = excluded.event_id, data = excluded.data;
        END LOOP;
    END IF;
    version := head.version;
    latest_index := head.latest_index;
    event_count := head.event_count;
    updated_us := head.updated_us;
    activity_us := head.activity_us;
    data_stamp := head.data_stamp;
    bindings_stamp := head.bindings_stamp;
    IF r_data IS NOT NULL THEN
        data := r_data;
    ELSIF c_known_data IS DISTINCT FROM head.data_stamp THEN
        SELECT r.data INTO data FROM {s}.rooms AS r WHERE r.room_id = c_room;
    END IF;
    IF c_known_bindings IS DISTINCT FROM head.bindings_stamp THEN
        bindings := ARRAY(
            SELECT b.data FROM {s}.bindings AS b WHERE b.room_id = c_room ORDER BY b.position);
        SELECT r.detached INTO detached FROM {s}.rooms AS r WHERE r.room_id = c_room;
    END IF;
END
$$;
CREATE FUNCTION {s}.delete_events_1(c_room text, c_ids text[]) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    deleted bigint;
BEGIN
    PERFORM 1 FROM {s}.event_sequences WHERE room_id = c_room FOR NO KEY UPDATE;
    DELETE FROM {s}.events WHERE room_id = c_room AND id = ANY (c_ids);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    IF deleted > 0 THEN
        DELETE FROM {s}.event_versions WHERE room_id = c_room AND event_id = ANY (c_ids);
        DELETE FROM {s}.owed WHERE room_id = c_room AND event_id = ANY (c_ids);
    END IF;
    RETURN deleted;
END
$$;
CREATE FUNCTION {s}.delete_room_1(c_room text) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM {s}.event_sequences WHERE room_id = c_room;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM {s}.rooms WHERE room_id = c_room;
    DELETE FROM {s}.events WHERE room_id = c_room;
    DELETE FROM {s}.event_versions WHERE room_id = c_room;
    DELETE FROM {s}.outcomes WHERE room_id = c_room;
    DELETE FROM {s}.participants WHERE room_id = c_room;
    DELETE FROM {s}.senders WHERE room_id = c_room;
    DELETE FROM {s}.bindings WHERE room_id = c_room;
    DELETE FROM {s}.tasks WHERE room_id = c_room;
    DELETE FROM {s}.observations WHERE room_id = c_room;
    DELETE FROM {s}.read_markers WHERE room_id = c_room;
    DELETE FROM {s}.owed WHERE room_id = c_room;
    RETURN true;
END
$$;
CREATE TABLE {s}.bindings (
    room_id text NOT NULL COLLATE pg_catalog."C",
    channel_id text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    open boolean NOT NULL,
    data text NOT NULL
);
ALTER TABLE {s}.bindings ALTER COLUMN "position" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME {s}.bindings_position_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE {s}.event_sequences (
    room_id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    open boolean NOT NULL,
    version bigint NOT NULL,
    latest_index bigint,
    event_count bigint NOT NULL,
    updated_us bigint NOT NULL,
    activity_us bigint,
    fencing bigint,
    data_stamp bigint NOT NULL,
    bindings_stamp bigint NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE {s}.event_versions (
    room_id text NOT NULL COLLATE pg_catalog."C",
    event_id text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    data text NOT NULL,
    payload bytea
);
ALTER TABLE {s}.event_versions ALTER COLUMN "position" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME {s}.event_versions_position_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE {s}.events (
    room_id text NOT NULL COLLATE pg_catalog."C",
    index bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL,
    channel_id text NOT NULL COLLATE pg_catalog."C",
    participant_id text COLLATE pg_catalog."C",
    parent_event_id text COLLATE pg_catalog."C",
    created_us bigint NOT NULL,
    redacted boolean NOT NULL,
    words text[] COLLATE pg_catalog."C",
    data text NOT NULL,
    payload bytea
);
CREATE TABLE {s}.identities (
    tenant text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);
CREATE TABLE {s}.identity_addresses (
    tenant text NOT NULL COLLATE pg_catalog."C",
    channel_type text NOT NULL COLLATE pg_catalog."C",
    address text NOT NULL COLLATE pg_catalog."C",
    identity_id text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE {s}.observations (
    room_id text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);
ALTER TABLE {s}.observations ALTER COLUMN "position" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME {s}.observations_position_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE {s}.outcomes (
    room_id text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);
CREATE TABLE {s}.owed (
    delivery_id text NOT NULL COLLATE pg_catalog."C",
    room_id text NOT NULL COLLATE pg_catalog."C",
    channel_id text NOT NULL COLLATE pg_catalog."C",
    index bigint NOT NULL,
    event_id text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);
CREATE TABLE {s}.participants (
    room_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    connected_via text[] NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);
ALTER TABLE {s}.participants ALTER COLUMN "position" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME {s}.participants_position_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE {s}.read_markers (
    room_id text NOT NULL COLLATE pg_catalog."C",
    channel_id text NOT NULL COLLATE pg_catalog."C",
    index bigint NOT NULL,
    data text NOT NULL
);
CREATE SEQUENCE {s}.room_lock_tokens
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE {s}.rooms (
    room_id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL,
    created_us bigint NOT NULL,
    detached text[] DEFAULT '{}'::text[] NOT NULL,
    data text NOT NULL
);
CREATE TABLE {s}.schema_version (
    version integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE {s}.senders (
    room_id text NOT NULL COLLATE pg_catalog."C",
    channel_type text NOT NULL COLLATE pg_catalog."C",
    sender_id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    open boolean NOT NULL
);
CREATE TABLE {s}.tasks (
    room_id text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);
ALTER TABLE {s}.tasks ALTER COLUMN "position" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME {s}.tasks_position_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
INSERT INTO {s}.bindings OVERRIDING SYSTEM VALUE VALUES ('kept', 'a', 1, ':acme', true, '{"channel_id":"a","room_id":"kept","channel_type":"sms","category":"transport","direction":"bidirectional","access":"read_write","muted":false,"output_muted":false,"visibility":"all","participant_id":null,"last_read_index":null,"attached_at":"2026-05-28T20:26:40Z","capabilities":{"media_types":["text"],"max_length":null,"supports_threading":false,"supports_reactions":false,"supports_edit":false,"supports_delete":false,"supports_read_receipts":false,"supports_typing":false,"supports_templates":false,"supports_rich_text":false,"supports_buttons":false,"max_buttons":null,"supports_cards":false,"supports_quick_replies":false,"supports_media":false,"supported_media_types":[],"max_media_size_bytes":null,"supports_audio":false,"max_audio_duration_seconds":null,"supported_audio_formats":[],"supports_video":false,"max_video_duration_seconds":null,"supported_video_formats":[],"delivery_mode":"broadcast","custom":{}},"rate_limit":null,"retry_policy":null,"metadata":{}}');
INSERT INTO {s}.event_sequences VALUES ('kept', ':acme', true, 2, 1, 2, 1780000000000000, 1780000000000000, NULL, 9175159823903619655, 5678355290887992990);
INSERT INTO {s}.event_versions OVERRIDING SYSTEM VALUE VALUES ('kept', 'first', 1, '{"id":"first","room_id":"kept","type":"message","source":{"channel_id":"a","channel_type":"sms","direction":"inbound","participant_id":null,"external_id":null,"provider":null,"raw_payload":{},"provider_message_id":null},"content":{"type":"text","body":"Where is my invoice?","language":null},"status":"pending","blocked_by":null,"visibility":"all","addressed_to":null,"response_visibility":null,"index":0,"chain_depth":0,"parent_event_id":null,"correlation_id":null,"idempotency_key":null,"created_at":"2026-05-28T20:26:40Z","metadata":{},"channel_data":{"provider":null,"external_id":null,"thread_id":null,"extra":{}},"delivery_results":{}}', '\x007b2246726f6d223a222b3135353530313030227d');
INSERT INTO {s}.events VALUES ('kept', 1, 'second', ':acme', 'message', 'a', NULL, 'first', 1780000000000000, false, '{1,message}', '{"id":"second","room_id":"kept","type":"message","source":{"channel_id":"a","channel_type":"sms","direction":"inbound","participant_id":null,"external_id":null,"provider":null,"raw_payload":{},"provider_message_id":null},"content":{"type":"text","body":"message 1","language":null},"status":"pending","blocked_by":null,"visibility":"all","addressed_to":null,"response_visibility":null,"index":1,"chain_depth":0,"parent_event_id":"first","correlation_id":null,"idempotency_key":null,"created_at":"2026-05-28T20:26:40Z","metadata":{},"channel_data":{"provider":null,"external_id":null,"thread_id":null,"extra":{}},"delivery_results":{}}', NULL);
INSERT INTO {s}.events VALUES ('kept', 0, 'first', ':acme', 'message', 'a', NULL, NULL, 1780000000000000, false, '{12,invoice,is,my,where}', '{"id":"first","room_id":"kept","type":"message","source":{"channel_id":"a","channel_type":"sms","direction":"inbound","participant_id":null,"external_id":null,"provider":null,"raw_payload":{},"provider_message_id":null},"content":{"type":"text","body":"Where is my invoice 12?","language":null},"status":"pending","blocked_by":null,"visibility":"all","addressed_to":null,"response_visibility":null,"index":0,"chain_depth":0,"parent_event_id":null,"correlation_id":null,"idempotency_key":null,"created_at":"2026-05-28T20:26:40Z","metadata":{"edited":true},"channel_data":{"provider":null,"external_id":null,"thread_id":null,"extra":{}},"delivery_results":{}}', '\x007b2246726f6d223a222b3135353530313030227d');
INSERT INTO {s}.identities VALUES ('', 'alice', '{"id":"alice","organization_id":null,"display_name":null,"email":null,"phone":null,"channel_addresses":{"sms":["+15550100"]},"external_id":null,"external_ids":{},"metadata":{}}');
INSERT INTO {s}.identity_addresses VALUES ('', 'sms', '+15550100', 'alice');
INSERT INTO {s}.observations OVERRIDING SYSTEM VALUE VALUES ('kept', 1, 'obs-1', '{"id":"obs-1","room_id":"kept","channel_id":"a","content":"Angry","category":null,"confidence":1.0,"created_at":"2026-03-01T12:00:00Z","metadata":{}}');
INSERT INTO {s}.outcomes VALUES ('kept', 'key-1', '{"key":"key-1","event_id":"first","blocked":false,"reason":null}');
INSERT INTO {s}.owed VALUES ('first:a', 'kept', 'a', 0, 'first', '{"delivery_id":"first:a","room_id":"kept","event_id":"first","index":0,"channel_id":"a","kind":"delivery","attempts":0,"last_error":null,"failed":false}');
INSERT INTO {s}.participants OVERRIDING SYSTEM VALUE VALUES ('kept', 'alice', 1, '{a}', '{"id":"alice","room_id":"kept","channel_id":"a","display_name":null,"role":"member","status":"active","identification":"pending","identity_id":null,"candidates":null,"connected_via":["a"],"external_id":null,"resolved_at":null,"resolved_by":null,"joined_at":"2026-05-28T20:26:40Z","metadata":{}}');
INSERT INTO {s}.read_markers VALUES ('kept', 'a', 1, '{"room_id":"kept","channel_id":"a","index":1,"read_at":"2026-05-28T20:26:40Z"}');
INSERT INTO {s}.rooms VALUES ('kept', ':acme', 'active', 1780000000000000, '{b}', '{"id":"kept","organization_id":"acme","status":"active","created_at":"2026-05-28T20:26:40Z","updated_at":"2026-05-28T20:26:40Z","closed_at":null,"timers":{"inactive_after_seconds":null,"closed_after_seconds":null,"last_activity_at":null},"agent_response_policy":"agent_chain","metadata":{"nul":"\u0000","tier":2},"event_count":0,"latest_index":null,"delivered_index":-1}');
INSERT INTO {s}.schema_version VALUES (1, 'rooms', '2026-11-30 20:01:29.078896+00');
INSERT INTO {s}.senders VALUES ('kept', 'sms', '+15550100', ':acme', true);
INSERT INTO {s}.tasks OVERRIDING SYSTEM VALUE VALUES ('kept', 1, 'task-1', '{"id":"task-1","room_id":"kept","title":"Call back","description":null,"assigned_to":null,"status":"pending","created_at":"2026-03-01T12:00:00Z","metadata":{}}');
SELECT pg_catalog.setval('{s}.bindings_position_seq', 2, true);
SELECT pg_catalog.setval('{s}.event_versions_position_seq', 1, true);
SELECT pg_catalog.setval('{s}.observations_position_seq', 1, true);
SELECT pg_catalog.setval('{s}.participants_position_seq', 1, true);
SELECT pg_catalog.setval('{s}.room_lock_tokens', 1, false);
SELECT pg_catalog.setval('{s}.tasks_position_seq', 1, true);
ALTER TABLE ONLY {s}.bindings
    ADD CONSTRAINT bindings_pkey PRIMARY KEY (room_id, channel_id);
ALTER TABLE ONLY {s}.event_sequences
    ADD CONSTRAINT event_sequences_pkey PRIMARY KEY (room_id);
ALTER TABLE ONLY {s}.event_versions
    ADD CONSTRAINT event_versions_pkey PRIMARY KEY (room_id, event_id, "position");
ALTER TABLE ONLY {s}.events
    ADD CONSTRAINT events_id_key UNIQUE (room_id, id);
ALTER TABLE ONLY {s}.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (room_id, index);
ALTER TABLE ONLY {s}.identities
    ADD CONSTRAINT identities_pkey PRIMARY KEY (tenant, id);
ALTER TABLE ONLY {s}.identity_addresses
    ADD CONSTRAINT identity_addresses_pkey PRIMARY KEY (tenant, channel_type, address, identity_id);
ALTER TABLE ONLY {s}.observations
    ADD CONSTRAINT observations_pkey PRIMARY KEY (room_id, "position");
ALTER TABLE ONLY {s}.outcomes
    ADD CONSTRAINT outcomes_pkey PRIMARY KEY (room_id, key);
ALTER TABLE ONLY {s}.owed
    ADD CONSTRAINT owed_pkey PRIMARY KEY (delivery_id, room_id);
ALTER TABLE ONLY {s}.participants
    ADD CONSTRAINT participants_pkey PRIMARY KEY (room_id, id);
ALTER TABLE ONLY {s}.read_markers
    ADD CONSTRAINT read_markers_pkey PRIMARY KEY (room_id, channel_id);
ALTER TABLE ONLY {s}.rooms
    ADD CONSTRAINT rooms_pkey PRIMARY KEY (room_id);
ALTER TABLE ONLY {s}.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (version);
ALTER TABLE ONLY {s}.senders
    ADD CONSTRAINT senders_pkey PRIMARY KEY (room_id, channel_type, sender_id);
ALTER TABLE ONLY {s}.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (room_id, "position");
CREATE INDEX bindings_open ON {s}.bindings USING btree (tenant, channel_id, room_id) WHERE open;
CREATE INDEX events_by_age ON {s}.events USING btree (tenant, redacted, created_us);
CREATE INDEX events_by_parent ON {s}.events USING btree (room_id, parent_event_id, created_us) WHERE (parent_event_id IS NOT NULL);
CREATE INDEX events_by_words ON {s}.events USING gin (words) WITH (gin_pending_list_limit='64');
CREATE INDEX identity_addresses_by_identity ON {s}.identity_addresses USING btree (tenant, identity_id);
CREATE INDEX owed_by_lane ON {s}.owed USING btree (room_id, channel_id, index, delivery_id);
CREATE INDEX rooms_by_age ON {s}.rooms USING btree (created_us, room_id);
CREATE INDEX rooms_by_tenant ON {s}.rooms USING btree (tenant, created_us, room_id);
CREATE INDEX senders_open ON {s}.senders USING btree (tenant, channel_type, sender_id, room_id) WHERE open;
CREATE INDEX tasks_by_id ON {s}.tasks USING btree (room_id, id, "position");
