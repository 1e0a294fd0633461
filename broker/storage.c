// SPDX-License-Identifier: BSD-3-Clause
/* The state of the broker's storage: what is true of it now, and what it means for changes. */
#include <errno.h>

#include "broker/core.h"
#include "common/log.h"

/* A disk that is well is asked now and then, one that is not each second. */
enum { PROBE_SECONDS = 10, SILENT_SECONDS = 10 };

static void note(struct broker *broker, int error)
{
    if (error == -EUCLEAN && !broker->broken)
        log_error("the database is damaged: no change is made any more; stop the broker, restore "
                  "the database from a copy, and start it again");
    if (error == -EUCLEAN)
        broker->broken = error;
    if (error == -ENOSPC && !broker->disk_full)
        log_error("the disk is full: leases end and their GPUs come free, nothing else is changed");
    if (error == -ENOSPC)
        broker->disk_full = true;
    if (error)
        broker->counters.errors++;
    broker->storage_error = error;
}

void broker_note_storage(struct broker *broker, int error)
{
    /* That leases could end says nothing about room for others. */
    if (error || !broker->disk_full)
        note(broker, error);
}

/* Room that came free belongs to the reserve first. A small write may find place in the log's file
 * where nothing larger does. */
static int probe(struct broker *broker)
{
    int error = reserve_take(&broker->reserve);

    if (!reserve_has_margin(&broker->reserve))
        error = -ENOSPC;
    else if (error != -ENOSPC || !broker->disk_full)
        error = store_probe(broker->store, broker_wall());
    if (!error && broker->disk_full) {
        broker->disk_full = false;
        log_info("the disk has room again");
    }
    note(broker, error);
    return error;
}

bool broker_has_room(struct broker *broker)
{
    return !broker->disk_full || probe(broker) == 0;
}

/* A sync that does not come back. */
static bool is_silent(struct broker *broker)
{
    uint64_t durable = store_durable(broker->store);

    if (durable == store_committed(broker->store) || durable != broker->last_durable) {
        broker->last_durable = durable;
        broker->durable_at = broker_steady();
    }
    return broker_steady() - broker->durable_at > SILENT_SECONDS;
}

void broker_watch_storage(struct broker *broker)
{
    double now = broker_steady();

    if (broker->broken)
        return;
    if (is_silent(broker)) {
        broker->storage_error = -ETIMEDOUT;
        return;
    }
    if (broker->storage_error == -ETIMEDOUT)
        broker->storage_error = 0;
    if (now < broker->next_probe)
        return;
    probe(broker);
    broker->next_probe = now + (broker->storage_error ? 1 : PROBE_SECONDS);
}

const char *broker_storage_state(const struct broker *broker, const char **why)
{
    *why = "the broker's database is damaged; it must be restored from a copy";
    if (broker->broken)
        return "database-damaged";
    switch (broker->storage_error) {
    case 0:
        *why = NULL;
        return "ok";
    case -ENOSPC:
        *why = "the broker's disk is full; leases end, nothing else is changed";
        return "disk-full";
    case -EBUSY:
        *why = "another process holds the broker's database; nothing is changed";
        return "database-busy";
    case -ETIMEDOUT:
        *why = "the broker's disk does not answer; nobody is told of changes";
        return "disk-silent";
    }
    *why = "the broker cannot write its database; its log says why";
    return "disk-failed";
}
