// SPDX-License-Identifier: BSD-3-Clause
// rgpu's libnvidia-ml.so.1: declarations that its files share. All functions of the library hold
// one lock while they run, so they are thread-safe. The library has no threads: a call that needs a
// value queries the box if the last report is too old. Results are those of enum nvml_result.
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
// Takes the lock and checks that the library is initialized. Every exported function calls this or
// nvml_enter_device first. Returns NVML_OK, and the caller calls nvml_leave() at its end, or the
// error that the caller returns.
int nvml_enter(void);
void nvml_leave(void);
// Does the same for a function of a device, and sets *GPU, whose report is recent.
int nvml_enter_device(void *device, struct lease_gpu **gpu);
// Returns the handle of the device with this index. The handle is valid until the process ends.
void *nvml_handle(unsigned index);
unsigned nvml_index(const struct lease_gpu *gpu);
// Copies a text to OUT, which has SIZE bytes. Returns NVML_INSUFFICIENT_SIZE if it does not fit.
int nvml_put_text(const char *text, char *out, unsigned size);

// ---- nvml_recorded.c ----

// Copies the box's recorded answer to query NUMBER (proto/nvml_questions.h) to OUT, if the answer
// has SIZE bytes. ARGUMENTS has the query's arguments, one byte each, the first one lowest. Returns
// the result that NVML gave on the box, or an error without an answer.
int recorded_answer(const struct lease_gpu *gpu, unsigned number, unsigned arguments, void *out,
                    size_t size);

// Number of the query nvmlDeviceGetTopologyCommonAncestor.
enum { QUESTION_ANCESTOR = 200 };

// Answers query NUMBER about two GPUs of different boxes, which have no common links.
int recorded_between_boxes(unsigned number, void *out);

// ---- nvml_calls.c ----

// Fills in OUT with the GPU's PCI location, as CUDA reports it.
void nvml_put_pci(const struct lease_gpu *gpu, struct nvml_pci *out);
// Sets the members of OUT for the location, and keeps the other ones.
void nvml_put_place(const struct pci_place *place, struct nvml_pci *out);

// ---- nvml_processes.c ----

// Lists the lease's processes on a GPU in OUT, as entries of SIZE bytes: the first SIZE bytes of
// struct nvml_process, because older functions have shorter entries. *COUNT is the number of
// entries that OUT has room for, and becomes the number of processes.
int processes_list(void *device, unsigned *count, void *out, size_t size);
// Writes the name of a process to OUT, which has SIZE bytes.
void process_name(unsigned pid, char *out, size_t size);

#endif
