// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_COMMON_UUID_TEXT_H
#define RGPU_COMMON_UUID_TEXT_H

#include <stdint.h>

enum { UUID_TEXT = 37 };

// Formats a UUID as hexadecimal digits 8-4-4-4-12, without a prefix such as "GPU-".
void uuid_text(const uint8_t uuid[16], char text[UUID_TEXT]);

#endif
