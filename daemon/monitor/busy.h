// SPDX-License-Identifier: BSD-3-Clause
// Utilization of GPUs and processes, from the management library (NVML). GPU is an index in the
// monitor's output.
#ifndef RGPU_MONITOR_BUSY_H
#define RGPU_MONITOR_BUSY_H

enum { BUSY_GPUS_MAX = 64, BUSY_PROCESSES_MAX = 4096 };

// Finds the functions in a library opened with dlopen. Figures of missing functions are omitted.
void busy_find(void *library);
// Reads the figures of DEVICE, unless the last reading is very recent.
void busy_read(unsigned gpu, void *device);
// Prints the last reading: percent of the time in which kernels ran, and in which memory was
// accessed; "-" if unknown.
void busy_print_gpu(unsigned gpu);
// Prints the percentage of the time in which kernels of the process ran; "-" if unknown.
void busy_print_process(unsigned gpu, unsigned pid);
// Prints a line "process PID 0 PERCENT" for each active process, or "hidden" if the library does
// not report them.
void busy_print_processes(unsigned gpu);

#endif
