// SPDX-License-Identifier: BSD-3-Clause
// The operands of copies of boxes, as requests name them (serve_copy.c).
#ifndef RGPU_WORKER_SERVE_COPY_H
#define RGPU_WORKER_SERVE_COPY_H

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// The sides to resolve: the client's host memory may be left out.
enum box_sides { BOX_BOTH, BOX_DEVICE };

// Turns operands into what the driver is to see, after checking all that they can reach.
void box_resolve(struct serve *serve, CUDA_MEMCPY3D *copy, enum box_sides sides);
// The same for a copy that goes to the driver with addresses of host memory.
void box_resolve_addresses(struct serve *serve, CUDA_MEMCPY3D *copy);

// The block that a copy's data go to before they are the reply; NULL: the carrier sends them from
// anywhere. While there is none others may read.
struct block;
struct block *take_reply_block(struct serve *serve);

#endif
