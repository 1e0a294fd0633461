// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_WORKER_EMPTY_KERNEL_H
#define RGPU_WORKER_EMPTY_KERNEL_H

// Launches an empty kernel in the current context without waiting for it; at first use loads it
// there.
//
// After a module was loaded that prints, has a heap or needs larger stacks, the driver reconfigures
// the GPU with the next launch of any kernel. That launch and later work wait until no stream waits
// for a value. With a local GPU another GPU could write the value; here the write may need a copy
// by the same GPU, which would be a deadlock. Therefore the worker makes the next launch itself,
// directly after the load. If it fails, the load still succeeds.
void empty_kernel_run(void);

// Name of the kernel, which activity records omit.
#define EMPTY_KERNEL "rgpu_worker_empty_kernel"

#endif
