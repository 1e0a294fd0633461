// SPDX-License-Identifier: BSD-3-Clause
// UUIDs of devices as people write them.
#ifndef RGPU_COMMON_UUID_TEXT_H
#define RGPU_COMMON_UUID_TEXT_H

#include <stdint.h>

enum { UUID_TEXT = 37 };

// 8-4-4-4-12 digits, without a prefix (GPU-, MIG-).
void uuid_text(const uint8_t uuid[16], char text[UUID_TEXT]);

#endif
