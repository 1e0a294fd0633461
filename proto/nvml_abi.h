// SPDX-License-Identifier: BSD-3-Clause
// The part of the ABI of NVML that the GPU monitor (rgpu-monitor) uses and the software GPUs
// implement.
#ifndef RGPU_NVML_ABI_H
#define RGPU_NVML_ABI_H

struct nvml_memory { // bytes
    unsigned long long total, free, used;
};

struct nvml_process {
    unsigned pid;
    unsigned long long used; // bytes; all bits set: unknown
    unsigned gpu_instance, compute_instance;
};

struct nvml_utilization { // percent
    unsigned gpu, memory;
};

struct nvml_process_sample {
    unsigned pid;
    unsigned long long time;               // microseconds since 1970
    unsigned sm, memory, encoder, decoder; // utilization in percent
};

struct nvml_memory_v2 { // bytes
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

struct nvml_pci_ext {
    unsigned version, domain, bus, device, device_id, subsystem_id, base_class, sub_class;
    char bus_id[32];
};

struct nvml_temperature {
    unsigned version, sensor;
    int celsius;
};

// The form of struct nvml_process in NVIDIA's undocumented table of functions, which nvidia-smi
// uses.
struct nvml_named_process {
    struct nvml_process process;
    unsigned long long protected_bytes;
    char name[4096];
};

struct nvml_field {
    unsigned field, scope;
    long long time, latency; // microseconds
    unsigned type;
    int result;
    unsigned long long value;
};

struct nvml_event {
    void *device;
    unsigned long long type, data; // data of an Xid event: its number
    unsigned gpu_instance, compute_instance;
};

#define NVML_EVENT_XID 8ull

_Static_assert(sizeof(struct nvml_event) == 32, "as the library declares it");
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "as the library declares it");
_Static_assert(sizeof(struct nvml_pci) == 68, "as the library declares it");
_Static_assert(sizeof(struct nvml_pci_ext) == 64, "as the library declares it");
_Static_assert(sizeof(struct nvml_process_sample) == 32, "as the library declares it");
_Static_assert(sizeof(struct nvml_named_process) == 4128, "as nvidia-smi expects it");
_Static_assert(sizeof(struct nvml_field) == 40, "as the library declares it");

enum nvml_result {
    NVML_OK = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_TIMEOUT = 10,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_MEMORY = 20,
    NVML_VERSION_MISMATCH = 25,
    NVML_UNKNOWN = 999,
};

#endif
