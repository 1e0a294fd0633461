// SPDX-License-Identifier: BSD-3-Clause
// Our libnvidia-ml.so.1: declarations that its files share. All functions of the library hold one
// lock while they run, so any thread may call any of them. Nothing runs in the background: a call
// that needs a value queries the box if that value is too old.
#ifndef RGPU_CLIENT_NVML_LIBRARY_H
#define RGPU_CLIENT_NVML_LIBRARY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "client-lib/nvml/nvml_boxes.h"
#include "common/base/pci_place.h"

#define NVML_EXPORT(name, ...) \
    __attribute__((visibility("default"))) int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

// ---- nvml_library.c ----

// Takes the lock, and disables cancellation of the thread until nvml_leave().
void nvml_lock(void);
// Every function calls this first: it takes the lock and checks that the library is initialized.
// Returns 0, or the error to return.
int nvml_enter(void);
void nvml_leave(void);
// The same for a function of a device. *gpu is up to date.
int nvml_enter_device(void *device, struct lease_gpu **gpu);
// Returns a device's handle, which stays valid until the process ends.
void *nvml_handle(unsigned index);
unsigned nvml_index(const struct lease_gpu *gpu);
int nvml_put_text(const char *text, char *out, unsigned size);

// ---- nvml_recorded.c ----

// Writes the box's recorded answer to query NUMBER to OUT, if the answer has SIZE bytes.
int recorded_answer(const struct lease_gpu *gpu, unsigned number, unsigned arguments, void *out,
                    size_t size);

enum { QUESTION_ANCESTOR = 200 };

// Answers a query about two GPUs of different boxes.
int recorded_between_boxes(unsigned number, void *out);

// ---- nvml_calls.c ----

// Writes the GPU's PCI location, as CUDA reports it.
void nvml_put_pci(const struct lease_gpu *gpu, struct nvml_pci *out);
// Writes the location, and keeps the other members of OUT.
void nvml_put_place(const struct pci_place *place, struct nvml_pci *out);

// ---- nvml_processes.c ----

// Lists the lease's processes on the GPU, as entries of SIZE bytes; those of older functions are
// shorter.
int processes_list(void *device, unsigned *count, void *out, size_t size);
void process_name(unsigned pid, char *out, size_t size);

#endif
