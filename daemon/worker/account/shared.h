// SPDX-License-Identifier: BSD-3-Clause
// Memory that this session shares with other processes of its lease, and memory that it imports.
// `memory` is an address, or another unique value for memory without an address. Thread-safe.
#ifndef RGPU_WORKER_SHARED_H
#define RGPU_WORKER_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/net/control.h"

// Returns the token of shared memory; false if it is not shared.
bool shared_find(uint64_t memory, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);
// Adds shared memory. Returns false if memory is exhausted. If another thread has added it already,
// sets TOKEN to its token.
bool shared_add(uint64_t memory, uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);
// Removes shared memory, because it is freed. Does nothing for other memory.
void shared_forget(uint64_t memory);

// Adds imported memory. Returns false if memory is exhausted.
bool import_add(uint64_t memory, const struct control_redeemed *redeemed,
                const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES]);
// Returns size and driver handle of imported memory; false if it is not imported.
bool import_find(uint64_t memory, uint64_t *size, uint8_t handle[CONTROL_EXPORT_HANDLE_BYTES]);
// Removes imported memory that is no longer used, and uncounts it if this session pays for it. Does
// nothing for other memory.
void import_forget(uint64_t memory);
// Makes this session pay for memory that it imports, because the creator no longer does.
void import_inherit(const struct control_export_inherited *inherited);

#endif
