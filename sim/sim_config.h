// SPDX-License-Identifier: BSD-3-Clause
// Reads the settings of the software GPU from the environment, once, in cuInit.
#ifndef SIM_CONFIG_H
#define SIM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#define SIM_MAX_DEVICES 16

struct sim_config {
    int device_count;               // devices that CUDA_VISIBLE_DEVICES leaves
    int ordinals[SIM_MAX_DEVICES];  // visible index -> simulated device of this machine
    int gpu_count;                  // RGPU_SIM_DEVICES, the first of the machine's ordinals
    int instance_count;             // instances of partitioned GPUs, whose ordinals come next
    int parts[SIM_MAX_DEVICES];     // RGPU_SIM_MIG, instances of each GPU; 0: not partitioned
    int parents[SIM_MAX_DEVICES];   // GPU of an instance, by ordinal; -1: a GPU
    size_t memory[SIM_MAX_DEVICES]; // RGPU_SIM_MEMORY, bytes of each GPU
    size_t context_cost;            // RGPU_SIM_CONTEXT_COST, bytes that an empty context takes
    size_t limit;       // RGPU_SIM_LIMIT, bytes of a device above which a process is ended; 0: none
    size_t code;        // RGPU_SIM_CODE, bytes of code for each byte of a module's text
    size_t stream_cost; // RGPU_SIM_STREAM_COST, bytes that a stream takes until its context ends
    size_t page;        // RGPU_SIM_PAGE, granularity in bytes of the reported memory use
    unsigned capability; // RGPU_SIM_CAPABILITY, 10 * major + minor
    unsigned threads;    // RGPU_SIM_THREADS, worker threads of one kernel
    bool near;           // RGPU_SIM_ADDRESSES=near, addresses where the kernel puts mappings
    // RGPU_SIM_LAZY, the first use of a function and the first launch after a load wait for all
    // work
    bool lazy;
    bool crashes;         // RGPU_SIM_STALE=crash, use of a stale handle crashes
    char state_path[256]; // RGPU_SIM_STATE, file shared by the processes of a machine
};

// Returns 0, or -EINVAL for an invalid setting, which it names on standard error.
int sim_config_load(struct sim_config *config);
// Parses a number of bytes with suffix K, M, G or T. Returns 0 or -EINVAL.
int sim_config_size(const char *text, size_t *out);

// Return the bytes and the name of a device, GPU or instance.
size_t sim_config_memory(const struct sim_config *config, int ordinal);
void sim_config_name(const struct sim_config *config, int ordinal, char *text, size_t size);

#endif
