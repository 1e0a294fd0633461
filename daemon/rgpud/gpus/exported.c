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
#include "daemon/rgpud/box/limits.h"

enum {
    USES_MAX = 4096, // of one exported memory
    CHAINS = 4096,   // a power of two
};

struct memory_use {
    uint64_t session;
    unsigned count;
};

struct exported_memory {
    TAILQ_ENTRY(exported_memory) link;
    LIST_ENTRY(exported_memory) chain;
    uint8_t token[CONTROL_EXPORT_TOKEN_BYTES];
    char lease[128];
    int64_t owner;     // user of that lease; -1: not known
    uint64_t exporter; // session; 0: it has ended, or freed the memory
    uint64_t payer;    // session that is charged; 0: none
    uint32_t device;
    uint64_t size, charge;
    enum control_export_kind kind;
    uint8_t handle[CONTROL_EXPORT_HANDLE_BYTES];
    int fd; // -1: none
    struct memory_use *uses;
    size_t use_count;
    struct limit_holder *counted,
        *file_counted; // limits that it counts against; NULL: none
};

// The exports of this process, hashed by token.
static LIST_HEAD(, exported_memory) chains[CHAINS];

// Hashes a token. Its secret part is random, so any of its bytes will do.
static size_t chain_of(const uint8_t *token)
{
    uint32_t word;

    memcpy(&word, token + CONTROL_EXPORT_SECRET_AT, sizeof(word));
    return word % CHAINS;
}

static struct exported_memory *exported_find(const uint8_t *token)
{
    struct exported_memory *exported;

    LIST_FOREACH(exported, &chains[chain_of(token)], chain)
        if (!memcmp(exported->token, token, sizeof(exported->token)))
            return exported;
    return NULL;
}

static struct memory_use *exported_use_of(const struct exported_memory *exported, uint64_t session)
{
    for (size_t i = 0; i < exported->use_count; i++)
        if (exported->uses[i].session == session)
            return &exported->uses[i];
    return NULL;
}

bool exports_has_any(const struct worker_process *worker)
{
    const struct exported_memory *exported;

    TAILQ_FOREACH(exported, &worker->box->exports, link)
        if (exported->exporter == worker->session.id ||
            exported_use_of(exported, worker->session.id))
            return true;
    return false;
}

static void exported_give_back(struct box *box, struct exported_memory *exported)
{
    if (exported->file_counted)
        limits_give(box->limits, LIMITED_EXPORT_FILES, &exported->file_counted);
    if (exported->counted)
        limits_give(box->limits, LIMITED_EXPORTS, &exported->counted);
    if (exported->fd >= 0)
        close_aside(exported->fd);
    free(exported->uses);
    free(exported);
}

