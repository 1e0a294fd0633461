// SPDX-License-Identifier: BSD-3-Clause
#include "broker/store/statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Events that a user can cause without end (REPEATED), those of leases, and all others do not push
// each other out: each of these groups keeps its last ones. Those of names of schedulers are few,
// and all kept: the broker reads them when it begins.
#define REPEATED "kind IN ('ticket.issued', 'lease.renewed')"
#define OF_LEASES "kind LIKE 'lease.%' AND kind <> 'lease.renewed'"
#define OF_SCHEDULERS "kind = 'scheduler.named'"
#define OTHER "kind NOT LIKE 'lease.%' AND kind <> 'ticket.issued' AND NOT (" OF_SCHEDULERS ")"
#define EVENTS_BEYOND(group) \
    "DELETE FROM events WHERE " group " AND sequence <= (SELECT sequence FROM events WHERE " group \
    " ORDER BY sequence DESC LIMIT 1 OFFSET ?1)"

#define IS_OLD_LEASE "state = 'ended' AND ended < ?1 AND ticket_until < ?1"
#define PARTS_OF_LEASE \
    " (SELECT count(*) FROM holds WHERE lease = leases.id) AS gpus," \
    " (SELECT coalesce(sum(iif(holds.mode = 'shared', holds.memory, gpus.memory) >> 20), 0)" \
    " FROM holds LEFT JOIN gpus ON uuid = gpu WHERE lease = leases.id) AS mib," \
    " (SELECT coalesce(max(estimated), 0) FROM busy_counts WHERE lease = leases.id) AS estimated,"

