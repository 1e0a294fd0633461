// SPDX-License-Identifier: BSD-3-Clause
// Waits for the move of a lease, for the commands move and drain.
#include <stdio.h>
#include <string.h>

#include "admin-cli/output/conversation.h"

int move_explain(const struct command *command, const char *lease, const char *reason)
{
    fprintf(stderr, "rgpuctl %s: %s is not moved: %s\n", command->name, lease, reason);
    return EXIT_ANSWER_NO;
}

static bool any_moves(const json_t *lease)
{
    json_t *gpu;
    size_t i;

    json_array_foreach(json_object_get(lease, "gpus"), i, gpu)
        if (*table_text(gpu, "target"))
            return true;
    return false;
}

// 0 or the exit status; negative: not there yet.
static int await_move_look_at(struct conversation *pool, const char *path)
{
    json_t *answer = NULL;
    int status = pool_call(pool, "GET", path, NULL, &answer);

    if (status)
        return status;
    const json_t *lease = json_object_get(answer, "lease");
    const char *why = table_text(lease, "not_moved"), *state = table_text(lease, "state");
    if (!*why && strcmp(state, "granted") && strcmp(state, "lost"))
        why = "it has ended";
    status = *why               ? move_explain(pool->command, table_text(lease, "id"), why)
             : any_moves(lease) ? -1
                                : 0;
    json_decref(answer);
    return status;
}

int pool_await_move(struct conversation *pool, const char *lease)
{
    char path[160];
    json_int_t last = -1;
    // The place in the event log comes first: what happens after the look must wake us.
    int status = pool_await_event(pool, 0, &last);

    snprintf(path, sizeof(path), "/v1/leases/%.120s", lease);
    while (!status && (status = await_move_look_at(pool, path)) < 0)
        status = pool_await_event(pool, 30, &last);
    return status;
}
