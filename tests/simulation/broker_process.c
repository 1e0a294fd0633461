// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/broker_process.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "broker/leases/history.h"
#include "broker/leases/start.h"
#include "broker/pool/names.h"
#include "common/base/fault.h"
#include "tests/simulation/exhaustive.h"
#include "tests/simulation/network.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/rare.h"
#include "tests/simulation/replicas.h"
#include "tests/simulation/virtual_disk.h"
#include "tests/simulation/virtual_system.h"

struct host broker_host = {.name = "broker"};
unsigned broker_starts, broker_deaths, broker_restores;

static struct {
    struct server server;
    struct broker broker;
    struct broker_settings settings;
    char *listen[2];
    jmp_buf end;
    bool silent, power, was_restored;
    struct dice dice;
    unsigned death_in, failure_in;
    int failure;
    int64_t restored_epoch; // of the copy that was restored last; 0: none
    unsigned restore;       // number of the copy and 1; 0: none
} process;

struct server *broker_process(void)
{
    return broker_host.up ? &process.server : NULL;
}

bool broker_process_is_silent(void)
{
    return process.silent;
}

// ---- points at which the code can die (common/base/fault.h) ----

bool fault_armed = true;

void fault_init(void)
{
}

int fault_hit(const char *point)
{
    if (exhaustive_fault_point_fails())
        return -EIO;
    if (world_host != &broker_host)
        return 0;
    if (process.death_in && !--process.death_in)
        broker_process_die(point);
    if (!process.failure_in || --process.failure_in)
        return 0;
    world_trace("point %s fails", point);
    oracle_doubt();
    return process.failure;
}

void broker_process_plan_death(unsigned points)
{
    process.death_in = points;
}

void broker_process_plan_failure(unsigned points, int error)
{
    process.failure_in = points;
    process.failure = error;
}

void broker_process_plan_restore(unsigned number)
{
    process.restore = number + 1;
}

bool broker_process_knows_its_loss(void)
{
    return !broker_host.up || !process.restored_epoch ||
           process.broker.epoch != process.restored_epoch;
}

bool broker_process_was_restored(void)
{
    bool was = process.was_restored;

    process.was_restored = false;
    return was;
}

// ---- changes: each has an event ----

enum outcome __real_store_add_event(struct store *store, int64_t now,
                                    const struct store_event *event);
enum outcome __wrap_store_add_event(struct store *store, int64_t now,
                                    const struct store_event *event);
enum outcome __wrap_store_add_event(struct store *store, int64_t now,
                                    const struct store_event *event)
{
    char *detail = world_verbose && event->detail ? json_dumps(event->detail, 0) : NULL;

    world_trace("event %s box=%s lease=%s actor=%s %s", event->kind, event->box ? event->box : "-",
                event->lease ? event->lease : "-", event->actor, detail ? detail : "");
    free(detail);
    rare_event(event->kind);
    oracle_event(event);
    return __real_store_add_event(store, now, event);
}

// ---- names of users, which a thread looks up (broker/pool/names.h) ----

struct names *names_new(void)
{
    return (struct names *)&process;
}

void names_free(struct names **names)
{
    *names = NULL;
}

const char *names_of(struct names *names, uid_t uid)
{
    (void)names;
    (void)uid;
    return NULL;
}

// ---- its life ----

static void set_keys(struct ticket_keyring *keys)
{
    *keys = (struct ticket_keyring){.count = 1};
    strcpy(keys->keys[0].id, "k1");
    memset(keys->keys[0].secret, 7, sizeof(keys->keys[0].secret));
}

static struct broker_limits limits_of(const struct broker_settings *settings)
{
    return (struct broker_limits){
        .away_seconds = (double)settings->away_after / 1e6,
        .ticket_seconds = (int64_t)(settings->ticket_lifetime / 1000000),
        .max_ticket_seconds = (int64_t)(settings->max_ticket_lifetime / 1000000),
        .history_seconds = (int64_t)(settings->history / 1000000),
        .keep_events = settings->keep_events,
    };
}

