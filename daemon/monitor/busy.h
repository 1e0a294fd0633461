// SPDX-License-Identifier: BSD-3-Clause
// Reads the utilization of GPUs and processes (busy.c). A GPU is identified by its index in the
// output.
#ifndef RGPU_MONITOR_BUSY_H
#define RGPU_MONITOR_BUSY_H

enum { BUSY_GPUS_MAX = 64, BUSY_PROCESSES_MAX = 4096 };

// Finds the functions in a library that dlopen has loaded. Figures of missing functions are left
// out.
void busy_find(void *library);
// Reads the figures from the library, unless the last reading is very recent.
void busy_read(unsigned gpu, void *device);
// Prints the last reading as words of a line: percent of the time in which kernels ran, and in
// which memory was used; "-" if not known.
void busy_print_gpu(unsigned gpu);
// Prints the percentage of the time in which kernels of the process ran; "-" if not known.
void busy_print_process(unsigned gpu, unsigned pid);
// Prints a line "process PID 0 PERCENT" for each active process, or "hidden" if the library does
// not report them.
void busy_print_processes(unsigned gpu);

#endif
