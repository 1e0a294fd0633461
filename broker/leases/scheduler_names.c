// SPDX-License-Identifier: BSD-3-Clause
#include "broker/leases/scheduler_names.h"

#include <string.h>

#include "common/base/clock.h"

enum { NAMES_MAX = 64, NAME_SECONDS = 60 };

static void keep_name(struct broker *broker, const char *prefix, const char *scheduler)
{
    json_object_set_new(broker->names, prefix,
                        json_pack("{s:s, s:f}", "scheduler", scheduler, "until",
                                  clock_boot_seconds() + NAME_SECONDS));
}

void scheduler_names_load(struct broker *broker)
{
    json_t *events = store_scheduler_events(broker->store, NAMES_MAX);
    const char *prefix, *scheduler;
    json_t *event;
    size_t i;

    broker->names = json_object();
    json_array_foreach(events, i, event)
        if (json_unpack(json_object_get(event, "detail"), "{s:s, s:s}", "key_prefix", &prefix,
                        "scheduler", &scheduler) == 0)
            keep_name(broker, prefix, scheduler);
    json_decref(events);
}

// A scheduler that has not been seen for a while has lost its name.
static void forget_names(json_t *names)
{
    double now = clock_boot_seconds();
    const char *prefix;
    json_t *entry;
    void *next;

    json_object_foreach_safe(names, next, prefix,
                             entry) if (json_real_value(json_object_get(entry, "until")) < now)
        json_object_del(names, prefix);
}

// Also on a full disk: a scheduler releases no lease before it has its prefix.
static enum outcome write_name(struct broker *broker, const char *prefix, const char *scheduler,
                               const char *actor)
{
    struct change change = {.kind = "scheduler.named",
                            .actor = actor,
                            .detail = json_pack("{s:s, s:s}", "key_prefix", prefix, "scheduler",
                                                scheduler)};
    enum outcome error = broker_begin_release(broker, &change);

    return error ? error : broker_commit(broker, OUTCOME_DONE, &change);
}

enum outcome scheduler_names_claim(struct broker *broker, const char *prefix, const char *scheduler,
                                   const char *actor, const char **owner)
{
    enum outcome error = OUTCOME_DONE;

    forget_names(broker->names);
    *owner =
        json_string_value(json_object_get(json_object_get(broker->names, prefix), "scheduler"));
    if (*owner && strcmp(*owner, scheduler) != 0)
        return OUTCOME_NAME_TAKEN;
    if (!*owner && json_object_size(broker->names) >= NAMES_MAX)
        return OUTCOME_TOO_FAST;
    if (!*owner)
        error = write_name(broker, prefix, scheduler, actor);
    if (!error)
        keep_name(broker, prefix, scheduler);
    return error;
}
