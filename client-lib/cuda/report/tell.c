// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/report/tell.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void tell(const char *format, ...)
{
    const char *level = secure_getenv("RGPU_LOG");
    char line[1024] = "rgpu: ";
    va_list arguments;
    if (level && strcmp(level, "off") == 0)
        return;
    va_start(arguments, format);
    size_t used = strlen(line), room = sizeof(line) - used - 1;
    int length = vsnprintf(line + used, room, format, arguments);
    va_end(arguments);
    used += length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
    line[used++] = '\n';
    // One write, so that the lines of a job's processes do not mix. A failure cannot be reported.
    if (write(STDERR_FILENO, line, used) < 0)
        return;
}
