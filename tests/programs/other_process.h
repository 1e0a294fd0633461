// SPDX-License-Identifier: BSD-3-Clause
// What two processes of a test tell each other over a socket; either ends when the other has gone.
#ifndef RGPU_TESTS_PROGRAMS_OTHER_PROCESS_H
#define RGPU_TESTS_PROGRAMS_OTHER_PROCESS_H

#include <sys/socket.h>
#include <unistd.h>

#include "tests/programs/driver.h"

static void send_all(int to, const void *data, size_t size)
{
    if (write(to, data, size) != (ssize_t)size)
        bail("the other process is gone");
}

static void take_all(int from, void *data, size_t size)
{
    if (recv(from, data, size, MSG_WAITALL) != (ssize_t)size)
        bail("the other process is gone");
}

#endif
