// SPDX-License-Identifier: BSD-3-Clause
// Keeps the memory that this session shares with other processes of its lease, and the memory that
// it imports from them (shared.c). Memory is named by its address, or by a stand-in while it has
// none. Thread-safe.
#ifndef RGPU_WORKER_SHARED_H
#define RGPU_WORKER_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/net/control.h"

// Finds the token of memory that is already shared; returns false if it is not.
bool shared_find(uint64_t memory, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);
// Adds shared memory. Returns false if memory runs out. If another thread was quicker, TOKEN is set
// to its token.
bool shared_add(uint64_t memory, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);
// Removes freed memory, if it is shared.
void shared_forget(uint64_t memory);

// Adds memory imported from another process; returns false if memory runs out.
bool import_add(uint64_t memory, const struct control_redeemed *redeemed,
                const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);
// Finds the size and the driver's handle of imported memory; returns false if it was not imported.
bool import_find(uint64_t memory, uint64_t *size, uint8_t handle[CONTROL_EXPORT_HANDLE_BYTES]);
// It is used no more, if it was imported; what this session pays for it is given back.
void import_forget(uint64_t memory);
// Removes imported memory, if it is any, and gives back what this session pays for it.
void import_inherit(const struct control_export_inherited *inherited);

#endif
