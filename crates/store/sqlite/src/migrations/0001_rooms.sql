-- Rooms and all that belongs to them. Times are microseconds since 1970 (UTC).

CREATE TABLE rooms (
    key             INTEGER PRIMARY KEY,
    -- Nothing while the room is being restored: nobody finds it until it is whole.
    id              TEXT UNIQUE,
    organization_id TEXT,
    status          TEXT NOT NULL,
    created_us      INTEGER NOT NULL,
    -- These change with every event and stand here alone; those in `data` are not read.
    updated_us      INTEGER NOT NULL,
    activity_us     INTEGER,
    event_count     INTEGER NOT NULL,
    latest_index    INTEGER,
    version         INTEGER NOT NULL,
    fencing         INTEGER,
    detached        TEXT NOT NULL,
    data            TEXT NOT NULL
);
CREATE INDEX rooms_by_age ON rooms (created_us, id);
CREATE INDEX rooms_by_organization ON rooms (organization_id, created_us, id);

-- The key holds the room's key above the event's index: one of each, in the order of the timeline.
CREATE TABLE events (
    key             INTEGER PRIMARY KEY,
    room            INTEGER GENERATED ALWAYS AS (key >> 32) VIRTUAL,
    idx             INTEGER GENERATED ALWAYS AS (key & 4294967295) VIRTUAL,
    id              TEXT NOT NULL,
    type            TEXT NOT NULL,
    channel_id      TEXT NOT NULL,
    participant_id  TEXT,
    parent_id       TEXT,
    created_us      INTEGER NOT NULL,
    organization_id TEXT,
    redacted        INTEGER NOT NULL,
    data            TEXT NOT NULL,
    -- What the provider sent; see the documentation of roomkit-store.
    payload         BLOB
);
CREATE UNIQUE INDEX events_by_id ON events (room, id);
CREATE INDEX events_by_parent ON events (room, parent_id, created_us) WHERE parent_id IS NOT NULL;
CREATE INDEX events_by_age ON events (organization_id, redacted, created_us);

-- What edited events were before, the oldest first.
CREATE TABLE event_versions (
    event   INTEGER NOT NULL,
    version INTEGER NOT NULL,
    data    TEXT NOT NULL,
    payload BLOB,
    PRIMARY KEY (event, version)
) WITHOUT ROWID;

CREATE TABLE outcomes (
    room     INTEGER NOT NULL,
    key      TEXT NOT NULL,
    event_id TEXT NOT NULL,
    blocked  INTEGER NOT NULL,
    reason   TEXT,
    PRIMARY KEY (room, key)
) WITHOUT ROWID;

CREATE TABLE bindings (
    position        INTEGER PRIMARY KEY,
    room            INTEGER NOT NULL,
    channel_id      TEXT NOT NULL,
    room_id         TEXT NOT NULL,
    organization_id TEXT,
    -- Whether messages are routed to the room.
    open            INTEGER NOT NULL,
    data            TEXT NOT NULL,
    UNIQUE (room, channel_id)
);
CREATE INDEX bindings_by_channel ON bindings (organization_id, channel_id, room_id) WHERE open = 1;

CREATE TABLE participants (
    position INTEGER PRIMARY KEY,
    room     INTEGER NOT NULL,
    id       TEXT NOT NULL,
    data     TEXT NOT NULL,
    UNIQUE (room, id)
);

-- Who has spoken, which routes their next message.
CREATE TABLE senders (
    room            INTEGER NOT NULL,
    channel_type    TEXT NOT NULL,
    sender_id       TEXT NOT NULL,
    room_id         TEXT NOT NULL,
    organization_id TEXT,
    open            INTEGER NOT NULL,
    PRIMARY KEY (room, channel_type, sender_id)
) WITHOUT ROWID;
CREATE INDEX senders_by_sender ON senders (organization_id, channel_type, sender_id, room_id)
    WHERE open = 1;

CREATE TABLE tasks (
    position INTEGER PRIMARY KEY,
    room     INTEGER NOT NULL,
    id       TEXT NOT NULL,
    data     TEXT NOT NULL
);
CREATE INDEX tasks_by_id ON tasks (room, id);

CREATE TABLE observations (
    position INTEGER PRIMARY KEY,
    room     INTEGER NOT NULL,
    data     TEXT NOT NULL
);
CREATE INDEX observations_by_room ON observations (room);

CREATE TABLE read_markers (
    room       INTEGER NOT NULL,
    channel_id TEXT NOT NULL,
    data       TEXT NOT NULL,
    PRIMARY KEY (room, channel_id)
) WITHOUT ROWID;

CREATE TABLE owed (
    room        INTEGER NOT NULL,
    delivery_id TEXT NOT NULL,
    room_id     TEXT NOT NULL,
    channel_id  TEXT NOT NULL,
    idx         INTEGER NOT NULL,
    event_id    TEXT NOT NULL,
    data        TEXT NOT NULL,
    PRIMARY KEY (room, delivery_id)
) WITHOUT ROWID;
CREATE INDEX owed_in_order ON owed (room_id, channel_id, idx, delivery_id);
CREATE INDEX owed_by_id ON owed (delivery_id);

CREATE TABLE identities (
    key             INTEGER PRIMARY KEY,
    organization_id TEXT,
    id              TEXT NOT NULL,
    data            TEXT NOT NULL
);
CREATE UNIQUE INDEX identities_by_id ON identities (organization_id, id);
CREATE UNIQUE INDEX identities_of_none ON identities (id) WHERE organization_id IS NULL;

CREATE TABLE addresses (
    identity        INTEGER NOT NULL,
    channel_type    TEXT NOT NULL,
    address         TEXT NOT NULL,
    organization_id TEXT,
    identity_id     TEXT NOT NULL
);
CREATE INDEX addresses_by_address
    ON addresses (organization_id, channel_type, address, identity_id, identity);
CREATE INDEX addresses_by_identity ON addresses (identity);
