// SPDX-License-Identifier: BSD-3-Clause
// Selects and orders the lease's devices for the program by CUDA_VISIBLE_DEVICES, as the driver
// does.
#ifndef RGPU_CLIENT_VISIBLE_DEVICES_H
#define RGPU_CLIENT_VISIBLE_DEVICES_H

#include <stdbool.h>

// Returns true if the variable selects no device whatever the boxes have, so that no box needs to
// be queried.
bool visible_hides_all(void);
// Assigns the program's device numbers to the selected devices of all sessions.
void visible_show_devices(void);

#endif
