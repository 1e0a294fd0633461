// SPDX-License-Identifier: BSD-3-Clause
// Shared memory is charged to its creator. If the creator frees it or ends while others use it, the
// charge moves to one of them, so that the account of a lease always has everything that its
// processes use.
#include "daemon/rgpud/gpus/exported.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/service/helper.h"
#include "common/base/log_limit.h"
#include "daemon/rgpud/gpus/accounts.h"
#include "daemon/rgpud/gpus/exported_memory.h"

bool exports_has_any(const struct worker_process *worker)
{
    const struct exported_memory *exported;

    TAILQ_FOREACH(exported, &worker->box->exports, link)
        if (exported->exporter == worker->session.id ||
            exported_use_of(exported, worker->session.id))
            return true;
    return false;
}

// ---- charges ----

// Moves the charge from a session that does not hold the memory to the next one that does.
static void move_charge(struct box *box, struct exported_memory *exported)
{
    struct control_export_inherited note = {.device = exported->device, .charge = exported->charge};

    exported->payer = 0;
    memcpy(note.token, exported->token, sizeof(note.token));
    for (size_t i = 0; i < exported->use_count && !exported->payer; i++) {
        uint64_t session = exported->uses[i].session;
        struct worker_process *worker = worker_process_of_session(box, session);
        if (!worker || control_send_packet(worker->control_fd, CONTROL_EXPORT_INHERITED, &note, -1))
            continue; // this session is ending too
        accounts_charge(box, worker->session.grant.lease, session, exported->device,
                        exported->charge);
        exported->payer = session;
        log_info("session=%llu has shared memory on its account now gpu=%u bytes=%llu",
                 (unsigned long long)session, exported->device,
                 (unsigned long long)exported->charge);
    }
}

// Notifies the users of an event whose exporter has gone. They would wait for it in vain.
static void tell_orphans(struct box *box, const struct exported_memory *exported)
{
    struct control_export_inherited note = {.device = exported->device};

    memcpy(note.token, exported->token, sizeof(note.token));
    for (size_t i = 0; i < exported->use_count; i++) {
        struct worker_process *worker = worker_process_of_session(box, exported->uses[i].session);
        if (worker && control_send_packet(worker->control_fd, CONTROL_EXPORT_INHERITED, &note, -1))
            log_debug("session=%llu is not told that an event is gone",
                      (unsigned long long)worker->session.id);
    }
}

void exported_settle(struct box *box, struct exported_memory *exported, uint64_t gone)
{
    if (exported->payer == gone && exported->kind == CONTROL_EXPORT_KIND_EVENT)
        tell_orphans(box, exported);
    else if (exported->payer == gone && exported->charge)
        move_charge(box, exported);
    if (!exported->exporter && !exported->use_count)
        exported_forget(box, exported);
    else
        exported_store(box, exported);
}

// ---- sharing ----

bool exports_is_memory(int fd)
{
    enum { NVIDIA_MAJOR = 195 };
    struct statx status;

    // Only files in memory have seals.
    if (fcntl(fd, F_GET_SEALS) >= 0)
        return true;
    // A file system in user space is not queried.
    return !statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) &&
           S_ISCHR(status.stx_mode) && status.stx_rdev_major == NVIDIA_MAJOR;
}

static bool make_token(const struct worker_process *worker, uint8_t *token)
{
    memcpy(token, CONTROL_EXPORT_MAGIC, CONTROL_EXPORT_SECRET_AT);
    memcpy(token + CONTROL_EXPORT_BOX_AT, worker->box->name,
           strnlen(worker->box->name, CONTROL_EXPORT_TOKEN_BYTES - CONTROL_EXPORT_BOX_AT));
    return getrandom(token + CONTROL_EXPORT_SECRET_AT, CONTROL_EXPORT_SECRET_BYTES, 0) ==
           CONTROL_EXPORT_SECRET_BYTES;
}

static struct exported_memory *exported_make(struct worker_process *worker,
                                             const struct control_export *exported, int fd)
{
    struct exported_memory *made = calloc(1, sizeof(*made));

    if (!made)
        return NULL;
    made->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    memcpy(made->lease, worker->session.grant.lease, sizeof(made->lease));
    if ((fd >= 0 && made->fd < 0) || !make_token(worker, made->token) ||
        !exported_count(worker->box, made, worker->session.id)) {
        exported_free(worker->box, made);
        return NULL;
    }
    made->owner = worker->session.grant.owner;
    made->exporter = made->payer = worker->session.id;
    made->device = exported->device;
    made->size = exported->size;
    made->charge = exported->charge;
    made->kind = exported->kind;
    memcpy(made->handle, exported->handle, sizeof(made->handle));
    return made;
}

