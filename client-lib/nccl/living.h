// SPDX-License-Identifier: BSD-3-Clause
// The communicators that have not ended, and the moment when memory of one that has ended may be
// freed. cuMemFree waits for all work of the context, and the context takes no new work meanwhile.
// Between the calls of one collective, ranks would then wait for copies that are not submitted yet.
// So memory is freed when no group is being submitted and no communicator has unfinished work.
// Any thread may call.
#ifndef RGPU_NCCL_LIVING_H
#define RGPU_NCCL_LIVING_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

// The work of one communicator.
struct living {
    struct living *next;
    CUcontext context;
    CUevent last; // recorded after the last operation; the next operation waits for it
    bool began;   // `last` has been recorded
};

void living_enter(struct living *one);
// Does nothing if ONE has not entered.
void living_leave(const struct living *one);
// Enclose the calls that submit a group. The first one waits while memory is being freed.
void living_begin_group(void);
void living_end_group(void);
// Enclose the calls that free memory. The first one waits until memory may be freed. Not called
// between living_begin_group and living_end_group.
void living_begin_freeing(void);
void living_end_freeing(void);

#endif
