// SPDX-License-Identifier: BSD-3-Clause
// Binds the worker to the processors, the memory and the RDMA devices near its GPU.
#ifndef RGPU_WORKER_PLACEMENT_H
#define RGPU_WORKER_PLACEMENT_H

// Reads the machine's topology, which a confined worker cannot read. If the topology is unknown,
// nothing is chosen.
void placement_look(void);
// Binds this thread, the threads that it makes later, and their memory near the GPU at that PCI
// address. Sets the RDMA devices near the GPU in the set-up, if the set-up names none. Logs what
// was not possible.
void placement_take(const char *pci);
// Describes the choice for people.
const char *placement_text(void);

#endif
