// SPDX-License-Identifier: BSD-3-Clause
// Memory that this session shares with other processes of its lease, and what it has of theirs (shared.c). Memory is
// named by its address, or by what stands for it while it has none. Any thread may call.
#ifndef RGPU_WORKER_SHARED_H
#define RGPU_WORKER_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/control.h"

// The token of memory that is shared already; false: it is not.
bool shared_find(uint64_t memory, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);
// False: no memory for that. Another thread may have been quicker: then TOKEN is the one that counts.
bool shared_add(uint64_t memory, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);
// It is freed, if it is shared.
void shared_forget(uint64_t memory);

// Memory of another process has come; false: no memory for that.
bool import_add(uint64_t memory, const struct control_redeemed *redeemed,
                const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);
// How large it is, and what the driver knows it by; false: it was not imported.
bool import_find(uint64_t memory, uint64_t *size, uint8_t handle[CONTROL_EXPORT_HANDLE_BYTES]);
// It is used no more, if it was imported; what this session pays for it is given back.
void import_forget(uint64_t memory);
// Who paid for it is gone. The account has it on this session already.
void import_inherit(const struct control_export_inherited *inherited);

#endif
