// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/sharing/moves.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/rgpud/box/confinement.h"
#include "daemon/rgpud/suspension/lease_places.h"
#include "daemon/rgpud/suspension/move_steps.h"
#include "daemon/rgpud/sharing/overcommit_factor.h"
#include "daemon/rgpud/suspension/suspension_orders.h"
#include "daemon/rgpud/workers/worker_process.h"

// ---- checks ----

static const char *check_kinds(const struct box_device *from, const struct box_device *to,
                               char *text, size_t room)
{
    if (from->instance || to->instance)
        return "an instance of a divided GPU is not moved from or to: the driver does that with "
               "whole GPUs only";
    if (from->mps || to->mps)
        return "one of the two GPUs is shared by MPS, whose clients the driver does not move";
    if (overcommit_percent(&from->box->settings, from->ordinal) > 100 ||
        overcommit_percent(&to->box->settings, to->ordinal) > 100)
        return "one of the two GPUs promises more memory than it has, by turns (overcommit)";
    if (strcmp(from->info.name, to->info.name) || from->info.capability != to->info.capability) {
        snprintf(text, room, "it is on a GPU of another kind (%.100s) than that one (%.100s)",
                 from->info.name, to->info.name);
        return text;
    }
    if (to->info.memory < from->info.memory) {
        snprintf(text, room, "the GPU is too small: it has %llu MiB, and the present one %llu",
                 (unsigned long long)to->info.memory >> 20,
                 (unsigned long long)from->info.memory >> 20);
        return text;
    }
    return NULL;
}

static bool has_node(const struct control_device_node *nodes, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(nodes[i].path, path))
            return true;
    return false;
}

// Returns true if the worker may open the nodes of the device. This is fixed when the worker
// starts.
static bool can_open(const struct worker_process *worker, const struct box_device *device)
{
    struct control_device_node has[CONFINEMENT_NODES_MAX], needs[CONFINEMENT_NODES_MAX];
    size_t count = confinement_nodes(worker->box, worker->sees, has);
    size_t wanted = confinement_nodes(worker->box, UINT64_C(1) << device->ordinal, needs);

    for (size_t i = 0; i < wanted; i++)
        if (!has_node(has, count, needs[i].path))
            return false;
    return true;
}

static const char *check_session(const struct worker_process *worker, const struct box_device *to)
{
    if (device_is_granted(&worker->session.grant, to))
        return "it has that GPU already";
    return can_open(worker, to) ? NULL
                                : "its worker can open the device nodes of its own GPU alone "
                                  "(peer_gpus = no)";
}

static const char *moves_check(const struct box *box, const char *lease, uint32_t ordinal,
                               const struct box_device *to, char *text, size_t room)
{
    const struct box_device *from = move_place_now(box, lease, ordinal);
    const struct worker_process *worker;
    const char *why = from ? check_kinds(from, to, text, room) : NULL;

    if (from == to)
        return NULL;
    TAILQ_FOREACH(worker, &box->workers, link)
        if (!why && move_is_of(worker, lease))
            why = check_session(worker, to);
    return why;
}

// ---- orders ----

static int order(struct box *box, const char *lease, uint32_t ordinal, struct box_device *to,
                 bool of_broker, char *text, size_t room)
{
    const char *why = moves_check(box, lease, ordinal, to, text, room);
    struct lease_place *place = places_put(box, lease, ordinal, to, of_broker);

    if (!place)
        return -ENOMEM;
    if (why) {
        if (why != text)
            snprintf(text, room, "%s", why);
        places_fail(box, place, text);
        return -EINVAL;
    }
    log_info("lease=%s place=%u is to be on gpu=%s", lease, ordinal, to->uuid);
    return 0;
}

static bool is_of_this_box(const struct box *box, const char *name)
{
    size_t length = strlen(box->name);

    return !strncmp(name, box->name, length) && name[length] == ':';
}

static struct box_device *moves_device_named(struct box *box, const char *name)
{
    char *end;

    if (is_of_this_box(box, name))
        name += strlen(box->name) + 1;
    unsigned long number = strtoul(name, &end, 10);
    for (uint32_t i = 0; i < box->device_count; i++)
        if (!strcasecmp(box->devices[i].uuid, name) ||
            (*name && !*end && box->devices[i].ordinal == number))
            return &box->devices[i];
    return NULL;
}

static struct box_device *known_device(struct box *box, const char *name, char *text, size_t room)
{
    struct box_device *device = moves_device_named(box, name);

    if (device)
        return device;
    if (strchr(name, ':') && !is_of_this_box(box, name))
        snprintf(
            text, room,
            "%s is not of this box (%s), and leases are not moved from box to box: their memory "
            "would have to be sent, and their connections with it",
            name, box->name);
    else
        snprintf(text, room, "this box (%s) has no GPU %s", box->name, name);
    return NULL;
}

static const struct worker_process *session_named(const struct box *box, const char *name)
{
    const struct worker_process *worker;
    char *end;
    unsigned long long number = strtoull(name, &end, 10);

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->state == WORKER_SERVING && worker->session.id &&
            ((*worker->session.grant.lease && !strcmp(worker->session.grant.lease, name)) ||
             (*name && !*end && worker->session.id == number)))
            return worker;
    return NULL;
}

