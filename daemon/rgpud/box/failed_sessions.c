// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/box/failed_sessions.h"

#include <stdio.h>
#include <string.h>

void failed_sessions_add(struct failed_sessions *failed, uint64_t id, const char *lease,
                         const char *how, const char *why)
{
    struct failed_session *session = &failed->list[failed->count];

    if (failed->count == FAILED_SESSIONS_MAX)
        return;
    session->id = id;
    snprintf(session->lease, sizeof(session->lease), "%s", lease);
    snprintf(session->reason, sizeof(session->reason), "%.80s: %.110s", how, why);
    for (char *byte = session->reason; *byte; byte++)
        if (*byte < ' ' || *byte > '~')
            *byte = '?';
    failed->count++;
}

json_t *failed_sessions_report(struct failed_sessions *failed)
{
    json_t *list = json_array();

    failed->reported = failed->count;
    for (size_t i = 0; i < failed->count; i++)
        json_array_append_new(
            list, json_pack("{s:I, s:s, s:s}", "session", (json_int_t)failed->list[i].id, "lease",
                            failed->list[i].lease, "reason", failed->list[i].reason));
    return list;
}

void failed_sessions_reported(struct failed_sessions *failed)
{
    failed->count -= failed->reported;
    memmove(failed->list, failed->list + failed->reported, failed->count * sizeof(*failed->list));
    failed->reported = 0;
}
