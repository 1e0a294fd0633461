// SPDX-License-Identifier: BSD-3-Clause
// Stores activity records until the client reads them. Records beyond a limit are only counted.
// Thread-safe.
#ifndef RGPU_WORKER_ACTIVITY_STORE_H
#define RGPU_WORKER_ACTIVITY_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"

// Empties the store and allocates its memory. Returns 0 or -ENOMEM.
int activity_store_open(void);
// Frees the memory.
void activity_store_close(void);

// Assigns the driver's correlation id of a call to the program's call NUMBER.
void store_name_call(uint32_t driver_call, uint32_t number);
// The chunks of the program's call NUMBER are shown in STREAM of the program.
void store_place_call(uint32_t number, uint32_t stream);

// Must be called before and after records are added.
void activity_records_begin(void);
void activity_records_end(void);
// Adds *RECORD, which has the driver's correlation id. NAME: name of the kernel, or NULL.
void store_add(struct wire_activity *record, const char *name);
void store_lost(uint64_t records);

// Copies the oldest records that fit into ROOM bytes to TO. Returns the bytes, and the numbers of
// lost and of remaining records.
size_t store_take(void *to, size_t room, uint64_t *dropped, uint32_t *left);

#endif
