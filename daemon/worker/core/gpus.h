// SPDX-License-Identifier: BSD-3-Clause
// Lists the GPUs that this worker may use (gpus.c).
#ifndef RGPU_WORKER_GPUS_H
#define RGPU_WORKER_GPUS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/net/control.h"
#include "proto/wire.h"
#include "worker_driver.h"

enum { GPUS_MAX = WIRE_DEVICE_MAX };

// The identity that the session's client sees; after a move of the lease it is another GPU's.
struct gpu_identity {
    uint8_t uuid[16]; // zeros: the GPU's own
    char pci[32];
};

struct gpu {
    bool present; // absent devices do not concern this worker
    CUdevice handle;
    CUcontext primary;     // our own reference keeps it warm; NULL: not made yet
    uint64_t context_cost; // bytes; 0: not known
    unsigned retained;     // references of the client
    uint64_t budget;       // bytes; 0: the whole device
    _Atomic uint64_t used; // bytes that the session has allocated
    uint64_t page;         // granularity of the driver's allocations in bytes; 0: not known
    struct gpu_identity known_as;
    _Atomic uint32_t number; // the supervisor's number of it; a move of the session changes it
};

struct gpus {
    struct gpu list[GPUS_MAX]; // by the supervisor's ordinal
    int count;                 // entries of the list, including absent ones
    int driver_version;
};
extern struct gpus gpus;

CUresult gpus_discover(void);
void gpus_describe(struct control_device *out);
// Returns ten times the compute capability of a device that is present (90).
unsigned gpu_arch(int ordinal);
// Writes the address of a present device on its host, as the kernel spells it.
void gpu_pci(int ordinal, char *text, size_t room);
// Returns the primary context of a device without making it current, and makes it if it does not
// exist.
CUresult gpu_primary(int ordinal, CUcontext *out);
// Returns the index in the list of the GPU with the supervisor's NUMBER; -1: it is not ours.
int gpu_place_of(uint32_t number);
uint64_t gpus_used(void); // bytes that the session has on all GPUs

#endif
