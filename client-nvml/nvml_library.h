// SPDX-License-Identifier: BSD-3-Clause
// Our libnvidia-ml.so.1: what its files share. All functions of the library hold one lock while they run, so that any
// thread may call any of them. Nothing runs in the background: a figure that is too old is asked for anew by whoever
// wants it.
#ifndef RGPU_CLIENT_NVML_LIBRARY_H
#define RGPU_CLIENT_NVML_LIBRARY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "client-nvml/nvml_boxes.h"
#include "common/pci_place.h"

#define NVML_EXPORT(name, ...) \
    __attribute__((visibility("default"))) int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

// ---- nvml_library.c ----

// Takes the lock, and keeps the thread from being cancelled until nvml_leave().
void nvml_lock(void);
// Around each function: the same, and looks whether the library is in use. 0, or what to return.
int nvml_enter(void);
void nvml_leave(void);
// The same for a function that has a device: *gpu is up to date.
int nvml_enter_device(void *device, struct lease_gpu **gpu);
// A device's handle, which stays valid for as long as the process lives.
void *nvml_handle(unsigned index);
unsigned nvml_index(const struct lease_gpu *gpu);
int nvml_put_text(const char *text, char *out, unsigned size);

// ---- nvml_recorded.c ----

// The box's answer to a question, written to OUT, where it has so many bytes.
int recorded_answer(const struct lease_gpu *gpu, unsigned number, unsigned arguments, void *out,
                    size_t size);

enum { QUESTION_ANCESTOR = 200 };

// The answer to a question about two GPUs of different boxes.
int recorded_between_boxes(unsigned number, void *out);

// ---- nvml_calls.c ----

// Where the GPU is, as CUDA says.
void nvml_put_pci(const struct lease_gpu *gpu, struct nvml_pci *out);
// The place, into what else is known of what is there.
void nvml_put_place(const struct pci_place *place, struct nvml_pci *out);

// ---- nvml_processes.c ----

// The lease's processes on the GPU, as entries of SIZE bytes; the functions of old have shorter ones.
int processes_list(void *device, unsigned *count, void *out, size_t size);
void process_name(unsigned pid, char *out, size_t size);

#endif
