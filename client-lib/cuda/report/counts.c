// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/report/counts.h"

const char *wait_name(enum watch_wait reason)
{
    static const char *const names[WATCH_WAITS] = {
        [WATCH_WAIT_GPU] = "for the GPU",
        [WATCH_WAIT_ANSWER] = "for an answer",
        [WATCH_WAIT_DATA] = "for data",
        [WATCH_WAIT_ROOM] = "for room on the way to the box",
    };
    return names[reason];
}
