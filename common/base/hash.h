// SPDX-License-Identifier: BSD-3-Clause
// FNV-1a with 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/). Not for values that an attacker
// can choose.
#ifndef RGPU_COMMON_HASH_H
#define RGPU_COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

// Returns the hash of the data hashed so far (HASH, initially HASH_START) followed by SIZE bytes.
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
