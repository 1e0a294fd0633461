// SPDX-License-Identifier: BSD-3-Clause
// Implements the simulated devices of this process.
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
    int ordinal; // number among the simulated devices of this machine
    size_t total_memory;
    _Atomic size_t taken;        // by this process
    _Atomic size_t late;         // part of it that is free, but not given back yet
    struct address_arena *arena; // created with the first context

    pthread_mutex_t lock;    // guards the fields below
    struct context *primary; // NULL until first retained; then kept
    unsigned primary_count;
    unsigned primary_flags;
    struct memory_pool *default_pool; // created on first use
    struct memory_pool *current_pool; // NULL: the default
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

// Sets up the devices of the configuration, which is copied. cuInit calls it once.
void device_setup(const struct sim_config *config);
const struct sim_config *device_config(void);
int device_count(void);

// Returns NOT_INITIALIZED or INVALID_DEVICE on failure.
CUresult device_get(CUdevice index, struct device **out);
// Returns the device with this number on the machine, or NULL if this process does not have it.
struct device *device_of_ordinal(int ordinal);

// Returns the bytes of a device that no process has taken.
size_t device_free_memory(const struct device *device);

// Takes bytes from the device's memory, which all processes share. Returns OUT_OF_MEMORY.
CUresult device_charge(struct device *device, size_t bytes);
void device_uncharge(struct device *device, size_t bytes);
// Gives bytes back at the next call that waits for the GPU. As on an H200 (driver 580), what
// cuMemFreeAsync frees stays the process's until then, even if an allocation fails.
void device_uncharge_late(struct device *device, size_t bytes);
void device_settle(struct device *device);

#endif
