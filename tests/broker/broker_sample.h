// SPDX-License-Identifier: BSD-3-Clause
// A broker over a database in a temporary directory, and boxes that register and report: for tests
// of its core.
#ifndef RGPU_TESTS_BROKER_BROKER_SAMPLE_H
#define RGPU_TESTS_BROKER_BROKER_SAMPLE_H

#include <errno.h>
#include <unistd.h>

#include "broker/leases/boxes.h"
#include "broker/leases/history.h"
#include "broker/leases/queue_pass.h"
#include "broker/leases/leases.h"
#include "broker/leases/start.h"
#include "broker/leases/tick.h"
#include "broker/leases/tickets.h"
#include "common/base/clock.h"
#include "tests/broker/pool_sample.h"

static char path[] = "/tmp/rgpu-pool.XXXXXX";
static char file[64];
static struct broker broker;
static struct ticket_key cluster_key; // of all starts
static bool key_made;

static inline void make_directory(void)
{
    if (!mkdtemp(path))
        bail("no temporary directory");
    snprintf(file, sizeof(file), "%s/pool.sqlite", path);
}

// Closes the broker.
static inline void remove_directory(void)
{
    broker_close(&broker);
    unlink(file);
    rmdir(path);
}

static inline void open_broker(void)
{
    memset(&broker, 0, sizeof(broker));
    broker.limits = (struct broker_limits){.away_seconds = 10,
                                           .ticket_seconds = 3600,
                                           .max_ticket_seconds = 7200,
                                           .history_seconds = 3600,
                                           .keep_events = 1000};
    if (broker_open(file, false, &broker))
        bail("the broker does not open its database");
    if (!key_made && ticket_key_generate("k1", &cluster_key))
        bail("no key");
    key_made = true;
    broker.keys.keys[0] = cluster_key;
    broker.keys.count = 1;
}

static inline void restart(void)
{
    broker_close(&broker);
    open_broker();
}

// SEEN: the point of the history that the box remembers, or NULL.
static inline int register_seen(const char *name, const char *instance, int gpus, json_t *seen)
{
    const char *why;
    json_t *list = json_array(), *body = json_pack("{s:s, s:s, s:o}", "instance", instance,
                                                   "addresses", "h:1", "gpus", list);
    char uuid[64];
    int error;

    for (int i = 0; i < gpus; i++) {
        snprintf(uuid, sizeof(uuid), "%s-%d", name, i);
        json_array_append_new(list, json_pack("{s:s, s:i, s:s, s:I, s:I, s:s}", "uuid", uuid,
                                              "index", i, "model", "H200", "memory",
                                              (json_int_t)(100 * GB), "context", (json_int_t)GB,
                                              "mode", i < 2 ? "exclusive" : "shared"));
    }
    if (seen)
        json_object_set_new(body, "seen", seen);
    error = broker_register(&broker, name, body, "test", &why);
    json_decref(body);
    return error;
}

static inline int register_box(const char *name, const char *instance, int gpus)
{
    return register_seen(name, instance, gpus, NULL);
}

static inline int hear(const char *name, const char *instance, const char *running,
                       const char *ended)
{
    struct pool_box *box = pool_find_box(broker.pool, name);
    json_t *run = running ? json_pack("[s]", running) : json_array();
    json_t *end = ended ? json_pack("[s]", ended) : json_array();
    int error = broker_hear(&broker, box, instance, run, end, true, "test");

    json_decref(run);
    json_decref(end);
    broker_serve_queue(&broker);
    return error;
}

static inline int acquire(const char *key, uint32_t count, bool wait, bool ticket,
                          struct pool_lease **lease)
{
    struct acquire acquire = {.key = key,
                              .key_owner = KEYS_OF_SCHEDULERS,
                              .actor = "test",
                              .owner = 1000,
                              .wait = wait,
                              .with_ticket = ticket,
                              .request = sample_request(count, GPU_EXCLUSIVE, 0)};

    return broker_acquire(&broker, &acquire, lease);
}

#endif
