// SPDX-License-Identifier: BSD-3-Clause
// Xid events and error counters of GPUs, from the management library (NVML).
#ifndef RGPU_MONITOR_FAULTS_H
#define RGPU_MONITOR_FAULTS_H

// Finds the functions in a library opened with dlopen. Without them there are no faults.
void faults_find(void *library);
// Watches DEVICE, a GPU, from now on. Later calls for the same GPU do nothing.
void faults_watch(void *device, const char *uuid);
// Prints a line "xid UUID NUMBER" for each event since the last call.
void faults_print_events(void);
// Prints a line "counter PLACE VALUE" for each counter that the GPU has (proto/gpu_faults.h).
void faults_print_counters(void *device);

#endif
