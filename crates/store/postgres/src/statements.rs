//! Every statement whose text does not depend on what is asked, with the schema in it.

use crate::migrations::Schema;
use crate::pool::Sql;

/// Statements by name, `{s}` standing for the schema.
macro_rules! statements {
    ($( $name:ident: $text:expr; )+) => {
        pub(crate) struct Statements {
            $( pub(crate) $name: Sql, )+
        }

        impl Statements {
            pub(crate) fn new(schema: &Schema) -> Self {
                Self { $( $name: schema.sql($text), )+ }
            }
        }
    };
}

statements! {
    commit: "SELECT * FROM {s}.commit_room_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
        $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32,
        $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51,
        $52, $53, $54, $55, $56, $57)";
    append: "WITH head AS (
            UPDATE {s}.event_sequences AS h SET version = h.version + 1, latest_index = $7,
                event_count = h.event_count + 1, updated_us = $4, activity_us = $4,
                fencing = greatest(h.fencing, $3)
            WHERE h.room_id = $1 AND h.version = $2 AND h.data_stamp = $5 AND h.bindings_stamp = $6
                AND $7 = coalesce(h.latest_index, -1) + 1
                AND coalesce($3 >= h.fencing, true)
                AND ($21 IS NULL OR EXISTS (SELECT 1 FROM {s}.senders AS x
                    JOIN {s}.participants AS p ON p.room_id = x.room_id AND p.id = $23
                    WHERE x.room_id = $1 AND x.channel_type = $20 AND x.sender_id = $21
                        AND $22 = ANY (p.connected_via)))
            RETURNING h.tenant, h.version, h.event_count),
        event AS (
            INSERT INTO {s}.events (room_id, index, id, tenant, type, channel_id, participant_id,
                parent_event_id, created_us, redacted, words, data, payload)
            SELECT $1, $7, $8, tenant, $9, $10, $11, $12, $13, $14, $15, $16, $17 FROM head),
        outcome AS (
            INSERT INTO {s}.outcomes (room_id, key, data) SELECT $1, $18, $19 FROM head
            WHERE $18 IS NOT NULL)
        SELECT version, event_count FROM head";
    room: "SELECT h.version, h.latest_index, h.event_count, h.updated_us, h.activity_us, h.data_stamp,
            CASE WHEN h.data_stamp IS DISTINCT FROM $2 THEN r.data END,
            h.bindings_stamp,
            CASE WHEN h.bindings_stamp IS DISTINCT FROM $3 THEN ARRAY(
                SELECT b.data FROM {s}.bindings AS b WHERE b.room_id = $1 ORDER BY b.position) END,
            CASE WHEN h.bindings_stamp IS DISTINCT FROM $3 THEN r.detached END
        FROM {s}.event_sequences AS h JOIN {s}.rooms AS r ON r.room_id = h.room_id
        WHERE h.room_id = $1";
    create_room: "WITH head AS (
            INSERT INTO {s}.event_sequences (room_id, tenant, open, version, latest_index, event_count,
                updated_us, activity_us, data_stamp, bindings_stamp)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9))
        INSERT INTO {s}.rooms (room_id, tenant, status, created_us, detached, data)
        VALUES ($1, $2, $10, $11, $12, $13)";
    delete_room: "SELECT {s}.delete_room_1($1)";
    rooms_of_sender: "SELECT room_id FROM {s}.senders
        WHERE open AND tenant = $1 AND channel_type = $2 AND sender_id = $3
        ORDER BY room_id LIMIT $4";
    rooms_of_channel: "SELECT room_id FROM {s}.bindings
        WHERE open AND tenant = $1 AND channel_id = $2
        ORDER BY room_id LIMIT $3";
    bindings: "SELECT data FROM {s}.bindings WHERE room_id = $1 ORDER BY position";
    binding: "SELECT data FROM {s}.bindings WHERE room_id = $1 AND channel_id = $2";

    event: "SELECT id, data, payload FROM {s}.events WHERE room_id = $1 AND id = $2";
    event_versions: "SELECT id, data, payload FROM (
            SELECT event_id AS id, data, payload, position
            FROM {s}.event_versions WHERE room_id = $1 AND event_id = $2
            UNION ALL
            SELECT id, data, payload, 9223372036854775807
            FROM {s}.events WHERE room_id = $1 AND id = $2) AS v
        ORDER BY position";
    outcome: "SELECT data FROM {s}.outcomes WHERE room_id = $1 AND key = $2";
    delete_events: "SELECT {s}.delete_events_1($1, $2)";
    threads: "SELECT count(e.room_id), max(e.created_us)
        FROM unnest($2::text[]) WITH ORDINALITY AS r (root, n)
        LEFT JOIN {s}.events AS e ON e.room_id = $1 AND e.parent_event_id = r.root
        GROUP BY r.n ORDER BY r.n";
    expire_events: "WITH gone AS (
            DELETE FROM {s}.events AS e USING unnest($1::text[], $2::text[]) AS x (room_id, id)
            WHERE e.room_id = x.room_id AND e.id = x.id RETURNING e.room_id, e.id),
        versions AS (DELETE FROM {s}.event_versions AS v USING gone
            WHERE v.room_id = gone.room_id AND v.event_id = gone.id),
        owed AS (DELETE FROM {s}.owed AS o USING gone
            WHERE o.room_id = gone.room_id AND o.event_id = gone.id)
        SELECT count(*) FROM gone";
    to_redact: "SELECT e.room_id, e.id, e.data
        FROM unnest($1::text[], $2::text[]) AS x (room_id, id)
        JOIN {s}.events AS e ON e.room_id = x.room_id AND e.id = x.id
        WHERE NOT e.redacted";
    redact_events: "WITH done AS (
            UPDATE {s}.events AS e SET data = x.data, payload = NULL, words = NULL, redacted = true
            FROM unnest($1::text[], $2::text[], $3::text[]) AS x (room_id, id, data)
            WHERE e.room_id = x.room_id AND e.id = x.id AND NOT e.redacted
            RETURNING e.room_id, e.id),
        versions AS (DELETE FROM {s}.event_versions AS v USING done
            WHERE v.room_id = done.room_id AND v.event_id = done.id)
        SELECT count(*) FROM done";
    tenants_but: "WITH RECURSIVE t (tenant) AS (
            (SELECT r.tenant FROM {s}.rooms AS r ORDER BY r.tenant LIMIT 1)
            UNION ALL
            SELECT (SELECT r.tenant FROM {s}.rooms AS r WHERE r.tenant > t.tenant
                ORDER BY r.tenant LIMIT 1)
            FROM t WHERE t.tenant IS NOT NULL)
        SELECT tenant FROM t WHERE tenant IS NOT NULL AND tenant <> ALL ($1)";
    expired: "SELECT e.id, e.room_id, e.created_us, e.index
        FROM (SELECT t.tenant FROM unnest($1::text[]) AS t (tenant)
            CROSS JOIN LATERAL (SELECT f.created_us FROM {s}.events AS f
                WHERE f.tenant = t.tenant AND NOT f.redacted AND f.created_us < $2
                ORDER BY f.created_us LIMIT 1) AS h
            ORDER BY h.created_us, t.tenant LIMIT $3) AS o
        CROSS JOIN LATERAL (SELECT f.* FROM {s}.events AS f
            WHERE f.tenant = o.tenant AND NOT f.redacted AND f.created_us < $2
            ORDER BY f.created_us, f.room_id, f.index LIMIT $3) AS e
        ORDER BY e.created_us, e.room_id, e.index LIMIT $3";
    expired_redacted: "SELECT e.id, e.room_id, e.created_us, e.index
        FROM (SELECT t.tenant FROM unnest($1::text[]) AS t (tenant)
            CROSS JOIN LATERAL (SELECT f.created_us FROM {s}.events AS f
                WHERE f.tenant = t.tenant AND f.redacted AND f.created_us < $2
                ORDER BY f.created_us LIMIT 1) AS h
            ORDER BY h.created_us, t.tenant LIMIT $3) AS o
        CROSS JOIN LATERAL (SELECT f.* FROM {s}.events AS f
            WHERE f.tenant = o.tenant AND f.redacted AND f.created_us < $2
            ORDER BY f.created_us, f.room_id, f.index LIMIT $3) AS e
        ORDER BY e.created_us, e.room_id, e.index LIMIT $3";

    participant: "SELECT data, connected_via FROM {s}.participants WHERE room_id = $1 AND id = $2";
    participants: "SELECT data, connected_via FROM {s}.participants
        WHERE room_id = $1 ORDER BY position";
    delete_participant: "DELETE FROM {s}.participants WHERE room_id = $1 AND id = $2 RETURNING true";
    put_identity: "INSERT INTO {s}.identities (tenant, id, data) VALUES ($1, $2, $3)
        ON CONFLICT ON CONSTRAINT identities_pkey DO UPDATE SET data = excluded.data";
    forget_addresses: "DELETE FROM {s}.identity_addresses WHERE tenant = $1 AND identity_id = $2";
    put_addresses: "INSERT INTO {s}.identity_addresses (tenant, channel_type, address, identity_id)
        SELECT $1, x.channel_type, x.address, $2
        FROM unnest($3::text[], $4::text[]) AS x (channel_type, address)
        ON CONFLICT ON CONSTRAINT identity_addresses_pkey DO NOTHING";
    identity: "SELECT data FROM {s}.identities WHERE tenant = $1 AND id = $2";
    identities_by_address: "SELECT i.data FROM {s}.identity_addresses AS a
        JOIN {s}.identities AS i ON i.tenant = a.tenant AND i.id = a.identity_id
        WHERE a.tenant = $1 AND a.channel_type = $2 AND a.address = $3 ORDER BY i.id";
    mark_read: "INSERT INTO {s}.read_markers AS m (room_id, channel_id, index, data)
        SELECT h.room_id, $2, $3, $4 FROM {s}.event_sequences AS h WHERE h.room_id = $1
        FOR KEY SHARE
        ON CONFLICT ON CONSTRAINT read_markers_pkey
        DO UPDATE SET index = excluded.index, data = excluded.data WHERE m.index < excluded.index";
    read_markers: "SELECT data FROM {s}.read_markers WHERE room_id = $1 ORDER BY channel_id";
    unread: "SELECT count(*) FROM {s}.events AS e
        WHERE e.room_id = $1 AND e.channel_id <> $2 AND e.index > coalesce(
            (SELECT m.index FROM {s}.read_markers AS m WHERE m.room_id = $1 AND m.channel_id = $2), -1)";

    tasks: "SELECT data FROM {s}.tasks WHERE room_id = $1 ORDER BY position";
    task: "SELECT data FROM {s}.tasks WHERE room_id = $1 AND id = $2 ORDER BY position LIMIT 1";
    update_task: "UPDATE {s}.tasks AS t SET data = $3 WHERE t.room_id = $1 AND t.position = (
            SELECT x.position FROM {s}.tasks AS x WHERE x.room_id = $1 AND x.id = $2
            ORDER BY x.position LIMIT 1)
        RETURNING true";
    observations: "SELECT data FROM {s}.observations WHERE room_id = $1 ORDER BY position";
    owed: "SELECT data FROM {s}.owed ORDER BY room_id, channel_id, index, delivery_id LIMIT $1";
    owed_in_room: "SELECT data FROM {s}.owed WHERE room_id = $1
        ORDER BY channel_id, index, delivery_id LIMIT $2";
    settle_owed: "DELETE FROM {s}.owed WHERE delivery_id = $1 AND room_id = (
            SELECT o.room_id FROM {s}.owed AS o WHERE o.delivery_id = $1 ORDER BY o.room_id LIMIT 1)
        RETURNING true";
    update_owed: "UPDATE {s}.owed SET channel_id = $3, index = $4, event_id = $5, data = $6
        WHERE delivery_id = $1 AND room_id = $2 RETURNING true";

    lock_room: "SELECT version FROM {s}.event_sequences WHERE room_id = $1 FOR NO KEY UPDATE";
    lock_rooms: "SELECT 1 FROM {s}.event_sequences WHERE room_id = ANY ($1)
        ORDER BY room_id FOR NO KEY UPDATE";
    has_event: "SELECT 1 FROM {s}.events WHERE room_id = $1 AND index = $2 AND id = $3";
    fence_room: "UPDATE {s}.event_sequences SET version = version + 1 WHERE room_id = $1";

    dump_participants: "DECLARE dump_participants NO SCROLL CURSOR FOR SELECT data, connected_via FROM {s}.participants
        WHERE room_id = $1 ORDER BY position";
    fetch_dump_participants: "FETCH 200 FROM dump_participants";
    dump_senders: "DECLARE dump_senders NO SCROLL CURSOR FOR SELECT channel_type, sender_id FROM {s}.senders
        WHERE room_id = $1 ORDER BY channel_type, sender_id";
    fetch_dump_senders: "FETCH 200 FROM dump_senders";
    dump_events: "DECLARE dump_events NO SCROLL CURSOR FOR SELECT e.id, e.data, e.payload, EXISTS (
            SELECT 1 FROM {s}.event_versions AS v WHERE v.room_id = $1 AND v.event_id = e.id)
        FROM {s}.events AS e WHERE e.room_id = $1 ORDER BY e.index";
    fetch_dump_events: "FETCH 200 FROM dump_events";
    dump_versions: "SELECT event_id, data, payload FROM {s}.event_versions
        WHERE room_id = $1 AND event_id = $2 ORDER BY position";
    dump_outcomes: "DECLARE dump_outcomes NO SCROLL CURSOR FOR SELECT data FROM {s}.outcomes
        WHERE room_id = $1 ORDER BY key";
    fetch_dump_outcomes: "FETCH 200 FROM dump_outcomes";
    dump_tasks: "DECLARE dump_tasks NO SCROLL CURSOR FOR SELECT data FROM {s}.tasks WHERE room_id = $1 ORDER BY position";
    fetch_dump_tasks: "FETCH 200 FROM dump_tasks";
    dump_observations: "DECLARE dump_observations NO SCROLL CURSOR FOR SELECT data FROM {s}.observations
        WHERE room_id = $1 ORDER BY position";
    fetch_dump_observations: "FETCH 200 FROM dump_observations";
    dump_markers: "DECLARE dump_markers NO SCROLL CURSOR FOR SELECT data FROM {s}.read_markers
        WHERE room_id = $1 ORDER BY channel_id";
    fetch_dump_markers: "FETCH 200 FROM dump_markers";
    dump_owed: "DECLARE dump_owed NO SCROLL CURSOR FOR SELECT data FROM {s}.owed WHERE room_id = $1 ORDER BY delivery_id";
    fetch_dump_owed: "FETCH 200 FROM dump_owed";

    restore_bindings: "INSERT INTO {s}.bindings (room_id, channel_id, tenant, open, data)
        SELECT $1, x.channel_id, $2, $3, x.data
        FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS x (channel_id, data, n) ORDER BY x.n";
    restore_participant: "INSERT INTO {s}.participants (room_id, id, connected_via, data)
        VALUES ($1, $2, $3, $4)";
    restore_senders: "INSERT INTO {s}.senders (room_id, channel_type, sender_id, tenant, open)
        SELECT $1, x.channel_type, x.sender_id, $2, $3
        FROM unnest($4::text[], $5::text[]) AS x (channel_type, sender_id)";
    restore_event: "INSERT INTO {s}.events (room_id, index, id, tenant, type, channel_id,
            participant_id, parent_event_id, created_us, redacted, words, data, payload)
        VALUES ($1, $3, $4, $2, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    restore_version: "INSERT INTO {s}.event_versions (room_id, event_id, data, payload)
        VALUES ($1, $2, $3, $4)";
    restore_outcomes: "INSERT INTO {s}.outcomes (room_id, key, data)
        SELECT $1, x.key, x.data FROM unnest($2::text[], $3::text[]) AS x (key, data)";
    restore_tasks: "INSERT INTO {s}.tasks (room_id, id, data) SELECT $1, x.id, x.data
        FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS x (id, data, n) ORDER BY x.n";
    restore_observations: "INSERT INTO {s}.observations (room_id, id, data) SELECT $1, x.id, x.data
        FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS x (id, data, n) ORDER BY x.n";
    restore_marker: "INSERT INTO {s}.read_markers (room_id, channel_id, index, data)
        VALUES ($1, $2, $3, $4)";
    restore_owed: "INSERT INTO {s}.owed (delivery_id, room_id, channel_id, index, event_id, data)
        VALUES ($2, $1, $3, $4, $5, $6)";
}
