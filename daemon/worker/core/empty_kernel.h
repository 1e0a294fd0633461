// SPDX-License-Identifier: BSD-3-Clause
// Runs an empty kernel before a program's next kernel, where that would wait for data that cannot
// arrive.
#ifndef RGPU_WORKER_EMPTY_KERNEL_H
#define RGPU_WORKER_EMPTY_KERNEL_H

// Launches the kernel in the current context without waiting for it, and loads it there the first
// time.
//
// For a module that prints, has a heap or needs larger stacks, the driver changes its set-up with
// the next launch of any kernel. Neither this change nor later work on the GPU proceeds before all
// streams that wait for a value have ended. Natively another GPU may write such a value. Here the
// value may need a copy of this GPU, from another box or from the client. So the worker makes the
// next launch itself, directly after the load. A failed launch does not fail the load.
void empty_kernel_run(void);

// The kernel's name, by which reports of the program's GPU activity leave it out.
#define EMPTY_KERNEL "rgpu_worker_empty_kernel"

#endif
