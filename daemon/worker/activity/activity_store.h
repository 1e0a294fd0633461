// SPDX-License-Identifier: BSD-3-Clause
// Stores activity records for the client. The store is bounded and counts records that do not fit.
// Thread-safe.
#ifndef RGPU_WORKER_ACTIVITY_STORE_H
#define RGPU_WORKER_ACTIVITY_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"

// Empties the store and makes it ready. Returns 0 or -ENOMEM.
int activity_store_open(void);
// Frees the memory.
void activity_store_close(void);

// Maps the driver's number of a call to the program's call NUMBER.
void store_name_call(uint32_t driver_call, uint32_t number);
// Maps the chunks of the program's call NUMBER to the program's STREAM.
void store_place_call(uint32_t number, uint32_t stream);

// Surround the adding of records, which arrive in buffers of thousands.
void activity_records_begin(void);
void activity_records_end(void);
// Adds *RECORD, which has the driver's correlation number; NAME (may be NULL) is the kernel's.
void store_add(struct wire_activity *record, const char *name);
void store_lost(uint64_t records);

// Takes the oldest records that fit into ROOM bytes; sets the number of lost records and of records
// left.
size_t store_take(void *to, size_t room, uint64_t *dropped, uint32_t *left);

#endif