static void exported_forget(struct box *box, struct exported_memory *exported)
{
    TAILQ_REMOVE(&box->exports, exported, link);
    LIST_REMOVE(exported, chain);
    exported_give_back(box, exported);
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

static void exported_settle(struct box *box, struct exported_memory *exported, uint64_t gone)
{
    if (exported->payer == gone && exported->kind == CONTROL_EXPORT_KIND_EVENT)
        tell_orphans(box, exported);
    else if (exported->payer == gone && exported->charge)
        move_charge(box, exported);
    if (!exported->exporter && !exported->use_count)
        exported_forget(box, exported);
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

// Counts an export against the limits of its creator until no session uses it.
static bool exported_count(struct worker_process *worker, struct exported_memory *made)
{
    struct limits *limits = worker->box->limits;
    uint64_t session = worker->session.id;
    const char *lease = worker->session.grant.lease;

    return !limits_take(limits, LIMITED_EXPORTS, session, lease, &made->counted) &&
           (made->fd < 0 ||
            !limits_take(limits, LIMITED_EXPORT_FILES, session, lease, &made->file_counted));
}

static bool make_token(const struct worker_process *worker, uint8_t *token)
{
    memcpy(token, CONTROL_EXPORT_MAGIC, CONTROL_EXPORT_SECRET_AT);
    memcpy(token + CONTROL_EXPORT_BOX_AT, worker->box->name,
           strnlen(worker->box->name, CONTROL_EXPORT_TOKEN_BYTES - CONTROL_EXPORT_BOX_AT));
    return getrandom(token + CONTROL_EXPORT_SECRET_AT, CONTROL_EXPORT_SECRET_BYTES, 0) ==
           CONTROL_EXPORT_SECRET_BYTES;
}

// The next rgpud cannot take the session over any more.
static void note_sharing(struct worker_process *worker)
{
    worker->unkept = worker->unkept || !worker->shares;
    worker->shares = true;
}

static struct exported_memory *exported_make(struct worker_process *worker,
                                             const struct control_export *exported, int fd)
{
    struct exported_memory *made = calloc(1, sizeof(*made));

    if (!made)
        return NULL;
    made->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    if ((fd >= 0 && made->fd < 0) || !make_token(worker, made->token) ||
        !exported_count(worker, made)) {
        exported_give_back(worker->box, made);
        return NULL;
    }
    memcpy(made->lease, worker->session.grant.lease, sizeof(made->lease));
    made->owner = worker->session.grant.owner;
    made->exporter = made->payer = worker->session.id;
    made->device = exported->device;
    made->size = exported->size;
    made->charge = exported->charge;
    made->kind = exported->kind;
    memcpy(made->handle, exported->handle, sizeof(made->handle));
    return made;
}

static bool exported_is_granted(const struct worker_process *worker, uint32_t device)
{
    const struct session_grant *grant = &worker->session.grant;

    for (uint32_t i = 0; i < grant->device_count; i++)
        if (grant->devices[i]->ordinal == device)
            return true;
    return false;
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
        TAILQ_INSERT_HEAD(&worker->box->exports, made, link);
        LIST_INSERT_HEAD(&chains[chain_of(made->token)], made, chain);
        memcpy(answer.token, made->token, sizeof(answer.token));
        note_sharing(worker);
    } else {
        answer.failure = CONTROL_EXPORT_FAILURE_NO_ROOM;
    }
    return control_send_packet(worker->control_fd, CONTROL_EXPORTED, &answer, -1);
}

// ---- redeeming ----

static bool is_open_to(const struct exported_memory *exported, const struct worker_process *worker)
{
    const struct session_grant *grant = &worker->session.grant;

    return !strcmp(exported->lease, grant->lease) ||
           (worker->box->settings.exports == EXPORTS_USER && exported->owner >= 0 &&
            exported->owner == grant->owner);
}

// Returns the reason for refusing a token. A worker without access gets the same answer as for an
// unknown token.
static enum control_export_failure refusal(const struct worker_process *worker,
                                           const struct exported_memory *exported,
                                           const struct control_redeem *redeem)
{
    if (!exported || !is_open_to(exported, worker) || exported->kind != redeem->kind ||
        !exported->exporter)
        return CONTROL_EXPORT_FAILURE_UNKNOWN;
    if (!exported_is_granted(worker, exported->device))
        return CONTROL_EXPORT_FAILURE_DEVICE;
    if (exported->exporter == worker->session.id &&
        exported->kind == CONTROL_EXPORT_KIND_ALLOCATION)
        return CONTROL_EXPORT_FAILURE_OWN;
    return CONTROL_EXPORT_FAILURE_NONE;
}

static bool exported_add_use(struct exported_memory *exported, uint64_t session)
{
    struct memory_use *use = exported_use_of(exported, session);

    if (!use) {
        struct memory_use *uses =
            exported->use_count < USES_MAX
                ? realloc(exported->uses, (exported->use_count + 1) * sizeof(*uses))
                : NULL;
        if (!uses)
            return false;
        exported->uses = uses;
        use = &uses[exported->use_count++];
        *use = (struct memory_use){.session = session};
    }
    use->count++;
    return true;
}

int exports_redeem(struct worker_process *worker, const struct control_redeem *redeem)
{
    static struct log_limit wrong = LOG_LIMIT(5, 60);
    struct control_redeemed answer = {.request = redeem->request};
    struct exported_memory *exported = exported_find(redeem->token);

    if (!worker->session.id)
        return -EPROTO;
    answer.failure = refusal(worker, exported, redeem);
    if (!answer.failure && !exported_add_use(exported, worker->session.id))
        answer.failure = CONTROL_EXPORT_FAILURE_NO_ROOM;
    if (answer.failure) {
        log_limited(&wrong, LOG_LEVEL_WARN,
                    "session=%llu shows a token that is not good for it reason=%s",
                    (unsigned long long)worker->session.id,
                    control_export_failure_name(answer.failure));
        return control_send_packet(worker->control_fd, CONTROL_REDEEMED, &answer, -1);
    }
    note_sharing(worker);
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

    if (!exported || !session)
        return -EPROTO;
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