const struct statement_text statement_texts[STATEMENT_COUNT] = {
    [BEGIN] = {"BEGIN IMMEDIATE", NULL},
    [COMMIT] = {"COMMIT", NULL},
    [ADD_EVENT] = {"INSERT INTO events (time, kind, box, gpu, lease, actor, detail)"
                   " VALUES (?, ?, ?, ?, ?, ?, ?)",
                   NULL},
    [PUT_BOX] = {"INSERT INTO boxes ({columns}) VALUES ({values})"
                 " ON CONFLICT (name) DO UPDATE SET {said}",
                 box_columns},
    [PUT_GPU] = {"INSERT INTO gpus ({columns}) VALUES ({values})"
                 " ON CONFLICT (uuid) DO UPDATE SET {said}",
                 gpu_columns},
    [DELETE_GPU] = {"DELETE FROM gpus WHERE uuid = ?", NULL},
    [DELETE_BOX] = {"DELETE FROM boxes WHERE name = ?", NULL},
    [BOX_DRAINED] = {"UPDATE boxes SET {steered} WHERE name = :name", box_columns},
    [GPU_DRAINED] = {"UPDATE gpus SET {steered} WHERE uuid = :uuid", gpu_columns},
    [GPU_MODE] = {"UPDATE gpus SET mode = ?2, automatic = ?3 WHERE uuid = ?1", NULL},
    [GPU_PRESENT] = {"UPDATE gpus SET present = ?2 WHERE uuid = ?1", NULL},
    [INSERT_LEASE] = {"INSERT INTO leases ({columns}) VALUES ({values})", lease_columns},
    [UPDATE_LEASE] = {"UPDATE leases SET {changes} WHERE id = :id", lease_columns},
    [INSERT_HOLD] = {"INSERT INTO holds (lease, {columns}) VALUES (:lease, {values})",
                     hold_columns},
    [RELEASE_HOLD] = {"UPDATE holds SET held = 0, target = '' WHERE lease = ? AND ordinal = ?",
                      NULL},
    [PUT_HOLD] = {"INSERT OR REPLACE INTO holds (lease, {columns}) VALUES (:lease, {values})",
                  hold_columns},
    [TARGET_HOLD] = {"UPDATE holds SET target = ?3 WHERE lease = ?1 AND ordinal = ?2", NULL},
    [SHIFT_EXPIRY] = {"UPDATE leases SET expires = expires + ?1"
                      " WHERE state <> 'ended' AND expires <> 0",
                      NULL},
    [TRIM_LEASES] = {"DELETE FROM leases WHERE " IS_OLD_LEASE, NULL},
    [TRIM_REPEATED_EVENTS] = {EVENTS_BEYOND(REPEATED), NULL},
    [TRIM_LEASE_EVENTS] = {EVENTS_BEYOND(OF_LEASES), NULL},
    [TRIM_OTHER_EVENTS] = {EVENTS_BEYOND(OTHER), NULL},
    [PROBE] =
        {"INSERT INTO probe (id, time) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET time = ?1",
         NULL},
    [LOAD_BOXES] = {"SELECT {columns} FROM boxes ORDER BY name", box_columns},
    [LOAD_GPUS] = {"SELECT {columns} FROM gpus ORDER BY box, number", gpu_columns},
    [LOAD_LEASES] = {"SELECT {columns} FROM leases WHERE state <> 'ended' ORDER BY sequence",
                     lease_columns},
    [HOLDS] = {"SELECT {columns} FROM holds WHERE lease = ? ORDER BY ordinal", hold_columns},
    [LAST_EVENT] = {"SELECT coalesce(max(sequence), 0) FROM events", NULL},
    [ENDED_BY_ID] = {"SELECT {columns} FROM leases WHERE id = ? AND state = 'ended'",
                     lease_columns},
    [ENDED_BY_KEY] = {"SELECT {columns} FROM leases WHERE key = ?1 AND key_owner = ?2"
                      " AND state = 'ended'",
                      lease_columns},
    [ENDED_LIST] = {"SELECT {columns} FROM leases WHERE state = 'ended'"
                    " AND (?1 < 0 OR owner = ?1) ORDER BY ended DESC LIMIT ?2",
                    lease_columns},
    // A lease from an earlier epoch may have tickets that this database does not know of.
    [REVOCATIONS] =
        {"SELECT DISTINCT id AS lease, iif(epoch < ?3, NULL, ticket_until) AS until FROM leases"
         " JOIN holds ON holds.lease = id WHERE holds.box = ?1 AND"
         " (state = 'ended' OR (state = 'ending' AND held = 0)) AND (ticket_until > ?2 OR"
         " (epoch < ?3 AND ticket_until > 0 AND (state = 'ending' OR ended > ?4)))",
         NULL},
    [EPOCH] = {"SELECT coalesce(max(epoch), 1) FROM epochs", NULL},
    [EPOCH_AT] = {"SELECT coalesce(max(epoch), 1) FROM epochs WHERE epoch <= ?", NULL},
    [ADD_EPOCH] = {"INSERT INTO epochs (epoch, started) VALUES (?, ?)", NULL},
    [ADD_RUN] = {"INSERT INTO runs (id, after_event, started) VALUES (?, ?, ?)", NULL},
    [END_OF_RUN] = {"SELECT (SELECT after_event FROM runs AS later WHERE later.number > runs.number"
                    " ORDER BY number LIMIT 1) FROM runs WHERE id = ?",
                    NULL},
    // Memory in MiB, so that sums stay within 64 bits. ?5: 0 by owner, 1 by account, 2 by lease.
    // GPU time is known by the hour. Leases that are no longer kept are known by the day, which
    // counts if its noon is within the time.
    [USAGE] =
        {"SELECT owner, account, id, job, sum(leases) AS leases, sum(gpu_seconds) AS gpu_seconds,"
         " sum(mib_seconds) AS mib_seconds, sum(waited) AS waited, sum(busy) AS busy,"
         " total(bytes_in) AS bytes_in, total(bytes_out) AS bytes_out,"
         " max(estimated) AS estimated FROM (SELECT owner, account, id, job, 1 AS leases,"
         " span * gpus AS gpu_seconds, span * mib AS mib_seconds, waited, busy, bytes_in,"
         " bytes_out, estimated FROM (SELECT owner, account, id, job,"
         " max(0, min(?2, iif(ended > 0, ended, ?3)) - max(?1, granted)) AS span,"
         " max(0, granted - created) AS waited," PARTS_OF_LEASE
         " (SELECT coalesce(sum(milliseconds), 0) FROM busy_hours WHERE lease = leases.id"
         " AND hour >= ?1 / 3600 AND hour * 3600 < ?2) AS busy,"
         " (SELECT total(bytes_in) FROM busy_hours WHERE lease = leases.id"
         " AND hour >= ?1 / 3600 AND hour * 3600 < ?2) AS bytes_in,"
         " (SELECT total(bytes_out) FROM busy_hours WHERE lease = leases.id"
         " AND hour >= ?1 / 3600 AND hour * 3600 < ?2) AS bytes_out FROM leases"
         " WHERE granted > 0 AND granted < ?2 AND (ended = 0 OR ended > ?1)"
         " AND (?4 < 0 OR owner = ?4)) UNION ALL SELECT owner, account, '', '', leases,"
         " gpu_seconds, mib_seconds, waited, busy, bytes_in, bytes_out, estimated FROM usage_days"
         " WHERE ?5 < 2 AND day * 86400 + 43200 >= ?1 AND day * 86400 + 43200 < ?2"
         " AND (?4 < 0 OR owner = ?4)) GROUP BY CASE ?5 WHEN 0 THEN owner WHEN 1 THEN account"
         " ELSE id END ORDER BY gpu_seconds DESC LIMIT 10000",
         NULL},
    // Keeps the use by the leases that TRIM_LEASES deletes, split into days.
    [KEEP_USAGE] =
        {"INSERT INTO usage_days (day, owner, account, leases, gpu_seconds, mib_seconds, waited,"
         " busy, bytes_in, bytes_out, estimated) WITH RECURSIVE gone AS (SELECT id, owner, account,"
         " granted, ended, max(0, granted - created) AS waited," PARTS_OF_LEASE
         " granted / 86400 AS first FROM leases WHERE " IS_OLD_LEASE " AND granted > 0),"
         " parts AS (SELECT id, first AS day FROM gone UNION ALL SELECT parts.id, day + 1"
         " FROM parts JOIN gone ON gone.id = parts.id WHERE (day + 1) * 86400 < ended)"
         " SELECT day, owner, account, sum(day = first),"
         " sum(gpus * max(0, min(ended, (day + 1) * 86400) - max(granted, day * 86400))),"
         " sum(mib * max(0, min(ended, (day + 1) * 86400) - max(granted, day * 86400))),"
         " sum((day = first) * waited),"
         " sum((SELECT coalesce(sum(milliseconds), 0) FROM busy_hours WHERE lease = gone.id"
         " AND hour / 24 = day)),"
         " sum((SELECT total(bytes_in) FROM busy_hours WHERE lease = gone.id AND hour / 24 = day)),"
         " sum((SELECT total(bytes_out) FROM busy_hours WHERE lease = gone.id AND hour / 24 = day)),"
         " max(estimated) FROM parts JOIN gone ON gone.id = parts.id WHERE true"
         " GROUP BY day, owner, account ON CONFLICT (day, owner, account) DO UPDATE SET"
         " leases = leases + excluded.leases, gpu_seconds = gpu_seconds + excluded.gpu_seconds,"
         " mib_seconds = mib_seconds + excluded.mib_seconds, waited = waited + excluded.waited,"
         " busy = busy + excluded.busy, bytes_in = bytes_in + excluded.bytes_in,"
         " bytes_out = bytes_out + excluded.bytes_out,"
         " estimated = max(estimated, excluded.estimated)",
         NULL},
    // Two years.
    [TRIM_USAGE] = {"DELETE FROM usage_days WHERE day < ?1 / 86400 - 731", NULL},
    // The increase of the count since the last time; all of it for another count. Only a box on
    // which the lease had GPUs may add to it, and no more than the time since the grant on all of
    // its GPUs, with a minute for clocks. A clock that was set back since the grant bounds nothing.
    [ADD_BUSY_HOUR] =
        {"INSERT INTO busy_hours (lease, hour, milliseconds, bytes_in, bytes_out, millijoules)"
         " SELECT id, ?5 / 3600, max(0, min(?4 - known, room)), max(0, ?6 - known_in),"
         " max(0, ?7 - known_out), max(0, ?8 - known_energy) FROM (SELECT id,"
         " coalesce(last.millijoules, 0) AS known_energy,"
         " coalesce(last.milliseconds, 0) AS known, coalesce(last.bytes_in, 0) AS known_in,"
         " coalesce(last.bytes_out, 0) AS known_out,"
         " iif(?5 < granted, ?4, (?5 - granted + 60) * 1000 *"
         " (SELECT count(*) FROM holds WHERE lease = id) -"
         " (SELECT coalesce(sum(milliseconds), 0) FROM busy_hours WHERE lease = id)) AS room"
         " FROM leases LEFT JOIN busy_counts AS last"
         " ON last.lease = id AND last.box = ?2 AND last.name = ?3"
         " WHERE id = ?1 AND EXISTS (SELECT 1 FROM holds WHERE lease = id AND box = ?2))"
         " WHERE (known < ?4 AND room > 0) OR known_in < ?6 OR known_out < ?7 OR known_energy < ?8"
         " ON CONFLICT (lease, hour) DO UPDATE SET"
         " milliseconds = milliseconds + excluded.milliseconds,"
         " bytes_in = bytes_in + excluded.bytes_in, bytes_out = bytes_out + excluded.bytes_out,"
         " millijoules = millijoules + excluded.millijoules",
         NULL},
    [PUT_BUSY_COUNT] =
        {"INSERT INTO busy_counts (lease, box, name, milliseconds, estimated, bytes_in, bytes_out,"
         " millijoules) SELECT id, ?2, ?3, ?4, ?5, ?6, ?7, ?8 FROM leases"
         " WHERE id = ?1 AND EXISTS (SELECT 1 FROM holds WHERE lease = id AND box = ?2)"
         " ON CONFLICT (lease, box) DO UPDATE SET estimated = max(estimated, excluded.estimated),"
         " milliseconds = iif(name = excluded.name, max(milliseconds, excluded.milliseconds),"
         " excluded.milliseconds),"
         " bytes_in = iif(name = excluded.name, max(bytes_in, excluded.bytes_in),"
         " excluded.bytes_in),"
         " bytes_out = iif(name = excluded.name, max(bytes_out, excluded.bytes_out),"
         " excluded.bytes_out),"
         " millijoules = iif(name = excluded.name, max(millijoules, excluded.millijoules),"
         " excluded.millijoules), name = excluded.name",
         NULL},
    [BUSY_OF_LEASE] =
        {"SELECT ?1 AS id, -1 AS owner, coalesce(sum(milliseconds), 0) AS busy,"
         " total(millijoules) AS millijoules, total(bytes_in) AS bytes_in, total(bytes_out) AS bytes_out FROM busy_hours"
         " WHERE lease = ?1",
         NULL},
    [BUSY_OF_LIVE] = {"SELECT id, owner, coalesce(sum(milliseconds), 0) AS busy,"
                      " total(millijoules) AS millijoules, total(bytes_in) AS bytes_in,"
                      " total(bytes_out) AS bytes_out FROM (SELECT id, owner, sequence FROM leases"
                      " WHERE state <> 'ended' AND granted > 0 ORDER BY sequence LIMIT ?1)"
                      " LEFT JOIN busy_hours ON lease = id GROUP BY id ORDER BY sequence",
                      NULL},
    [EVENTS] = {"SELECT sequence, time, kind, box, gpu, lease, actor, detail FROM events"
                " WHERE sequence > ?1 ORDER BY sequence LIMIT ?2",
                NULL},
    // Without an index, which each event would pay for, so that the search is limited instead.
    [EVENTS_ABOUT] =
        {"SELECT * FROM (SELECT sequence, time, kind, box, gpu, lease, actor, detail FROM events"
         " WHERE sequence > (SELECT max(sequence) FROM events) - 50000 AND NOT (" REPEATED ")"
         " AND (lease = ?1 OR box = ?2 OR lease IN (SELECT lease FROM holds WHERE box = ?2))"
         " ORDER BY sequence DESC LIMIT ?3) ORDER BY sequence",
         NULL},
    [SCHEDULER_EVENTS] =
        {"SELECT * FROM (SELECT sequence, time, kind, box, gpu, lease, actor, detail FROM events"
         " WHERE " OF_SCHEDULERS " ORDER BY sequence DESC LIMIT ?1) ORDER BY sequence",
         NULL},
};

