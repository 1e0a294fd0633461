// SPDX-License-Identifier: BSD-3-Clause
// The records that the program has requested, until they are in its buffers: calls, added at their
// end, and GPUs' work, added when it is fetched. All times are of this process's clock until
// delivery. Any thread may call.
#ifndef RGPU_CUPTI_RECORDS_H
#define RGPU_CUPTI_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cupti_abi.h"
#include "proto/profiler_table.h"

// Set the callbacks for the program's buffers, and for its clock (NULL: wall-clock time).
void records_deliver_to(CUpti_BuffersCallbackRequestFunc request,
                        CUpti_BuffersCallbackCompleteFunc complete);
void records_reckon_by(CUpti_TimestampCallbackFunc now);
uint64_t records_now(void);
// Remembers the offset of the two clocks at this time, for the records that follow.
void records_mark_time(void);

// Adds a call of the program. KIND is CUPTI_ACTIVITY_KIND_DRIVER or _RUNTIME, NUMBER is CUPTI's
// number of the call. EXTERNALS: the external correlation ids, by their kind; bit k of
// EXTERNAL_KINDS is set if there is one.
void records_add_call(uint32_t kind, uint32_t number, const struct profiler_call *call,
                      uint32_t external_kinds, const uint64_t *externals);
// Notes that a call copies memory which is not page-locked.
void records_note_pageable(uint32_t call);
// Adds work that a GPU has done. If the box makes a copy in several pieces, they become one record
// when they are delivered.
void records_add_work(const struct wire_activity *work, const char *name);

// Writes all records into the program's buffers, and gives these back.
void records_deliver(void);
// Counts LOST more lost records; records_take_lost returns how many were lost since its last call.
void records_lost(uint64_t lost);
uint64_t records_take_lost(void);

#endif
