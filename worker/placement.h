// SPDX-License-Identifier: BSD-3-Clause
// Where in the machine this worker is: on the processors and the memory that are near its GPU, with the RDMA devices there.
#ifndef RGPU_WORKER_PLACEMENT_H
#define RGPU_WORKER_PLACEMENT_H

// Looks what the machine is like, which a confined worker can not. Where that cannot be told nothing is chosen.
void placement_look(void);
// Goes near the GPU at that PCI address: this thread and those that it makes from now on, and the memory that they take;
// and names the RDMA devices there in the set-up, if that names none. Says in the log what was not possible.
void placement_take(const char *pci);
// What was chosen, for people.
const char *placement_text(void);

#endif
