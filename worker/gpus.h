// SPDX-License-Identifier: BSD-3-Clause
// The GPUs that this worker may use (gpus.c).
#ifndef RGPU_WORKER_GPUS_H
#define RGPU_WORKER_GPUS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/control.h"
#include "proto/wire.h"
#include "worker_driver.h"

enum { GPUS_MAX = WIRE_DEVICE_MAX };

// What the session's client knows it by: another one's where its lease has been moved.
struct gpu_identity {
    uint8_t uuid[16]; // zeros: its own
    char pci[32];
};

struct gpu {
    bool present; // what is not is of no concern to this worker
    CUdevice handle;
    CUcontext primary;     // our own reference keeps it warm; NULL: not made yet
    uint64_t context_cost; // bytes; 0: not known
    unsigned retained;     // by the client
    uint64_t budget;       // bytes; 0: the whole device
    _Atomic uint64_t used; // bytes that the session has allocated
    uint64_t page;         // bytes in which the driver takes memory; 0: not known
    struct gpu_identity known_as;
    _Atomic uint32_t
        number; // that the supervisor has for it: another one once the session has been moved
};

struct gpus {
    struct gpu list[GPUS_MAX]; // by the supervisor's ordinal
    int count;                 // of the list, absent ones among them
    int driver_version;
};
extern struct gpus gpus;

CUresult gpus_discover(void);
void gpus_describe(struct control_device *out);
// Ten times the compute capability of a device that is present (90).
unsigned gpu_arch(int ordinal);
// Where a device that is present is on its host, in words of the kernel's.
void gpu_pci(int ordinal, char *text, size_t room);
// Makes the primary context of a device, or gives the one that is there, without making it current.
CUresult gpu_primary(int ordinal, CUcontext *out);
// The place in the list of the GPU that the supervisor calls so; -1: it is not ours.
int gpu_place_of(uint32_t number);
uint64_t gpus_used(void); // bytes that the session has on all of them

#endif
