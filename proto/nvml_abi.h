// SPDX-License-Identifier: BSD-3-Clause
// What of the management library's ABI (NVML) rgpu-gauge asks for and the software GPUs answer.
#ifndef RGPU_NVML_ABI_H
#define RGPU_NVML_ABI_H

struct nvml_memory { // bytes
    unsigned long long total, free, used;
};

struct nvml_process {
    unsigned pid;
    unsigned long long used; // bytes; all bits set: not told
    unsigned gpu_instance, compute_instance;
};

struct nvml_utilization { // percent
    unsigned gpu, memory;
};

struct nvml_process_sample {
    unsigned pid;
    unsigned long long time; // microseconds since 1970
    unsigned sm, memory, encoder, decoder;
};

#endif
