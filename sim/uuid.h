// SPDX-License-Identifier: BSD-3-Clause
#ifndef SIM_UUID_H
#define SIM_UUID_H

// Return the UUID of a simulated device, which is the same in every process. The text has no "GPU-"
// prefix.
void device_uuid(int ordinal, unsigned char out[16]);
void sim_uuid_text(int ordinal, char out[40]);

#endif
