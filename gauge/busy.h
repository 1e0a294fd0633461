// SPDX-License-Identifier: BSD-3-Clause
// How busy GPUs and processes are (busy.c). A GPU is named by its number among those that are told of.
#ifndef RGPU_GAUGE_BUSY_H
#define RGPU_GAUGE_BUSY_H

enum { BUSY_GPUS_MAX = 64, BUSY_PROCESSES_MAX = 4096 };

// Finds the functions in a library that dlopen has loaded; what it lacks is not told.
void busy_find(void *library);
// Asks the library anew, unless it was asked a moment ago.
void busy_read(unsigned gpu, void *device);
// What was read last, as the words of a line: percent of the time in which kernels ran, and in which memory was used; -: not
// told.
void busy_print_gpu(unsigned gpu);
// Percent of the time in which kernels of the process ran; -: not told.
void busy_print_process(unsigned gpu, unsigned pid);
// A line "process PID - PERCENT" for each that has done something, or "hidden" where it is not told who has.
void busy_print_processes(unsigned gpu);

#endif
