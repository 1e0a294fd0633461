// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the box's list of leases that are over, as a crash, a full disk or a hand may leave
// it.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "daemon/rgpud/broker/revocations.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[64], path[96];

static void remove_directory(void)
{
    unlink(path);
    rmdir(directory);
}

static void start(void)
{
    log_set_level(LOG_LEVEL_OFF);
    snprintf(directory, sizeof(directory), "/tmp/rgpu-fuzz.XXXXXX");
    if (!mkdtemp(directory))
        abort();
    snprintf(path, sizeof(path), "%s/revoked", directory);
    atexit(remove_directory);
}

static void write_file(const uint8_t *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct revocations *list = NULL;

    if (!*directory)
        start();
    write_file(data, size);
    if (revocations_open(directory, 5000000000, &list))
        return 0;
    if (revocations_add(list, "l-1", 4000000000) || !revocations_has(list, "l-1"))
        abort();
    revocations_close(&list);
    return 0;
}
