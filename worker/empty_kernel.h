// SPDX-License-Identifier: BSD-3-Clause
// An empty kernel, which the worker runs where a program's next one would wait for what cannot come.
#ifndef RGPU_WORKER_EMPTY_KERNEL_H
#define RGPU_WORKER_EMPTY_KERNEL_H

// Launches it in the current context, and does not wait for it. It is loaded there the first time.
//
// For a module that prints, has a heap or needs larger stacks, the driver sets something up with the next launch, of
// whichever kernel, and lets neither that nor anything behind it on the GPU go on before all streams have ended that wait for
// a value. Natively another GPU may write such a value; here it may come as a copy of this GPU, from another box or from the
// client. So the next launch is ours, right behind the load. That it fails is no failure of the load.
void empty_kernel_run(void);

// Its name, by which it is left out of what the GPU did for the program.
#define EMPTY_KERNEL "rgpu_worker_empty_kernel"

#endif
