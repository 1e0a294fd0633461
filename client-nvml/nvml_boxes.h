// SPDX-License-Identifier: BSD-3-Clause
// The GPUs of the lease and what their boxes said last.
#ifndef RGPU_CLIENT_NVML_BOXES_H
#define RGPU_CLIENT_NVML_BOXES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "control_messages.h"
#include "proto/nvml_abi.h"
#include "proto/nvml_questions.h"

enum { NVML_GPUS_MAX = 64 };

// One GPU of the lease, as its box said last.
struct lease_gpu {
    unsigned box, place;         // index of the box, and of the GPU among those of the lease there
    bool lost;                   // the box does not answer any more, or does not have it
    struct control_figures said; // without its views
    int64_t said_us;             // when, in microseconds since 1970
    char uuid[48];
    size_t answers_size, system_size;
    uint8_t answers[NVML_ANSWERS_MAX], system[NVML_SYSTEM_MAX];
};

extern struct nvml_state {
    pthread_mutex_t lock; // guards all else
    unsigned users;       // calls of nvmlInit without their nvmlShutdown
    unsigned count;
    struct lease_gpu
        *gpus; // in the order of CUDA's devices; stay where they are until the process ends
    int64_t asked_ms;
} nvml_state;

// What follows is called under the lock.

// Finds the boxes and the GPUs of the lease: what nvmlInit is to return.
int boxes_find(void);
// Has what is known of the GPUs brought up to date, where it is too old.
void boxes_refresh(void);

#endif
