// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/uuid_text.h"

#include <stdio.h>

void uuid_text(const uint8_t uuid[16], char text[UUID_TEXT])
{
    for (int i = 0; i < 16; i++)
        text += sprintf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}
