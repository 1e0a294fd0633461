// SPDX-License-Identifier: BSD-3-Clause
// Binds the worker to processors, memory and RDMA devices near its GPU.
#ifndef RGPU_WORKER_PLACEMENT_H
#define RGPU_WORKER_PLACEMENT_H

// Reads the machine's topology. Must be called before the worker is confined. If the topology is
// unknown, placement_take() does nothing.
void placement_look(void);
// Binds this thread, its later threads and their memory to the processors and the NUMA node near
// the GPU with PCI address PCI. If SETUP names no RDMA devices, selects those near the GPU. Logs
// failures.
void placement_take(const char *pci);
// Describes the choice, for users.
const char *placement_text(void);

#endif