enum part { NAMES, PARAMETERS, ASSIGNMENTS };

static const struct {
    const char *word;
    enum part part;
    unsigned role; // of the columns that take part; 0: all
} words[] = {
    {"{columns}", NAMES, 0},
    {"{values}", PARAMETERS, 0},
    {"{said}", ASSIGNMENTS, COLUMN_SAID},
    {"{changes}", ASSIGNMENTS, COLUMN_CHANGES},
    {"{steered}", ASSIGNMENTS, COLUMN_STEERED},
};

static void put_columns(FILE *out, const struct column *columns, enum part part, unsigned role)
{
    const char *separator = "";

    for (const struct column *column = columns; column->name; column++) {
        if (role && !(column->roles & role))
            continue;
        fprintf(out, "%s%s%s", separator, part == PARAMETERS ? ":" : "", column->name);
        if (part == ASSIGNMENTS)
            fprintf(out, " = :%s", column->name);
        separator = ", ";
    }
}

// Writes the replacement of a word in braces, and returns the length of the word.
static size_t put_word(FILE *out, const struct statement_text *text, const char *at)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t size = strlen(words[i].word);
        if (strncmp(at, words[i].word, size))
            continue;
        put_columns(out, text->columns, words[i].part, words[i].role);
        return size;
    }
    fputc(*at, out);
    return 1;
}

char *statement_expand(const struct statement_text *text)
{
    char *sql = NULL;
    size_t size;
    FILE *out = open_memstream(&sql, &size);

    if (!out)
        return NULL;
    for (const char *at = text->sql; *at;) {
        size_t plain = strcspn(at, "{");
        fwrite(at, 1, plain, out);
        at += plain;
        if (*at)
            at += put_word(out, text, at);
    }
    return fclose(out) == 0 ? sql : NULL;
}
