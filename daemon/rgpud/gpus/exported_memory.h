// SPDX-License-Identifier: BSD-3-Clause
// The exports of this box (exported.h), and what rgpu-spawner keeps of each for the next rgpud: a
// record (KEPT_EXPORT of proto/control.spec) and the descriptor of the memory.
#ifndef RGPU_DAEMON_EXPORTED_MEMORY_H
#define RGPU_DAEMON_EXPORTED_MEMORY_H

#include "daemon/rgpud/workers/worker_process.h"

// Maximum number of sessions that use one export.
enum {
    EXPORTED_USES_MAX = sizeof(((struct control_kept_export *)0)->uses) /
                        sizeof(struct control_kept_use)
};

struct memory_use {
    uint64_t session;
    unsigned count;
};

struct exported_memory {
    TAILQ_ENTRY(exported_memory) link;
    LIST_ENTRY(exported_memory) chain;
    uint64_t number; // under which it is stored for the next rgpud; 0: not yet
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

struct exported_memory *exported_find(const uint8_t *token);
struct memory_use *exported_use_of(const struct exported_memory *exported, uint64_t session);
bool exported_is_granted(const struct worker_process *worker, uint32_t device);
bool exported_is_open_to(const struct exported_memory *exported,
                         const struct worker_process *worker);
// Counts an export against the limits of a session until no session uses it.
bool exported_count(struct box *box, struct exported_memory *made, uint64_t session);
bool exported_add_use(struct exported_memory *exported, uint64_t session, unsigned count);
// Adds an export to those of the box, which own it then.
void exported_add(struct box *box, struct exported_memory *exported);
// Removes an export from those of the box and frees it, or frees one that the box does not have.
void exported_forget(struct box *box, struct exported_memory *exported);
void exported_free(struct box *box, struct exported_memory *exported);
// Prevents an export from being stored under this number, which an earlier one has.
void exported_skip_number(uint64_t number);
// Stores an export for the next rgpud, in place of what was stored before.
void exported_store(struct box *box, struct exported_memory *exported);

#endif
