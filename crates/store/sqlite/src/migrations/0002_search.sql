-- What is in here follows from the events: where it is there already, it is made anew.
DROP TABLE IF EXISTS words;
DROP TABLE IF EXISTS unindexed;

-- The words of every event, by the event's key. The words themselves are not kept, only where they are.
CREATE VIRTUAL TABLE words USING fts5 (
    text,
    content = '',
    contentless_delete = 1,
    detail = none,
    tokenize = 'ascii'
);

-- Events whose words are not in there yet: many at once cost much less than each with its commit.
CREATE TABLE unindexed (
    key INTEGER PRIMARY KEY
);
