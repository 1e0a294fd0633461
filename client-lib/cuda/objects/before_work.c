// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/objects/before_work.h"

const struct before_work *_Atomic before_work;
_Atomic unsigned int host_functions_running;
