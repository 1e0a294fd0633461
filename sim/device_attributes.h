// SPDX-License-Identifier: BSD-3-Clause
// Answers to cuDeviceGetAttribute.
#ifndef SIM_DEVICE_ATTRIBUTES_H
#define SIM_DEVICE_ATTRIBUTES_H

#include "sim/device.h"

// INVALID_VALUE for an attribute that does not exist.
CUresult device_attribute(const struct device *device, CUdevice_attribute attribute, int *value);

#endif
