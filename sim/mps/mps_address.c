// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "sim/mps/mps_board.h"

int mps_address(const char *name, struct sockaddr_un *address)
{
    const char *directory = getenv(MPS_DIRECTORY_VARIABLE);

    if (!directory || !*directory)
        return -ENOENT;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(address->sun_path, sizeof(address->sun_path), "%s/%s", directory, name);
    return n > 0 && (size_t)n < sizeof(address->sun_path) ? 0 : -ENAMETOOLONG;
}