int exports_add(struct worker_process *worker, const struct control_export *exported, int fd)
{
    struct control_exported answer = {.request = exported->request};

    if (!worker->session.id)
        return -EPROTO;
    if (!exported_is_granted(worker, exported->device)) {
        if (!worker->has_moved)
            return -EPROTO;
        // The worker does not know yet that it is on another GPU.
        answer.failure = CONTROL_EXPORT_FAILURE_DEVICE;
        return control_send_packet(worker->control_fd, CONTROL_EXPORTED, &answer, -1);
    }
    struct exported_memory *made = exported_make(worker, exported, fd);
    if (made) {
        exported_add(worker->box, made);
        exported_store(worker->box, made);
        memcpy(answer.token, made->token, sizeof(answer.token));
    } else {
        answer.failure = CONTROL_EXPORT_FAILURE_NO_ROOM;
    }
    return control_send_packet(worker->control_fd, CONTROL_EXPORTED, &answer, -1);
}

// ---- redeeming ----

// Returns the reason for refusing a token. A worker without access gets the same answer as for an
// unknown token.
static enum control_export_failure refusal(const struct worker_process *worker,
                                           const struct exported_memory *exported,
                                           const struct control_redeem *redeem)
{
    if (!exported || !exported_is_open_to(exported, worker) || exported->kind != redeem->kind ||
        !exported->exporter)
        return CONTROL_EXPORT_FAILURE_UNKNOWN;
    if (!exported_is_granted(worker, exported->device))
        return CONTROL_EXPORT_FAILURE_DEVICE;
    if (exported->exporter == worker->session.id &&
        exported->kind == CONTROL_EXPORT_KIND_ALLOCATION)
        return CONTROL_EXPORT_FAILURE_OWN;
    return CONTROL_EXPORT_FAILURE_NONE;
}

int exports_redeem(struct worker_process *worker, const struct control_redeem *redeem)
{
    static struct log_limit wrong = LOG_LIMIT(5, 60);
    struct control_redeemed answer = {.request = redeem->request};
    struct exported_memory *exported = exported_find(redeem->token);

    if (!worker->session.id)
        return -EPROTO;
    answer.failure = refusal(worker, exported, redeem);
    if (!answer.failure && !exported_add_use(exported, worker->session.id, 1))
        answer.failure = CONTROL_EXPORT_FAILURE_NO_ROOM;
    if (answer.failure) {
        log_limited(&wrong, LOG_LEVEL_WARN,
                    "session=%llu shows a token that is not good for it reason=%s",
                    (unsigned long long)worker->session.id,
                    control_export_failure_name(answer.failure));
        return control_send_packet(worker->control_fd, CONTROL_REDEEMED, &answer, -1);
    }
    exported_store(worker->box, exported);
    answer.device = exported->device;
    answer.size = exported->size;
    answer.charge = exported->charge;
    memcpy(answer.handle, exported->handle, sizeof(answer.handle));
    return control_send_packet(worker->control_fd, CONTROL_REDEEMED, &answer, exported->fd);
}

// ---- the end ----

static void exported_drop_use(struct exported_memory *exported, struct memory_use *use)
{
    *use = exported->uses[--exported->use_count];
}

int exports_end(struct worker_process *worker, const struct control_export_end *end)
{
    struct exported_memory *exported = exported_find(end->token);
    uint64_t session = worker->session.id;
    struct memory_use *use = exported ? exported_use_of(exported, session) : NULL;

    // An earlier rgpud's record of the export may have been damaged.
    if (!exported || !session)
        return session && worker->taken_over ? 0 : -EPROTO;
    if (end->exported) {
        if (exported->exporter != session)
            return -EPROTO;
        exported->exporter = 0;
        // The memory is in its pool again, and the exporter is charged for the whole pool. If
        // others use the memory, the pool may end before them, so the charge stays.
        if (exported->kind == CONTROL_EXPORT_KIND_POOLED && !exported->use_count)
            exported->payer = 0;
        exported_settle(worker->box, exported, session);
        return 0;
    }
    if (!use)
        return -EPROTO;
    if (!--use->count) {
        exported_drop_use(exported, use);
        exported_settle(worker->box, exported, exported->exporter == session ? 0 : session);
    } else {
        exported_store(worker->box, exported);
    }
    return 0;
}

void exports_leave(struct worker_process *worker)
{
    struct box *box = worker->box;
    struct exported_memory *exported, *next;
    uint64_t session = worker->session.id;

    for (exported = TAILQ_FIRST(&box->exports); exported; exported = next) {
        struct memory_use *use = exported_use_of(exported, session);
        next = TAILQ_NEXT(exported, link);
        if (use)
            exported_drop_use(exported, use);
        if (exported->exporter == session)
            exported->exporter = 0;
        else if (!use)
            continue;
        exported_settle(box, exported, session);
    }
}
