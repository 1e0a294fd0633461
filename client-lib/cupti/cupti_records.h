// SPDX-License-Identifier: BSD-3-Clause
// The activity records that the program, usually a profiler, has requested from CUPTI. This file
// keeps them until they are written into the program's buffers. A call of the program is added when
// it ends, work of a GPU when it is fetched from the box. Times are nanoseconds of CLOCK_MONOTONIC,
// and are converted to the program's clock at delivery. All functions are thread-safe.
#ifndef RGPU_CUPTI_RECORDS_H
#define RGPU_CUPTI_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cupti_abi.h"
#include "proto/profiler_table.h"

// Set the program's callbacks: for buffers to fill, for filled buffers, and for the program's clock
// (NULL: wall-clock time in nanoseconds).
void records_deliver_to(CUpti_BuffersCallbackRequestFunc request,
                        CUpti_BuffersCallbackCompleteFunc complete);
void records_reckon_by(CUpti_TimestampCallbackFunc now);
// Returns the time of the program's clock.
uint64_t records_now(void);
// Reads both clocks, as the first of two points by which the times of later records are converted.
void records_mark_time(void);

// Adds a call of the program. KIND is CUPTI_ACTIVITY_KIND_DRIVER or _RUNTIME, NUMBER is CUPTI's
// number of the call. EXTERNALS[k] is the external correlation id of kind k, if bit k of
// EXTERNAL_KINDS is set. CALL is copied; its name must stay valid.
void records_add_call(uint32_t kind, uint32_t number, const struct profiler_call *call,
                      uint32_t external_kinds, const uint64_t *externals);
// Notes that the call with this number (struct profiler_call) copies memory that is not
// page-locked.
void records_note_pageable(uint32_t call);
// Adds work that a GPU has done. NAME is a kernel's name, which stays valid, or NULL. If the box
// made a copy in several pieces, they become one record at delivery.
void records_add_work(const struct wire_activity *work, const char *name);

// Writes all records into buffers of the program, and passes these to its callback for filled
// buffers.
void records_deliver(void);
// Adds LOST to the number of lost records. records_take_lost returns that number and sets it to 0.
void records_lost(uint64_t lost);
uint64_t records_take_lost(void);

#endif
