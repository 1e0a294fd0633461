// SPDX-License-Identifier: BSD-3-Clause
// Binds the worker to the processors, the memory and the RDMA devices near its GPU.
#ifndef RGPU_WORKER_PLACEMENT_H
#define RGPU_WORKER_PLACEMENT_H

// Reads the machine's topology. Called before the worker is confined, because it cannot read the
// topology afterwards. If the topology is unknown, placement_take does nothing.
void placement_look(void);
// Binds this thread, its future threads and their future memory to the processors and the NUMA node
// near the GPU at the address PCI. If the worker's settings name no RDMA devices, selects those
// near the GPU. Logs failures.
void placement_take(const char *pci);
// Returns a description of the choice for people.
const char *placement_text(void);

#endif
