// SPDX-License-Identifier: BSD-3-Clause
// Simulated devices of this process.
#ifndef SIM_DEVICE_H
#define SIM_DEVICE_H

#include <pthread.h>

#include "sim/sim_config.h"
#include "sim/sim.h"

struct context;
struct address_arena;
struct memory_pool;

struct device {
    int index;   // CUdevice
    int ordinal; // number among all simulated devices of this machine
    size_t total_memory;
    _Atomic size_t taken; // bytes that this process has allocated
    // bytes of `taken` that are free but not yet returned, see device_uncharge_late
    _Atomic size_t late;
    struct address_arena *arena; // created with the first context

    pthread_mutex_t lock;    // guards the fields below
    struct context *primary; // NULL until it is first retained
    unsigned primary_count;
    unsigned primary_flags;
    struct memory_pool *default_pool; // created at first use
    struct memory_pool *current_pool; // pool of cuMemAllocAsync; NULL: default_pool
};

#define DEVICE_MULTIPROCESSORS 16
#define DEVICE_CLOCK_KHZ 1500000
#define DEVICE_SHARED_PER_BLOCK (48 * 1024)
#define DEVICE_SHARED_PER_BLOCK_OPTIN (227 * 1024)
#define DEVICE_SHARED_PER_SM (228 * 1024)
#define DEVICE_SHARED_RESERVED 1024
#define DEVICE_REGISTERS_PER_SM 65536
#define DEVICE_THREADS_PER_SM 2048
#define DEVICE_BLOCKS_PER_SM 32
#define DEVICE_WARP_SIZE 32
#define DEVICE_MAX_PITCH INT32_MAX
#define DEVICE_PITCH_ALIGNMENT 512

// Creates the devices of the configuration, which is copied. Must be called once, by cuInit.
void device_setup(const struct sim_config *config);
const struct sim_config *device_config(void);
int device_count(void);

// Returns NOT_INITIALIZED or INVALID_DEVICE on failure.
CUresult device_get(CUdevice index, struct device **out);
// Returns the device with this number on the machine, or NULL if this process does not have it.
struct device *device_of_ordinal(int ordinal);

// Returns the device's bytes that no process has allocated.
size_t device_free_memory(const struct device *device);

// Allocate and free bytes in the account of the device, which all processes share. Returns
// OUT_OF_MEMORY.
CUresult device_charge(struct device *device, size_t bytes);
void device_uncharge(struct device *device, size_t bytes);
// Returns bytes to the device at the next device_settle, which every call that waits for the GPU
// calls. An H200 (driver 580) too keeps memory of cuMemFreeAsync for the process until such a call.
void device_uncharge_late(struct device *device, size_t bytes);
void device_settle(struct device *device);

#endif
