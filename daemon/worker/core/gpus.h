// SPDX-License-Identifier: BSD-3-Clause
// GPUs that this worker may use.
#ifndef RGPU_WORKER_GPUS_H
#define RGPU_WORKER_GPUS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/net/control.h"
#include "proto/wire.h"
#include "worker_driver.h"

enum { GPUS_MAX = WIRE_DEVICE_MAX };

// Identity that the client sees. After a move of the lease it differs from the GPU's own.
struct gpu_identity {
    uint8_t uuid[16]; // zeros: the GPU's own UUID
    char pci[32];
};

struct gpu {
    bool present; // false: the worker does not use the device
    CUdevice handle;
    // the worker has a reference, so that it stays initialized; NULL: not created yet
    CUcontext primary;
    uint64_t context_cost; // bytes; 0: unknown
    unsigned retained;     // number of references of the client
    uint64_t budget;       // bytes; 0: the whole device
    _Atomic uint64_t used; // bytes that the session has allocated
    uint64_t page;         // granularity of the driver's allocations in bytes; 0: unknown
    struct gpu_identity known_as;
    _Atomic uint32_t number; // the supervisor's number of the device; changes with a move
};

struct gpus {
    struct gpu list[GPUS_MAX]; // GPUs by the supervisor's number
    int count;                 // number of entries, including absent ones
    int driver_version;
};
extern struct gpus gpus;

// Fills in the list. Must be called once, when the driver is loaded. gpus_describe() sets one entry
// of OUT for each entry of the list.
CUresult gpus_discover(void);
void gpus_describe(struct control_device *out);
// Returns the architecture of a present device: 10 * compute capability, such as 90.
unsigned gpu_arch(int ordinal);
// Writes the PCI address of a present device, in the kernel's format.
void gpu_pci(int ordinal, char *text, size_t room);
// Returns a device's primary context without making it current; creates it if necessary.
CUresult gpu_primary(int ordinal, CUcontext *out);
// Returns the index of the GPU with the supervisor's NUMBER, or -1.
int gpu_place_of(uint32_t number);
uint64_t gpus_used(void); // bytes of the session on all GPUs

#endif
