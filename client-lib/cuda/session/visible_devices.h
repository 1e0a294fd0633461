// SPDX-License-Identifier: BSD-3-Clause
// Selects and orders the lease's devices for the program by CUDA_VISIBLE_DEVICES, as the driver
// does.
#ifndef RGPU_CLIENT_VISIBLE_DEVICES_H
#define RGPU_CLIENT_VISIBLE_DEVICES_H

#include <stdbool.h>

// Returns true if the list can name no device, so that no box needs to be queried.
bool visible_hides_all(void);
// Numbers the devices of all sessions for the program.
void visible_show_devices(void);

#endif
