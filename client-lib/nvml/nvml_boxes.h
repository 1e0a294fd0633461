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
    unsigned box, place;         // index of the box, and of the GPU among those of the lease there
    bool lost;                   // the box no longer answers, or no longer has it
    struct control_figures said; // without its views
    int64_t said_us;             // time of the report, in microseconds since 1970
    char uuid[48];
    size_t answers_size, system_size;
    uint8_t answers[NVML_ANSWERS_MAX], system[NVML_SYSTEM_MAX];
};

extern struct nvml_state {
    pthread_mutex_t lock; // protects all members
    unsigned users;       // calls of nvmlInit without a call of nvmlShutdown
    unsigned count;
    struct lease_gpu
        *gpus; // in the order of CUDA's devices; stay where they are until the process ends
    int64_t asked_ms;
} nvml_state;

// The caller of the functions below holds the lock.

// Finds the boxes and the GPUs of the lease. Returns the result of nvmlInit.
int boxes_find(void);
// Updates the data of the GPUs if they are too old.
void boxes_refresh(void);

#endif
