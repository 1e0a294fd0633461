// SPDX-License-Identifier: BSD-3-Clause
#ifndef SIM_DEVICE_ATTRIBUTES_H
#define SIM_DEVICE_ATTRIBUTES_H

#include "sim/engine/device.h"

// Implements cuDeviceGetAttribute. Returns INVALID_VALUE for an unknown attribute.
CUresult device_attribute(const struct device *device, CUdevice_attribute attribute, int *value);

#endif
