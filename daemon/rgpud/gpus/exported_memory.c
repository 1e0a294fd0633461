// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/gpus/exported_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "common/service/helper.h"
#include "daemon/rgpud/box/limits.h"
#include "daemon/rgpud/box/spawner_client.h"

enum { CHAINS = 4096 }; // a power of two

// The exports of this process, hashed by token.
static LIST_HEAD(, exported_memory) chains[CHAINS];

// Hashes a token. Its secret part is random, so any of its bytes will do.
static size_t chain_of(const uint8_t *token)
{
    uint32_t word;

    memcpy(&word, token + CONTROL_EXPORT_SECRET_AT, sizeof(word));
    return word % CHAINS;
}

struct exported_memory *exported_find(const uint8_t *token)
{
    struct exported_memory *exported;

    LIST_FOREACH(exported, &chains[chain_of(token)], chain)
        if (!memcmp(exported->token, token, sizeof(exported->token)))
            return exported;
    return NULL;
}

struct memory_use *exported_use_of(const struct exported_memory *exported, uint64_t session)
{
    for (size_t i = 0; i < exported->use_count; i++)
        if (exported->uses[i].session == session)
            return &exported->uses[i];
    return NULL;
}

void exported_free(struct box *box, struct exported_memory *exported)
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

void exported_forget(struct box *box, struct exported_memory *exported)
{
    TAILQ_REMOVE(&box->exports, exported, link);
    LIST_REMOVE(exported, chain);
    spawner_store(box, exported->number, NULL, 0);
    exported_free(box, exported);
}

void exported_add(struct box *box, struct exported_memory *exported)
{
    TAILQ_INSERT_HEAD(&box->exports, exported, link);
    LIST_INSERT_HEAD(&chains[chain_of(exported->token)], exported, chain);
}

// ---- sessions ----

bool exported_count(struct box *box, struct exported_memory *made, uint64_t session)
{
    struct limits *limits = box->limits;
    const char *lease = made->lease;

    return !limits_take(limits, LIMITED_EXPORTS, session, lease, &made->counted) &&
           (made->fd < 0 ||
            !limits_take(limits, LIMITED_EXPORT_FILES, session, lease, &made->file_counted));
}

bool exported_is_granted(const struct worker_process *worker, uint32_t device)
{
    const struct session_grant *grant = &worker->session.grant;

    for (uint32_t i = 0; i < grant->device_count; i++)
        if (grant->devices[i]->ordinal == device)
            return true;
    return false;
}

bool exported_is_open_to(const struct exported_memory *exported,
                         const struct worker_process *worker)
{
    const struct session_grant *grant = &worker->session.grant;

    return !strcmp(exported->lease, grant->lease) ||
           (worker->box->settings.exports == EXPORTS_USER && exported->owner >= 0 &&
            exported->owner == grant->owner);
}

bool exported_add_use(struct exported_memory *exported, uint64_t session, unsigned count)
{
    struct memory_use *use = exported_use_of(exported, session);

    if (!use) {
        struct memory_use *uses =
            exported->use_count < EXPORTED_USES_MAX
                ? realloc(exported->uses, (exported->use_count + 1) * sizeof(*uses))
                : NULL;
        if (!uses)
            return false;
        exported->uses = uses;
        use = &uses[exported->use_count++];
        *use = (struct memory_use){.session = session};
    }
    use->count += count;
    return true;
}

// ---- storing ----

static uint64_t last_number = SPAWNER_STORE_EXPORT;

void exported_skip_number(uint64_t number)
{
    if (number > last_number)
        last_number = number;
}

static void put_record(const struct exported_memory *exported, struct control_kept_export *out)
{
    *out = (struct control_kept_export){.list = CONTROL_SESSION_DIGEST,
                                        .kind = exported->kind,
                                        .owner = (uint64_t)exported->owner,
                                        .exporter = exported->exporter,
                                        .payer = exported->payer,
                                        .device = exported->device,
                                        .size = exported->size,
                                        .charge = exported->charge};
    memcpy(out->token, exported->token, sizeof(out->token));
    memcpy(out->lease, exported->lease, sizeof(out->lease));
    memcpy(out->handle, exported->handle, sizeof(out->handle));
    for (; out->uses_count < exported->use_count; out->uses_count++)
        out->uses[out->uses_count] =
            (struct control_kept_use){.session = exported->uses[out->uses_count].session,
                                      .count = exported->uses[out->uses_count].count};
}

void exported_store(struct box *box, struct exported_memory *exported)
{
    if (!spawner_outlives(box))
        return;
    SCOPED_FREE struct control_kept_export *record = malloc(sizeof(*record));
    if (record)
        put_record(exported, record);
    SCOPED_FD int fd = record ? spawner_kept_pack(CONTROL_KEPT_EXPORT, record) : -ENOMEM;
    if (fd < 0) {
        log_error("shared memory is not stored for the next rgpud error=\"%s\"", strerror(-fd));
        return;
    }
    const int fds[] = {fd, exported->fd};
    if (!exported->number)
        exported->number = ++last_number;
    spawner_store(box, exported->number, fds, exported->fd < 0 ? 1 : 2);
}