// Returns the index of the session's GPU that FROM names, or -1 with the reason in TEXT.
static int place_meant(struct box *box, const struct session_grant *grant, const char *from,
                       char *text, size_t room)
{
    const struct box_device *device = *from ? known_device(box, from, text, room) : NULL;

    if (!*from && grant->device_count == 1)
        return 0;
    if (!*from)
        snprintf(text, room, "it has %u GPUs of this box: say which one by --from",
                 grant->device_count);
    for (uint32_t i = 0; device && i < grant->device_count; i++)
        if (grant->devices[i] == device)
            return (int)i;
    if (device)
        snprintf(text, room, "it does not have the GPU %s", device->uuid);
    return -1;
}

int moves_order(struct box *box, const char *name, const char *to, const char *from, char *text,
                size_t room)
{
    const struct worker_process *worker = session_named(box, name);
    struct box_device *device = known_device(box, to, text, room);

    if (!device)
        return -ENODEV;
    if (!worker) {
        snprintf(text, room, "no lease %s has sessions here", name);
        return -ENOENT;
    }
    const struct session_grant *grant = &worker->session.grant;
    if (!*grant->lease)
        snprintf(text, room, "a session without a lease has all GPUs of the box already");
    else if (box->agent)
        snprintf(text, room, "the broker says where lease %s is: ask it, without --socket",
                 grant->lease);
    else {
        int place = place_meant(box, grant, from, text, room);
        if (place < 0)
            return -EINVAL;
        if (grant->devices[place] != device)
            return order(box, grant->lease, grant->ordinals[place], device, false, text, room);
        snprintf(text, room, "it is on that GPU already");
    }
    return -EINVAL;
}

json_t *moves_show(const struct box *box, const char *name)
{
    const struct worker_process *worker = session_named(box, name);
    const char *lease = worker ? worker->session.grant.lease : name, *reason = "";
    const struct suspension *s = suspension_find(box, lease);

    for (const struct lease_place *p = places_next(box, NULL); p; p = places_next(box, p))
        if (!strcmp(p->lease, lease) && *p->problem)
            reason = p->problem;
    return json_pack("{s:s, s:b, s:b, s:s}", "lease", lease, "moving", move_is_pending(box, lease),
                     "suspended", s && s->state == SUSPENSION_AWAY && s->away_wanted, "reason",
                     worker ? reason : "it has ended");
}

// ---- the broker ----

static const json_t *entry_of(const json_t *list, const struct lease_place *place)
{
    const json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry) {
        const char *lease = json_string_value(json_object_get(entry, "lease"));
        if (lease && !strcmp(lease, place->lease) &&
            json_integer_value(json_object_get(entry, "ordinal")) == place->ordinal)
            return entry;
    }
    return NULL;
}

static void forget_those_left_out(struct box *box, const json_t *list)
{
    struct lease_place *place, *next;

    for (place = places_next(box, NULL); place; place = next) {
        next = places_next(box, place);
        if (place->of_broker && !entry_of(list, place))
            places_forget(box, place);
    }
}

static void adopt(struct box *box, const char *lease, uint32_t ordinal, const char *gpu)
{
    struct lease_place *place = places_find(box, lease, ordinal);
    struct box_device *device = moves_device_named(box, gpu);
    char text[256];

    if (place && *place->problem && !strcmp(place->refused, gpu))
        return; // the broker does not know the refusal yet
    if (place && device && place->device == device) {
        *place->problem = '\0';
        return;
    }
    if (device && order(box, lease, ordinal, device, true, text, sizeof(text)))
        log_info("lease=%s is not moved reason=\"%s\"", lease, text);
    if (device || !(place = places_put(box, lease, ordinal, place ? place->device : NULL, true)))
        return;
    snprintf(place->refused, sizeof(place->refused), "%s", gpu);
    snprintf(place->problem, sizeof(place->problem), "the box has no such GPU");
}

void moves_adopt(struct box *box, const json_t *list)
{
    const json_t *entry;
    size_t i;

    if (!json_is_array(list))
        return;
    forget_those_left_out(box, list);
    json_array_foreach(list, i, entry) {
        const char *lease = json_string_value(json_object_get(entry, "lease"));
        const char *gpu = json_string_value(json_object_get(entry, "gpu"));
        json_int_t ordinal = json_integer_value(json_object_get(entry, "ordinal"));
        if (lease && *lease && strlen(lease) < sizeof(((struct lease_place *)0)->lease) && gpu &&
            !strpbrk(lease, " \n\t") && ordinal >= 0 && ordinal <= UINT16_MAX)
            adopt(box, lease, (uint32_t)ordinal, gpu);
    }
    box_changed(box);
}

json_t *moves_report(struct box *box)
{
    json_t *list = json_array();

    places_try_again(box);
    for (const struct lease_place *p = places_next(box, NULL); p; p = places_next(box, p))
        if (p->of_broker)
            json_array_append_new(
                list, json_pack("{s:s, s:I, s:s, s:b, s:s, s:s}", "lease", p->lease, "ordinal",
                                (json_int_t)p->ordinal, "gpu", p->device ? p->device->uuid : "",
                                "done", places_is_kept(box, p) && !move_is_pending(box, p->lease),
                                "refused", p->refused, "reason", p->problem));
    return list;
}

// ---- pending moves ----

void moves_review(struct box *box)
{
    char text[320];

    for (const struct lease_place *p = places_next(box, NULL); p; p = places_next(box, p)) {
        struct suspension *s = suspension_find(box, p->lease);
        if ((s && s->state != SUSPENSION_NONE) || !move_is_pending(box, p->lease))
            continue;
        if (suspension_begin(box, p->lease, SUSPENSION_MOVING, text, sizeof(text)) &&
            (s = suspension_find(box, p->lease)))
            move_give_up(s, text);
    }
}
