// SPDX-License-Identifier: BSD-3-Clause
// A record is checked like a stranger's message. Sessions that were not taken over are left out.
#include "daemon/rgpud/gpus/exported_kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/rgpud/box/spawner_client.h"
#include "daemon/rgpud/gpus/exported.h"
#include "daemon/rgpud/gpus/exported_memory.h"

// Returns the session's worker if it may have a part in the export.
static const struct worker_process *
worker_for(const struct box *box, const struct exported_memory *exported, uint64_t session)
{
    const struct worker_process *worker = session ? worker_process_of_session(box, session) : NULL;

    return worker && exported_is_granted(worker, exported->device) &&
                   exported_is_open_to(exported, worker)
               ? worker
               : NULL;
}

static bool fill(const struct box *box, const struct control_kept_export *record,
                 const struct spawner_kept *kept, struct exported_memory *out)
{
    memcpy(out->token, record->token, sizeof(out->token));
    memcpy(out->lease, record->lease, sizeof(out->lease));
    memcpy(out->handle, record->handle, sizeof(out->handle));
    out->number = kept->number;
    out->owner = (int64_t)record->owner;
    out->device = record->device;
    out->size = record->size;
    out->charge = record->charge;
    out->kind = record->kind;
    out->fd = kept->stored_count > 1 ? fcntl(kept->stored[1], F_DUPFD_CLOEXEC, 3) : -1;
    if (kept->stored_count > 1 && out->fd < 0)
        return false;
    const struct worker_process *exporter = worker_for(box, out, record->exporter);
    if (exporter && !strcmp(exporter->session.grant.lease, out->lease))
        out->exporter = record->exporter;
    for (uint32_t i = 0; i < record->uses_count; i++)
        if (record->uses[i].count && worker_for(box, out, record->uses[i].session) &&
            !exported_add_use(out, record->uses[i].session, record->uses[i].count))
            return false;
    out->payer = record->payer;
    return true;
}

// Returns why a record is wrong, or NULL.
static const char *check_record(const struct box *box, const struct control_kept_export *record,
                                const struct spawner_kept *kept)
{
    uint64_t memory = 0;

    for (uint32_t i = 0; i < box->device_count; i++)
        if (box->devices[i].ordinal == record->device)
            memory = box->devices[i].info.memory;
    if (record->list != CONTROL_SESSION_DIGEST)
        return "it is of another release than rgpud";
    if (memcmp(record->token, CONTROL_EXPORT_MAGIC, CONTROL_EXPORT_SECRET_AT) ||
        exported_find(record->token))
        return "its token is another's, or none";
    if (record->charge > memory || record->size > memory)
        return "it names more memory than its GPU has";
    if (kept->stored_count > 2 || (kept->stored_count > 1 && !exports_is_memory(kept->stored[1])))
        return "its descriptor is none of memory";
    return NULL;
}

static const char *take_export(struct box *box, const struct spawner_kept *kept,
                               struct control_kept_export *record)
{
    if (!kept->stored_count || spawner_kept_unpack(kept->stored[0], CONTROL_KEPT_EXPORT, record))
        return "its record cannot be read";
    const char *problem = check_record(box, record, kept);
    struct exported_memory *made = problem ? NULL : calloc(1, sizeof(*made));
    if (!made)
        return problem ? problem : "memory is exhausted";
    made->fd = -1;
    if (!fill(box, record, kept, made)) {
        exported_free(box, made);
        return "it has too many users";
    }
    uint64_t counts_for = made->exporter    ? made->exporter
                          : made->use_count ? made->uses[0].session
                                            : 0;
    if (counts_for && !exported_count(box, made, counts_for))
        log_warn("session=%llu shares more than it may", (unsigned long long)counts_for);
    exported_add(box, made);
    bool paid = made->payer &&
                (made->payer == made->exporter || exported_use_of(made, made->payer));
    exported_settle(box, made, paid ? 0 : record->payer);
    return NULL;
}

void exports_take_over(struct box *box, const struct spawner_kept *kept)
{
    SCOPED_FREE struct control_kept_export *record = malloc(sizeof(*record));
    const char *problem = record ? take_export(box, kept, record) : "memory is exhausted";

    exported_skip_number(kept->number);
    if (!problem)
        return;
    log_warn("shared memory is not taken over reason=\"%s\"", problem);
    spawner_store(box, kept->number, NULL, 0);
}