// The process, its memory and what it had not written are gone.
static void bury(void)
{
    bool power = process.power;

    broker_host.up = false;
    broker_host.life++;
    broker_deaths++;
    process.death_in = process.failure_in = 0;
    process.silent = power;
    virtual_fd_forget();
    network_broker_died(!power);
    replicas_lose_leader();
    disk_crash(!power);
    rare_note(power ? RARE_power_lost : RARE_broker_killed);
}

static void bury_and_restart(int64_t pause)
{
    bury();
    world_host = NULL;
    world_after(NULL, pause, broker_process_start, NULL);
}

void broker_process_die(const char *where)
{
    world_trace("the process dies at %s", where);
    rare_note(strstr(where, "commit") && !strstr(where, "before") ? RARE_died_after_a_commit
                                                                  : RARE_died_inside_a_transaction);
    process.power = dice_chance(&process.dice, 500);
    longjmp(process.end, 1);
}

void broker_process_call(world_event *function, void *argument)
{
    struct host *before = world_host;

    world_host = &broker_host;
    if (setjmp(process.end) == 0) {
        function(argument);
    } else {
        bury_and_restart(dice_between(&process.dice, 100 * MS, 20 * SECOND));
    }
    world_host = before;
}

void broker_process_kill(bool power, int64_t pause)
{
    if (!broker_host.up)
        return;
    world_trace("the broker's %s", power ? "machine loses power" : "process is killed");
    process.power = power;
    bury_and_restart(pause);
}

static void stop(void *unused)
{
    (void)unused;
    server_stop(&process.server);
    broker_close(&process.broker);
    broker_host.up = false;
    broker_host.life++;
    replicas_lose_leader();
    virtual_fd_forget();
}

void broker_process_stop(void)
{
    if (!broker_host.up)
        return;
    world_trace("the broker stops");
    broker_process_call(stop, NULL);
}

static void start(void *unused)
{
    unsigned faults = disk_faults_delivered;
    enum outcome error;

    (void)unused;
    memset(&process.server, 0, sizeof(process.server));
    memset(&process.broker, 0, sizeof(process.broker));
    process.broker.limits = limits_of(&process.settings);
    set_keys(&process.broker.keys);
    process.broker.replication = replicas();
    process.server.broker = &process.broker;
    process.server.settings = &process.settings;
    error = broker_open(DISK_DATABASE, true, &process.broker);
    if (error == OUTCOME_DATABASE_DAMAGED && faults == disk_faults_delivered)
        world_broken("the database is damaged after a crash");
    if (!error && replicas())
        error = history_take_over(&process.broker);
    if (error || server_start(&process.server)) {
        world_trace("the broker does not start: %s", outcomes[error].text);
        broker_process_die("its start");
    }
    set_keys(&process.broker.keys);
    broker_host.up = true;
    if (process.was_restored)
        process.restored_epoch = process.broker.epoch;
    process.silent = false;
}

void broker_process_start(void *unused)
{
    (void)unused;
    if (broker_host.up)
        return;
    if (!replicas_lead()) {
        world_after(NULL, SECOND, broker_process_start, NULL);
        return;
    }
    if (process.restore && !replicas() && disk_restore(process.restore - 1)) {
        world_trace("the database is restored from copy %u", process.restore - 1);
        process.was_restored = true;
        broker_restores++;
        rare_note(RARE_database_copy_restored);
    }
    process.restore = 0;
    broker_starts++;
    broker_process_call(start, NULL);
    if (broker_host.up)
        world_trace("the broker runs, start %u, epoch %lld, %zu leases", broker_starts,
                    (long long)process.broker.epoch, process.broker.pool->lease_count);
}

void broker_process_set_up(uint64_t seed)
{
    process.dice = dice_of(seed, "broker");
    broker_host.random = dice_of(seed, "broker's random numbers");
    process.settings = (struct broker_settings){
        .listen = process.listen,
        .max_connections = 10000,
        .user_leases = true,
        .anonymous_read = true,
        .heartbeat = 5000000,
        .away_after = 30000000,
        .ticket_lifetime = 600000000,
        .max_ticket_lifetime = 3600000000,
        .history = 86400000000,
        .keep_events = 100000,
    };
}
