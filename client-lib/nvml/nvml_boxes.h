// SPDX-License-Identifier: BSD-3-Clause
// The GPUs of the lease, and the latest reports of their boxes.
#ifndef RGPU_CLIENT_NVML_BOXES_H
#define RGPU_CLIENT_NVML_BOXES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "control_messages.h"
#include "proto/nvml_abi.h"
#include "proto/nvml_questions.h"

enum { NVML_GPUS_MAX = 64 };

// One GPU of the lease, as its box reported it last.
struct lease_gpu {
    unsigned box, place;         // index of the box, and of the GPU among the lease's GPUs there
    bool lost;                   // the box does not answer, or the lease has no such GPU there
    struct control_figures said; // the report; its pointers are NULL, their data are in the arrays
    int64_t said_us;             // time of the report, in microseconds since 1970
    char uuid[48];               // as NVML shows it: "GPU-..." or "MIG-..."
    size_t answers_size, system_size; // used bytes of the arrays
    // recorded answers of NVML about this GPU and about the box: struct nvml_answer and its bytes,
    // one after another (proto/nvml_questions.h)
    uint8_t answers[NVML_ANSWERS_MAX], system[NVML_SYSTEM_MAX];
};

extern struct nvml_state {
    pthread_mutex_t lock; // protects all members
    unsigned users;       // calls of nvmlInit minus calls of nvmlShutdown
    unsigned count;       // number of GPUs
    // in the order of CUDA's devices; the addresses are valid until the process ends
    struct lease_gpu *gpus;
    int64_t asked_ms; // time of the last query, in milliseconds of the monotonic clock
} nvml_state;

// The caller of the functions below holds the lock.

// Finds the boxes and the GPUs of the lease. Returns the result of nvmlInit.
int boxes_find(void);
// Queries the boxes if the reports are too old. Sets `lost` of the GPUs of boxes that do not
// answer.
void boxes_refresh(void);

#endif
