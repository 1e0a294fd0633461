// SPDX-License-Identifier: BSD-3-Clause
// The records that the program has asked for, on their way into its buffers: calls as they end, and what the GPUs
// did as it is fetched. All have this process's clock until they are delivered. Any thread may call.
#ifndef RGPU_CUPTI_RECORDS_H
#define RGPU_CUPTI_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cupti_abi.h"
#include "proto/profiler_table.h"

// Whose buffers they are, and by whose clock the program reckons (NULL: that of the wall).
void records_deliver_to(CUpti_BuffersCallbackRequestFunc request,
                        CUpti_BuffersCallbackCompleteFunc complete);
void records_reckon_by(CUpti_TimestampCallbackFunc now);
uint64_t records_now(void);
// Remembers how the two clocks stand, which is good for what comes after.
void records_mark_time(void);

// A call of the program; KIND is CUPTI_ACTIVITY_KIND_DRIVER or _RUNTIME, NUMBER CUPTI's of that call. EXTERNALS:
// the numbers that the program has pushed, by their kind; bit k of EXTERNAL_KINDS says that there is one.
void records_add_call(uint32_t kind, uint32_t number, const struct profiler_call *call,
                      uint32_t external_kinds, const uint64_t *externals);
// Of a call that copies memory which is not page-locked.
void records_note_pageable(uint32_t call);
// What a GPU did. The pieces of a copy that the box makes in several become one when they are delivered.
void records_add_work(const struct wire_activity *work, const char *name);

// Writes all into the program's buffers, and gives those back.
void records_deliver(void);
// How many did not find room since this was asked last; LOST are added.
void records_lost(uint64_t lost);
uint64_t records_take_lost(void);

#endif
