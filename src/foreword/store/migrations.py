"""The database's tables, as numbered steps: step N brings ``user_version`` from N to N + 1.

A step that has been released never changes. ``tenant`` and ``session`` columns hold the short numbers of
those tables, so that a row of the log spends three bytes on them and not sixty.
"""

from __future__ import annotations

from foreword.store.database import Database

APPLICATION_ID = 0x466F7265  # "Fore", in the file's header: tells our database from another program's

STEPS: tuple[str, ...] = (
    """
    CREATE TABLE store (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        erasures_begun INTEGER NOT NULL DEFAULT 0,
        erasures_finished INTEGER NOT NULL DEFAULT 0
    );
    INSERT INTO store (id) VALUES (1);

    CREATE TABLE tenant (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        key BLOB NOT NULL
    );

    CREATE TABLE session (
        id INTEGER PRIMARY KEY,
        tenant INTEGER NOT NULL REFERENCES tenant (id),
        session TEXT NOT NULL,
        alias TEXT NOT NULL UNIQUE,
        format TEXT NOT NULL,
        source TEXT,
        parent INTEGER REFERENCES session (id),
        parent_at INTEGER,
        UNIQUE (tenant, session),
        CHECK ((parent IS NULL) = (parent_at IS NULL))
    );
    CREATE INDEX session_parent ON session (parent) WHERE parent IS NOT NULL;

    CREATE TABLE event (
        tenant INTEGER NOT NULL,
        session INTEGER NOT NULL REFERENCES session (id),
        seq INTEGER NOT NULL,
        kind TEXT NOT NULL,
        schema INTEGER,
        at INTEGER NOT NULL,
        actor TEXT,
        origin TEXT,
        trust TEXT,
        subject TEXT,
        audience TEXT,
        causes TEXT,
        "commit" BLOB NOT NULL,
        link BLOB NOT NULL,
        nonce BLOB,
        payload BLOB,
        artifact BLOB,
        CHECK (payload IS NULL OR artifact IS NULL)
    );
    CREATE UNIQUE INDEX event_key ON event (tenant, session, seq);
    CREATE INDEX event_epoch ON event (tenant, session, seq) WHERE kind = 'epoch_started';
    CREATE INDEX event_artifact ON event (artifact) WHERE artifact IS NOT NULL;

    CREATE TABLE units (
        tenant INTEGER NOT NULL,
        session INTEGER NOT NULL REFERENCES session (id),
        seq INTEGER NOT NULL,
        data BLOB NOT NULL
    );
    CREATE UNIQUE INDEX units_key ON units (tenant, session, seq);
    """,
)


def version_of(db: Database) -> int:
    """Return the number of steps that this database has taken."""
    return int(db.pragma("user_version"))


def migrate(db: Database) -> None:
    """Take the steps that are missing, all or none; several processes may try at once."""
    if version_of(db) == len(STEPS):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        for number in range(version_of(db), len(STEPS)):
            db.execute(STEPS[number])
        db.pragma("user_version", len(STEPS))
        db.pragma("application_id", APPLICATION_ID)
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
