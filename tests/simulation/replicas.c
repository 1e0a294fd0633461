// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/replicas.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "broker/replication/replication.h"
#include "broker/store/store_changes.h"
#include "tests/simulation/broker_process.h"
#include "tests/simulation/rare.h"
#include "tests/simulation/virtual_disk.h"

static struct {
    bool several;
    struct dice dice;
    sqlite3 *copy; // the database of a broker that follows
    uint64_t number, term;
    int64_t schema;
    struct log_entry flight; // the entry on its way; without bytes: none
    int64_t majority_from;   // moment from which a majority is there
} site;

void replicas_set_up(uint64_t seed)
{
    site.dice = dice_of(seed, "several brokers");
    site.several = dice_chance(&site.dice, 300);
}

struct replication *replicas(void)
{
    return site.several ? (struct replication *)(void *)&site : NULL;
}

// ---- the database that follows ----

static void replicas_run(const char *sql)
{
    if (sqlite3_exec(site.copy, sql, NULL, NULL, NULL) != SQLITE_OK)
        world_broken("a change of the log fails at another broker: %s: %s",
                     sqlite3_errmsg(site.copy), sql);
}

static void apply_change(const struct change_header *header, const char *sql)
{
    int before = sqlite3_total_changes(site.copy);

    replicas_run(sql);
    if ((uint32_t)(sqlite3_total_changes(site.copy) - before) != header->rows)
        world_broken("a change of the log has another effect at another broker: %s", sql);
}

static void apply_flight(void)
{
    struct change_header header;

    if (site.flight.first != site.number + 1)
        world_broken("the log has changes up to %llu, and then %llu",
                     (unsigned long long)site.number, (unsigned long long)site.flight.first);
    replicas_run("BEGIN");
    for (size_t at = 0; at < site.flight.size; at += sizeof(header) + header.size) {
        memcpy(&header, site.flight.bytes + at, sizeof(header));
        apply_change(&header, (const char *)site.flight.bytes + at + sizeof(header));
    }
    replicas_run("COMMIT");
    site.number = site.flight.last;
}

static void end_flight(bool arrives)
{
    if (site.flight.bytes && arrives)
        apply_flight();
    free(site.flight.bytes);
    site.flight = (struct log_entry){0};
}

// A database in memory has no log of its own, which two bytes of its header say.
static void set_log(uint8_t *bytes, bool has_log)
{
    bytes[18] = bytes[19] = has_log ? 2 : 1;
}

static void take_snapshot(const uint8_t *bytes, uint64_t size)
{
    uint8_t *own = sqlite3_malloc64(size);

    if (!own)
        abort();
    memcpy(own, bytes, size);
    set_log(own, false);
    sqlite3_close(site.copy);
    if (sqlite3_open_v2(":memory:", &site.copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, NULL) !=
            SQLITE_OK ||
        sqlite3_deserialize(site.copy, "main", own, (sqlite3_int64)size, (sqlite3_int64)size,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) !=
            SQLITE_OK)
        abort();
    replicas_run("PRAGMA foreign_keys = ON");
}

// ---- the leader ----

bool replicas_lead(void)
{
    sqlite3_int64 size = 0;
    uint8_t *bytes;

    if (!site.several)
        return true;
    if (world_now < site.majority_from)
        return false;
    site.term++;
    if (!site.copy)
        return true;
    bytes = sqlite3_serialize(site.copy, "main", &size, 0);
    if (!bytes)
        abort();
    set_log(bytes, true);
    disk_replace(bytes, size);
    sqlite3_free(bytes);
    return true;
}

void replicas_send(const struct log_entry *entry)
{
    site.flight = *entry;
}

bool replicas_have(void)
{
    if (world_now < site.majority_from)
        return false;
    end_flight(true);
    return true;
}

void replicas_lose_leader(void)
{
    bool arrives = dice_chance(&site.dice, 500);

    if (!site.several)
        return;
    if (site.flight.bytes)
        rare_note(arrives ? RARE_unknown_change_kept : RARE_unknown_change_lost);
    end_flight(arrives);
}

// ---- the majority ----

static void give_up_lead(void *unused)
{
    (void)unused;
    if (world_now < site.majority_from)
        broker_process_kill(false, dice_between(&site.dice, 100 * MS, 5 * SECOND));
}

void replicas_lose_majority(int64_t duration)
{
    if (!site.several)
        return;
    rare_note(RARE_majority_lost);
    site.majority_from = world_now + duration;
    world_after(&broker_host, dice_between(&site.dice, SECOND, 8 * SECOND), give_up_lead, NULL);
}

void replicas_heal(void)
{
    site.majority_from = 0;
}

// ---- what the broker calls (broker/replication) ----

bool replication_has_majority(struct replication *replication)
{
    (void)replication;
    return world_now >= site.majority_from;
}

json_t *replication_status(struct replication *replication)
{
    (void)replication;
    return json_pack("{s:s, s:s, s:I, s:[]}", "role", "leader", "leader", "broker", "position",
                     (json_int_t)site.number, "brokers");
}

void replication_note(struct replication *replication, struct log_position position)
{
    (void)replication;
    (void)position;
}

uint64_t replication_term(struct replication *replication)
{
    (void)replication;
    return site.term;
}

int64_t replication_schema(const struct replication *replication)
{
    (void)replication;
    return site.schema;
}

size_t replication_entry_max(void)
{
    return 1 << 20;
}

void replication_write_snapshot(struct replication *replication, const struct log_head *head,
                                const uint8_t *bytes)
{
    (void)replication;
    take_snapshot(bytes, head->size);
    site.number = head->position.number;
    site.schema = head->schema;
}
