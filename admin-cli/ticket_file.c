// SPDX-License-Identifier: BSD-3-Clause
#include "admin-cli/ticket_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/scope.h"

// The first is in memory, and of this user alone.
static const char *directory(void)
{
    const char *const names[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i] && *names[i] == '/' && access(names[i], W_OK | X_OK) == 0)
            return names[i];
    return "/tmp";
}

static int ticket_file_write_all(int fd, const char *text)
{
    size_t size = strlen(text);

    while (size > 0) {
        ssize_t n = write(fd, text, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        text += n;
        size -= (size_t)n;
    }
    return 0;
}

int ticket_file_write(const char *ticket, char **path)
{
    SCOPED_FREE char *name = NULL;
    int fd, err;

    if (asprintf(&name, "%s/rgpu-ticket-XXXXXX", directory()) < 0) {
        name = NULL;
        return -ENOMEM;
    }
    fd = mkostemp(name, O_CLOEXEC); // mode 0600
    if (fd < 0)
        return -errno;
    err = ticket_file_write_all(fd, ticket);
    if (close(fd) && !err)
        err = -errno;
    *path = scoped_take(&name);
    if (err)
        ticket_file_remove(path);
    return err;
}

void ticket_file_remove(char **path)
{
    if (!*path)
        return;
    unlink(*path);
    free(*path);
    *path = NULL;
}
