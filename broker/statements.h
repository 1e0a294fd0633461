/* Every statement that the broker runs on its database. The file is part of store.c. */
#ifndef RGPU_BROKER_STATEMENTS_H
#define RGPU_BROKER_STATEMENTS_H

enum statement {
    BEGIN, COMMIT, ADD_EVENT, PUT_BOX, PUT_GPU, DELETE_BOX, BOX_DRAINED, GPU_DRAINED, GPU_MODE,
    GPU_PRESENT, INSERT_LEASE, UPDATE_LEASE, INSERT_HOLD, RELEASE_HOLD, SHIFT_EXPIRY, TRIM_LEASES,
    TRIM_EVENTS, PROBE, LOAD_BOXES, LOAD_GPUS, LOAD_LEASES, LOAD_HOLDS, LAST_SEQUENCE,
    LAST_EVENT, ENDED_BY_ID, ENDED_BY_KEY, ENDED_LIST, ENDED_HOLDS, REVOCATIONS, EVENTS, EPOCH,
    ADD_EPOCH, ADD_RUN, END_OF_RUN, STATEMENT_COUNT
};

#define LEASE_COLUMNS "id, key, owner, job, state, request, lifetime, created, granted, expires," \
    " ended, ticket_until, sequence, reason, key_owner, epoch"

static const char *const statement_text[STATEMENT_COUNT] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ADD_EVENT] = "INSERT INTO events (time, kind, box, gpu, lease, actor, detail)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
    [PUT_BOX] = "INSERT INTO boxes (name, addresses, locality, transports, version, instance,"
        " drained, registered, seen) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)"
        " ON CONFLICT (name) DO UPDATE SET addresses = ?2, locality = ?3, transports = ?4,"
        " version = ?5, instance = ?6, registered = ?8, seen = ?8",
    [PUT_GPU] = "INSERT INTO gpus (uuid, box, number, model, memory, reserved, context, mode,"
        " automatic) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (uuid) DO UPDATE SET box = ?2,"
        " number = ?3, model = ?4, memory = ?5, reserved = ?6, context = ?7, present = 1",
    [DELETE_BOX] = "DELETE FROM boxes WHERE name = ?",
    [BOX_DRAINED] = "UPDATE boxes SET drained = ?2 WHERE name = ?1",
    [GPU_DRAINED] = "UPDATE gpus SET drained = ?2 WHERE uuid = ?1",
    [GPU_MODE] = "UPDATE gpus SET mode = ?2, automatic = ?3 WHERE uuid = ?1",
    [GPU_PRESENT] = "UPDATE gpus SET present = ?2 WHERE uuid = ?1",
    [INSERT_LEASE] = "INSERT INTO leases (" LEASE_COLUMNS ")"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [UPDATE_LEASE] = "UPDATE leases SET state = ?2, granted = ?3, expires = ?4, ended = ?5,"
        " ticket_until = ?6, reason = ?7 WHERE id = ?1",
    [INSERT_HOLD] = "INSERT INTO holds (lease, ordinal, gpu, box, mode, memory, context)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
    [RELEASE_HOLD] = "UPDATE holds SET held = 0 WHERE lease = ? AND ordinal = ?",
    [SHIFT_EXPIRY] = "UPDATE leases SET expires = expires + ?1"
        " WHERE state <> 'ended' AND expires <> 0",
    [TRIM_LEASES] = "DELETE FROM leases WHERE state = 'ended' AND ended < ?1"
        " AND ticket_until < ?1",
    [TRIM_EVENTS] = "DELETE FROM events WHERE sequence <= (SELECT max(sequence) FROM events) - ?",
    [PROBE] = "INSERT INTO probe (id, time) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET time = ?1",
    [LOAD_BOXES] = "SELECT name, addresses, locality, transports, version, instance, drained, seen"
        " FROM boxes ORDER BY name",
    [LOAD_GPUS] = "SELECT uuid, box, number, model, memory, reserved, context, mode, drained,"
        " present, automatic FROM gpus ORDER BY box, number",
    [LOAD_LEASES] = "SELECT " LEASE_COLUMNS " FROM leases WHERE state <> 'ended' ORDER BY sequence",
    [LOAD_HOLDS] = "SELECT gpu, box, ordinal, mode, memory, context, held FROM holds"
        " WHERE lease = ? ORDER BY ordinal",
    [LAST_SEQUENCE] = "SELECT coalesce(max(sequence), 0) FROM leases",
    [LAST_EVENT] = "SELECT coalesce(max(sequence), 0) FROM events",
    [ENDED_BY_ID] = "SELECT " LEASE_COLUMNS " FROM leases WHERE id = ? AND state = 'ended'",
    [ENDED_BY_KEY] = "SELECT " LEASE_COLUMNS " FROM leases WHERE key = ?1 AND key_owner = ?2"
        " AND state = 'ended'",
    [ENDED_LIST] = "SELECT " LEASE_COLUMNS " FROM leases WHERE state = 'ended'"
        " AND (?1 < 0 OR owner = ?1) ORDER BY ended DESC LIMIT ?2",
    [ENDED_HOLDS] = "SELECT gpu, box, ordinal, mode, memory FROM holds WHERE lease = ?"
        " ORDER BY ordinal",
    /* Of one from an earlier epoch there may be tickets that this database does not know of. */
    [REVOCATIONS] = "SELECT DISTINCT id, iif(epoch < ?3, NULL, ticket_until) FROM leases"
        " JOIN holds ON holds.lease = id WHERE holds.box = ?1 AND state = 'ended' AND"
        " (ticket_until > ?2 OR (epoch < ?3 AND ticket_until > 0 AND ended > ?4))",
    [EPOCH] = "SELECT coalesce(max(epoch), 1) FROM epochs",
    [ADD_EPOCH] = "INSERT INTO epochs (epoch, started) VALUES (?, ?)",
    [ADD_RUN] = "INSERT INTO runs (id, after_event, started) VALUES (?, ?, ?)",
    [END_OF_RUN] = "SELECT (SELECT after_event FROM runs AS later WHERE later.number > runs.number"
        " ORDER BY number LIMIT 1) FROM runs WHERE id = ?",
    [EVENTS] = "SELECT sequence, time, kind, box, gpu, lease, actor, detail FROM events"
        " WHERE sequence > ?1 AND (?3 < 0 OR lease IN (SELECT id FROM leases WHERE owner = ?3))"
        " ORDER BY sequence LIMIT ?2",
};

#endif
