// SPDX-License-Identifier: BSD-3-Clause
// The settings of the software GPU, read from the environment once, by cuInit.
#ifndef SIM_CONFIG_H
#define SIM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#define SIM_MAX_DEVICES 16

struct sim_config {
    int device_count;               // what CUDA_VISIBLE_DEVICES leaves of what follows
    int ordinals[SIM_MAX_DEVICES];  // visible index -> simulated device of this machine
    int gpu_count;                  // RGPU_SIM_DEVICES, the first of the machine's ordinals
    int instance_count;             // instances of partitioned GPUs, whose ordinals come next
    int parts[SIM_MAX_DEVICES];     // RGPU_SIM_MIG, of a GPU; 0: it is not partitioned
    int parents[SIM_MAX_DEVICES];   // of an ordinal; -1: it is a GPU
    size_t memory[SIM_MAX_DEVICES]; // RGPU_SIM_MEMORY, bytes of each GPU
    size_t context_cost;            // RGPU_SIM_CONTEXT_COST, bytes that a bare context takes
    size_t limit; // RGPU_SIM_LIMIT, bytes of a device that end a process which has more; 0: none
    size_t page;  // RGPU_SIM_PAGE, bytes in which memory is said to be taken
    unsigned capability; // RGPU_SIM_CAPABILITY, 10 * major + minor
    unsigned threads;    // RGPU_SIM_THREADS, worker threads of one kernel
    bool near;           // RGPU_SIM_ADDRESSES=near, where the kernel puts mappings
    bool
        lazy; // RGPU_SIM_LAZY, the first use of a function, and the first launch behind a load, wait for all work
    bool crashes;         // RGPU_SIM_STALE=crash, what is gone must not be named
    char state_path[256]; // RGPU_SIM_STATE, file shared by the processes of a machine
};

// 0, or -EINVAL for a setting that cannot be understood (which is named on standard error).
int sim_config_load(struct sim_config *config);
// A number of bytes with K, M, G or T behind it; -EINVAL.
int sim_config_size(const char *text, size_t *out);

// Bytes of a device, GPU or instance, and its name.
size_t sim_config_memory(const struct sim_config *config, int ordinal);
void sim_config_name(const struct sim_config *config, int ordinal, char *text, size_t size);

#endif
