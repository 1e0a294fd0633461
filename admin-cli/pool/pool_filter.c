// SPDX-License-Identifier: BSD-3-Clause
#include "admin-cli/pool/pool_filter.h"

#include <fnmatch.h>
#include <string.h>

#include "admin-cli/output/table.h"

// Names that a condition has led to, as members of objects.
struct found {
    json_t *boxes_of_model, *boxes_of_user, *gpus_of_user, *leases;
};

static bool like(const char *pattern, const char *value)
{
    return !pattern || fnmatch(pattern, value, FNM_CASEFOLD) == 0;
}

static void pool_filter_note(json_t *set, const char *name)
{
    json_object_set_new(set, name, json_true());
}

static bool pool_filter_is_in(const json_t *set, const char *name)
{
    return json_object_get(set, name) != NULL;
}

static bool holds_like(const json_t *lease, const char *key, const char *pattern)
{
    const json_t *gpus = json_object_get(lease, "gpus"), *gpu;
    size_t i;

    json_array_foreach(gpus, i, gpu)
        if (like(pattern, table_text(gpu, key)))
            return true;
    return !pattern;
}

// A waiting lease holds nothing: its request counts.
static bool wants_like(const json_t *lease, const char *key, const char *pattern)
{
    const char *asked = table_text(json_object_get(lease, "request"), key);

    return !pattern ||
           (!strcmp(table_text(lease, "state"), "queued") && *asked && like(pattern, asked));
}

static bool lease_passes(const struct pool_filter *filter, const json_t *lease)
{
    return (!filter->user || !strcmp(filter->user, table_text(lease, "user"))) &&
           like(filter->state, table_text(lease, "state")) &&
           (holds_like(lease, "box", filter->box) || wants_like(lease, "box", filter->box)) &&
           (holds_like(lease, "model", filter->model) || wants_like(lease, "model", filter->model));
}

static void note_holds(const struct pool_filter *filter, const json_t *leases, struct found *found)
{
    json_t *lease, *gpus, *gpu;
    size_t i, j;

    json_array_foreach(leases, i, lease) {
        if (filter->user && strcmp(filter->user, table_text(lease, "user")))
            continue;
        gpus = json_object_get(lease, "gpus");
        json_array_foreach(gpus, j, gpu) {
            pool_filter_note(found->boxes_of_user, table_text(gpu, "box"));
            pool_filter_note(found->gpus_of_user, table_text(gpu, "gpu"));
        }
    }
}

static bool box_passes(const struct pool_filter *filter, const struct found *found,
                       const json_t *box)
{
    const char *name = table_text(box, "name");

    return like(filter->box, name) && like(filter->state, table_text(box, "state")) &&
           (!filter->model || pool_filter_is_in(found->boxes_of_model, name)) &&
           (!filter->user || pool_filter_is_in(found->boxes_of_user, name));
}

static bool gpu_passes(const struct pool_filter *filter, const struct found *found,
                       const json_t *gpu)
{
    return like(filter->box, table_text(gpu, "box")) &&
           like(filter->state, table_text(gpu, "state")) &&
           like(filter->model, table_text(gpu, "model")) &&
           (!filter->user || pool_filter_is_in(found->gpus_of_user, table_text(gpu, "uuid")));
}

static bool session_passes(const struct pool_filter *filter, const struct found *found,
                           const json_t *session)
{
    return (!filter->user || !strcmp(filter->user, table_text(session, "user"))) &&
           like(filter->box, table_text(session, "box")) &&
           ((!filter->model && !filter->state) ||
            pool_filter_is_in(found->leases, table_text(session, "lease")));
}

static bool pool_filter_passes(enum pool_list list, const struct pool_filter *filter,
                               const struct found *found, const json_t *row)
{
    switch (list) {
    case LIST_BOXES: return box_passes(filter, found, row);
    case LIST_GPUS: return gpu_passes(filter, found, row);
    case LIST_LEASES: return lease_passes(filter, row);
    case LIST_SESSIONS: return session_passes(filter, found, row);
    case LISTS: break;
    }
    return false;
}

void pool_filter(const struct pool_filter *filter, json_t *const rows[LISTS], json_t *passed[LISTS])
{
    struct found found = {json_object(), json_object(), json_object(), json_object()};
    json_t *row;
    size_t i;

    note_holds(filter, rows[LIST_LEASES], &found);
    json_array_foreach(rows[LIST_GPUS], i, row)
        if (like(filter->model, table_text(row, "model")))
            pool_filter_note(found.boxes_of_model, table_text(row, "box"));
    json_array_foreach(rows[LIST_LEASES], i, row)
        if (lease_passes(filter, row))
            pool_filter_note(found.leases, table_text(row, "id"));
    for (enum pool_list list = 0; list < LISTS; list++) {
        passed[list] = json_array();
        json_array_foreach(rows[list], i, row)
            if (pool_filter_passes(list, filter, &found, row))
                json_array_append(passed[list], row);
    }
    json_decref(found.boxes_of_model);
    json_decref(found.boxes_of_user);
    json_decref(found.gpus_of_user);
    json_decref(found.leases);
}
