// SPDX-License-Identifier: BSD-3-Clause
// Settings of the software GPU, read from the environment once, in cuInit.
#ifndef SIM_CONFIG_H
#define SIM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#define SIM_MAX_DEVICES 16

struct sim_config {
    int device_count;               // number of visible devices (CUDA_VISIBLE_DEVICES)
    int ordinals[SIM_MAX_DEVICES];  // by visible index: number among the devices of this machine
    int gpu_count;                  // RGPU_SIM_DEVICES: number of GPUs; their ordinals come first
    int instance_count;             // number of MIG instances; their ordinals come next
    int parts[SIM_MAX_DEVICES];     // RGPU_SIM_MIG: instances of each GPU; 0: not partitioned
    int parents[SIM_MAX_DEVICES];   // by ordinal: GPU of an instance; -1: not an instance
    size_t memory[SIM_MAX_DEVICES]; // RGPU_SIM_MEMORY, bytes of each GPU
    size_t context_cost;            // RGPU_SIM_CONTEXT_COST: bytes that an empty context takes
    // RGPU_SIM_LIMIT: a process that takes more bytes of a device is killed; 0: no limit
    size_t limit;
    size_t code;         // RGPU_SIM_CODE: device bytes for each byte of a module's PTX
    size_t stream_cost;  // RGPU_SIM_STREAM_COST: bytes that a stream takes until its context ends
    size_t page;         // RGPU_SIM_PAGE: reported memory use is a multiple of these bytes
    unsigned capability; // RGPU_SIM_CAPABILITY, 10 * major + minor
    unsigned threads;    // RGPU_SIM_THREADS: maximum host threads of a kernel
    bool near;           // RGPU_SIM_ADDRESSES=near: use addresses close to the kernel's mappings
    // RGPU_SIM_LAZY: the first use of a function, and the first launch after a load, wait for all
    // work
    bool lazy;
    unsigned bad;         // RGPU_SIM_BAD_MEMORY: bit mask of GPUs whose memory loses bits
    bool crashes;         // RGPU_SIM_STALE=crash: the use of a stale handle crashes the process
    char state_path[256]; // RGPU_SIM_STATE: file shared by all processes of the machine
};

// Returns 0, or -EINVAL and a message on standard error.
int sim_config_load(struct sim_config *config);
// Parses a number of bytes with suffix K, M, G or T. Returns 0 or -EINVAL.
int sim_config_size(const char *text, size_t *out);

// Return the bytes and the name of a GPU or instance.
size_t sim_config_memory(const struct sim_config *config, int ordinal);
void sim_config_name(const struct sim_config *config, int ordinal, char *text, size_t size);

#endif
