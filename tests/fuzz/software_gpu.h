// SPDX-License-Identifier: BSD-3-Clause
// The worker's software GPU, for fuzz targets that make it execute a peer's requests.
#ifndef RGPU_TESTS_FUZZ_SOFTWARE_GPU_H
#define RGPU_TESTS_FUZZ_SOFTWARE_GPU_H

#include "transport/link/link.h"
#include "worker_driver.h"

// Loads the driver with one GPU of 64 MiB, whose books are of this process alone, and makes the
// session's memory as OPTIONS says and its primary context, which is current. A failure ends the
// program.
CUcontext software_gpu_start(const struct link_options *options);

#endif
