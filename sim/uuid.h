// SPDX-License-Identifier: BSD-3-Clause
#ifndef SIM_UUID_H
#define SIM_UUID_H

// Return the UUID of a simulated device, which is equal in all processes. The text lacks the prefix
// "GPU-".
void device_uuid(int ordinal, unsigned char out[16]);
void sim_uuid_text(int ordinal, char out[40]);

#endif
