// SPDX-License-Identifier: BSD-3-Clause
// The records that wait for the client: bounded, and what does not fit is counted. Any thread may call.
#ifndef RGPU_WORKER_ACTIVITY_STORE_H
#define RGPU_WORKER_ACTIVITY_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"

// Empties the store and makes it ready. -ENOMEM.
int activity_store_open(void);
// Gives the memory back.
void activity_store_close(void);

// A call of the driver, as its own numbers have it, is of the program's call NUMBER.
void store_name_call(uint32_t driver_call, uint32_t number);
// The pieces of the program's call NUMBER are in STREAM to the program.
void store_place_call(uint32_t number, uint32_t stream);

// Around any number of records, which come in buffers of thousands.
void activity_records_begin(void);
void activity_records_end(void);
// Adds *RECORD, whose correlation is the driver's; NAME (may be NULL) is the kernel's.
void store_add(struct wire_activity *record, const char *name);
void store_lost(uint64_t records);

// The oldest records, as many as fit into ROOM bytes; what was lost so far; how much is left.
size_t store_take(void *to, size_t room, uint64_t *dropped, uint32_t *left);

#endif
