// SPDX-License-Identifier: BSD-3-Clause
// Operands of box copies in requests.
#ifndef RGPU_WORKER_SERVE_COPY_H
#define RGPU_WORKER_SERVE_COPY_H

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// BOX_DEVICE: operands in the client's host memory are not resolved.
enum box_sides { BOX_BOTH, BOX_DEVICE };

// Checks the operands and everything that they access, and converts them for the driver.
void box_resolve(struct serve *serve, CUDA_MEMCPY3D *copy, enum box_sides sides);
// As box_resolve(), for a copy that the driver executes with addresses of host memory.
void box_resolve_addresses(struct serve *serve, CUDA_MEMCPY3D *copy);

// Returns a staging block for data of the reply; NULL if the carrier uses the reply's buffer.
// Before it waits for a block, makes another thread read the link.
struct block;
struct block *take_reply_block(struct serve *serve);

#endif
