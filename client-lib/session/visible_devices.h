// SPDX-License-Identifier: BSD-3-Clause
// Which of the lease's devices the program sees, and in which order: CUDA_VISIBLE_DEVICES, read as the driver reads it.
#ifndef RGPU_CLIENT_VISIBLE_DEVICES_H
#define RGPU_CLIENT_VISIBLE_DEVICES_H

#include <stdbool.h>

// The list names no device, whatever the boxes have: none has to be asked.
bool visible_hides_all(void);
// Gives the devices of all sessions their numbers in the program.
void visible_show_devices(void);

#endif
