// SPDX-License-Identifier: BSD-3-Clause
// Steps that create and extend the database schema; each database runs each step once, in order.
// Append only: never change a step of a released version. For store_open.c and store_copy.c.
#ifndef RGPU_BROKER_MIGRATIONS_H
#define RGPU_BROKER_MIGRATIONS_H

static const char *const migrations[] = {
    // 1: the pool. Triggers enforce the two most important rules again, in case of errors in the
    // code.
    "CREATE TABLE boxes ("
    "  name TEXT PRIMARY KEY, addresses TEXT NOT NULL, locality TEXT NOT NULL,"
    "  transports TEXT NOT NULL, version TEXT NOT NULL, instance TEXT NOT NULL,"
    "  drained INTEGER NOT NULL DEFAULT 0 CHECK (drained IN (0, 1)),"
    "  registered INTEGER NOT NULL, seen INTEGER NOT NULL"
    ") STRICT;"

    "CREATE TABLE gpus ("
    "  uuid TEXT PRIMARY KEY, box TEXT NOT NULL REFERENCES boxes(name) ON DELETE CASCADE,"
    "  number INTEGER NOT NULL, model TEXT NOT NULL,"
    "  memory INTEGER NOT NULL CHECK (memory >= 0),"
    "  reserved INTEGER NOT NULL CHECK (reserved >= 0),"
    "  context INTEGER NOT NULL CHECK (context >= 0),"
    "  mode TEXT NOT NULL CHECK (mode IN ('exclusive', 'shared')),"
    "  drained INTEGER NOT NULL DEFAULT 0 CHECK (drained IN (0, 1)),"
    "  present INTEGER NOT NULL DEFAULT 1 CHECK (present IN (0, 1))"
    ") STRICT;"
    "CREATE INDEX gpus_by_box ON gpus(box);"

    "CREATE TABLE leases ("
    "  id TEXT PRIMARY KEY, key TEXT UNIQUE, owner INTEGER NOT NULL, job TEXT NOT NULL,"
    "  state TEXT NOT NULL CHECK (state IN ('queued', 'granted', 'lost', 'ending', 'ended')),"
    "  request TEXT NOT NULL, lifetime INTEGER NOT NULL,"
    "  created INTEGER NOT NULL, granted INTEGER NOT NULL DEFAULT 0,"
    "  expires INTEGER NOT NULL DEFAULT 0, ended INTEGER NOT NULL DEFAULT 0,"
    "  ticket_until INTEGER NOT NULL DEFAULT 0,"
    "  sequence INTEGER NOT NULL, reason TEXT NOT NULL DEFAULT ''"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX leases_live ON leases(state) WHERE state <> 'ended';"
    "CREATE INDEX leases_ended ON leases(ended) WHERE state = 'ended';"

    "CREATE TABLE holds ("
    "  lease TEXT NOT NULL REFERENCES leases(id) ON DELETE CASCADE,"
    "  ordinal INTEGER NOT NULL, gpu TEXT NOT NULL, box TEXT NOT NULL,"
    "  mode TEXT NOT NULL CHECK (mode IN ('exclusive', 'shared')),"
    "  memory INTEGER NOT NULL, context INTEGER NOT NULL,"
    "  held INTEGER NOT NULL DEFAULT 1 CHECK (held IN (0, 1)),"
    "  PRIMARY KEY (lease, ordinal)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX holds_by_gpu ON holds(gpu) WHERE held = 1;"
    "CREATE UNIQUE INDEX one_exclusive_holder ON holds(gpu) WHERE held = 1 AND mode = 'exclusive';"
    "CREATE INDEX holds_by_box ON holds(box);"

    "CREATE TRIGGER no_double_grant BEFORE INSERT ON holds WHEN NEW.held = 1 BEGIN"
    "  SELECT RAISE(ABORT, 'gpu is held') WHERE EXISTS (SELECT 1 FROM holds"
    "    WHERE gpu = NEW.gpu AND held = 1 AND"
    "    (mode = 'exclusive' OR NEW.mode = 'exclusive' OR lease = NEW.lease));"
    "  SELECT RAISE(ABORT, 'gpu has another mode') WHERE NEW.mode <>"
    "    (SELECT mode FROM gpus WHERE uuid = NEW.gpu);"
    "  SELECT RAISE(ABORT, 'over the memory') WHERE NEW.mode = 'shared' AND"
    "    (SELECT coalesce(sum(memory + context), 0) FROM holds WHERE gpu = NEW.gpu AND held = 1)"
    "    + NEW.memory + NEW.context >"
    "    (SELECT memory - reserved FROM gpus WHERE uuid = NEW.gpu);"
    "END;"
    "CREATE TRIGGER holds_are_not_taken_back BEFORE UPDATE OF held ON holds"
    "  WHEN OLD.held = 0 AND NEW.held = 1 BEGIN"
    "  SELECT RAISE(ABORT, 'a hold given back stays so'); END;"
    "CREATE TRIGGER mode_of_an_idle_gpu BEFORE UPDATE OF mode ON gpus"
    "  WHEN OLD.mode <> NEW.mode BEGIN"
    "  SELECT RAISE(ABORT, 'gpu is held') WHERE EXISTS"
    "    (SELECT 1 FROM holds WHERE gpu = NEW.uuid AND held = 1); END;"
    "CREATE TRIGGER an_ended_lease_holds_nothing BEFORE UPDATE OF state ON leases"
    "  WHEN NEW.state = 'ended' BEGIN"
    "  SELECT RAISE(ABORT, 'lease holds gpus') WHERE EXISTS"
    "    (SELECT 1 FROM holds WHERE lease = NEW.id AND held = 1); END;"

    "CREATE TABLE events ("
    "  sequence INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, kind TEXT NOT NULL,"
    "  box TEXT, gpu TEXT, lease TEXT, actor TEXT NOT NULL, detail TEXT NOT NULL"
    ") STRICT;",

    // 2: a key belongs to its creator: all schedulers together (-1), or one user.
    "CREATE TABLE leases_2 ("
    "  id TEXT PRIMARY KEY, key TEXT, key_owner INTEGER NOT NULL, owner INTEGER NOT NULL,"
    "  job TEXT NOT NULL,"
    "  state TEXT NOT NULL CHECK (state IN ('queued', 'granted', 'lost', 'ending', 'ended')),"
    "  request TEXT NOT NULL, lifetime INTEGER NOT NULL,"
    "  created INTEGER NOT NULL, granted INTEGER NOT NULL DEFAULT 0,"
    "  expires INTEGER NOT NULL DEFAULT 0, ended INTEGER NOT NULL DEFAULT 0,"
    "  ticket_until INTEGER NOT NULL DEFAULT 0,"
    "  sequence INTEGER NOT NULL, reason TEXT NOT NULL DEFAULT '',"
    "  UNIQUE (key_owner, key)"
    ") STRICT, WITHOUT ROWID;"
    "INSERT INTO leases_2 (id, key, key_owner, owner, job, state, request, lifetime, created,"
    "  granted, expires, ended, ticket_until, sequence, reason)"
    "  SELECT id, key, -1, owner, job, state, request, lifetime, created, granted, expires, ended,"
    "  ticket_until, sequence, reason FROM leases;"
    "UPDATE leases_2 SET key_owner = owner WHERE id IN (SELECT lease FROM events"
    "  WHERE kind IN ('lease.granted', 'lease.queued') AND"
    "  (actor LIKE 'user uid=%' OR actor LIKE 'box uid=%'));"
    "DROP TABLE leases;"
    "ALTER TABLE leases_2 RENAME TO leases;"
    "CREATE INDEX leases_live ON leases(state) WHERE state <> 'ended';"
    "CREATE INDEX leases_ended ON leases(ended) WHERE state = 'ended';"
    "CREATE TRIGGER an_ended_lease_holds_nothing BEFORE UPDATE OF state ON leases"
    "  WHEN NEW.state = 'ended' BEGIN"
    "  SELECT RAISE(ABORT, 'lease holds gpus') WHERE EXISTS"
    "    (SELECT 1 FROM holds WHERE lease = NEW.id AND held = 1); END;",

    // 3: detects that the database was restored from an older copy.
    "ALTER TABLE leases ADD COLUMN epoch INTEGER NOT NULL DEFAULT 1;"
    "CREATE TABLE epochs (epoch INTEGER PRIMARY KEY, started INTEGER NOT NULL) STRICT;"
    "INSERT INTO epochs VALUES (1, 0);"
    "CREATE TABLE runs ("
    "  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,"
    "  after_event INTEGER NOT NULL, started INTEGER NOT NULL) STRICT;",

    // 4: a table that is written to test the disk.
    "CREATE TABLE probe (id INTEGER PRIMARY KEY CHECK (id = 1), time INTEGER NOT NULL) STRICT;",

    // 5: GPUs whose mode the broker may choose.
    "ALTER TABLE gpus ADD COLUMN automatic INTEGER NOT NULL DEFAULT 0 CHECK (automatic IN (0, 1));",

    // 6: compute capability of GPUs.
    "ALTER TABLE gpus ADD COLUMN capability INTEGER NOT NULL DEFAULT 0;",

    // 7: reason, author and time of drains.
    "ALTER TABLE boxes ADD COLUMN drain_reason TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE boxes ADD COLUMN drain_by TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE boxes ADD COLUMN drain_since INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE gpus ADD COLUMN drain_reason TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE gpus ADD COLUMN drain_by TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE gpus ADD COLUMN drain_since INTEGER NOT NULL DEFAULT 0;",

    // 8: GPU time of leases: last value of each box's count, and busy time per hour since 1970.
    "ALTER TABLE leases ADD COLUMN account TEXT NOT NULL DEFAULT '';"
    "CREATE TABLE busy_counts ("
    "  lease TEXT NOT NULL REFERENCES leases(id) ON DELETE CASCADE, box TEXT NOT NULL,"
    "  name TEXT NOT NULL, milliseconds INTEGER NOT NULL, estimated INTEGER NOT NULL,"
    "  PRIMARY KEY (lease, box)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE busy_hours ("
    "  lease TEXT NOT NULL REFERENCES leases(id) ON DELETE CASCADE, hour INTEGER NOT NULL,"
    "  milliseconds INTEGER NOT NULL, PRIMARY KEY (lease, hour)) STRICT, WITHOUT ROWID;",

    // 9: how boxes share GPUs among processes.
    "ALTER TABLE gpus ADD COLUMN sharing TEXT NOT NULL DEFAULT 'time';",

    // 10: suspended leases, which give their holds back and take them again.
    "ALTER TABLE leases ADD COLUMN suspension TEXT NOT NULL DEFAULT ''"
    "  CHECK (suspension IN ('', 'suspended', 'returning'));",

    // 11: compute limits of shares, and overcommitted memory. One share is never larger than its
    // GPU.
    "ALTER TABLE gpus ADD COLUMN parts INTEGER NOT NULL DEFAULT 0 CHECK (parts IN (0, 1));"
    "ALTER TABLE gpus ADD COLUMN overcommit INTEGER NOT NULL DEFAULT 100"
    "  CHECK (overcommit BETWEEN 100 AND 10000);"
    "DROP TRIGGER no_double_grant;"
    "CREATE TRIGGER no_double_grant BEFORE INSERT ON holds WHEN NEW.held = 1 BEGIN"
    "  SELECT RAISE(ABORT, 'gpu is held') WHERE EXISTS (SELECT 1 FROM holds"
    "    WHERE gpu = NEW.gpu AND held = 1 AND"
    "    (mode = 'exclusive' OR NEW.mode = 'exclusive' OR lease = NEW.lease));"
    "  SELECT RAISE(ABORT, 'gpu has another mode') WHERE NEW.mode <>"
    "    (SELECT mode FROM gpus WHERE uuid = NEW.gpu);"
    "  SELECT RAISE(ABORT, 'over the memory') WHERE NEW.mode = 'shared' AND"
    "    (NEW.memory + NEW.context > (SELECT memory - reserved FROM gpus WHERE uuid = NEW.gpu) OR"
    "    (SELECT coalesce(sum(memory + context), 0) FROM holds WHERE gpu = NEW.gpu AND held = 1)"
    "    + NEW.memory + NEW.context >"
    "    (SELECT memory * overcommit / 100 - reserved FROM gpus WHERE uuid = NEW.gpu));"
    "END;",

    // 12: leases that their boxes have suspended because their programs were idle.
    "ALTER TABLE leases ADD COLUMN idle INTEGER NOT NULL DEFAULT 0 CHECK (idle IN (0, 1));",

    // 13: moves to another GPU of the box: the target, and holds whose tickets name another GPU.
    "ALTER TABLE holds ADD COLUMN target TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE holds ADD COLUMN moved INTEGER NOT NULL DEFAULT 0 CHECK (moved IN (0, 1));",

    // 14: bytes that leases have sent and received over the network, beside their GPU time; and the
    // use by leases that are no longer kept, by days since 1970.
    "ALTER TABLE busy_counts ADD COLUMN bytes_in INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE busy_counts ADD COLUMN bytes_out INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE busy_hours ADD COLUMN bytes_in INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE busy_hours ADD COLUMN bytes_out INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE usage_days ("
    "  day INTEGER NOT NULL, owner INTEGER NOT NULL, account TEXT NOT NULL,"
    "  leases INTEGER NOT NULL, gpu_seconds INTEGER NOT NULL, mib_seconds INTEGER NOT NULL,"
    "  waited INTEGER NOT NULL, busy INTEGER NOT NULL, bytes_in REAL NOT NULL,"
    "  bytes_out REAL NOT NULL, estimated INTEGER NOT NULL,"
    "  PRIMARY KEY (day, owner, account)) STRICT, WITHOUT ROWID;",

    // 15: energy of leases, beside their GPU time.
    "ALTER TABLE busy_counts ADD COLUMN millijoules INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE busy_hours ADD COLUMN millijoules INTEGER NOT NULL DEFAULT 0;",
};

#endif
