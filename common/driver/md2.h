// SPDX-License-Identifier: BSD-3-Clause
// MD2 (RFC 1319) and HMAC (RFC 2104) over it: the hash of the driver's integrity check.
// It protects nothing of ours; it is what the CUDA runtime computes and compares.
#ifndef RGPU_COMMON_DRIVER_MD2_H
#define RGPU_COMMON_DRIVER_MD2_H

#include <stddef.h>
#include <stdint.h>

enum { MD2_BLOCK = 16, MD2_DIGEST = 16 };

struct md2 {
    uint8_t state[3 * MD2_BLOCK];
    uint8_t checksum[MD2_BLOCK];
    uint8_t pending[MD2_BLOCK];
    size_t pending_size;
};

void md2_init(struct md2 *hash);
void md2_update(struct md2 *hash, const void *data, size_t size);
void md2_final(struct md2 *hash, uint8_t digest[MD2_DIGEST]);

struct hmac_md2 {
    struct md2 inner;
    uint8_t outer_pad[MD2_BLOCK];
};

// A key longer than a block is hashed first, as the RFC says.
void hmac_md2_init(struct hmac_md2 *mac, const void *key, size_t key_size);
void hmac_md2_update(struct hmac_md2 *mac, const void *data, size_t size);
void hmac_md2_final(struct hmac_md2 *mac, uint8_t digest[MD2_DIGEST]);

#endif
