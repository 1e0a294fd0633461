// SPDX-License-Identifier: BSD-3-Clause
// Limits each connection that the program opens or accepts to RGPU_PACE bytes a second, like a
// network that limits each stream. bench/tcp --pace preloads it.
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>

static void pace(int fd)
{
    const char *text = getenv("RGPU_PACE");
    unsigned long rate = text ? strtoul(text, NULL, 10) : 0;

    if (fd >= 0 && rate)
        setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate));
}

__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *address,
                                                   socklen_t size)
{
    int (*real)(int, const struct sockaddr *, socklen_t) =
        (__typeof__(real))dlsym(RTLD_NEXT, "connect");

    if (address->sa_family != AF_UNIX)
        pace(fd);
    return real(fd, address, size);
}

__attribute__((visibility("default"))) int accept4(int fd, struct sockaddr *address,
                                                   socklen_t *size, int flags)
{
    int (*real)(int, struct sockaddr *, socklen_t *, int) =
        (__typeof__(real))dlsym(RTLD_NEXT, "accept4");
    int made = real(fd, address, size, flags);

    pace(made);
    return made;
}

__attribute__((visibility("default"))) int accept(int fd, struct sockaddr *address, socklen_t *size)
{
    return accept4(fd, address, size, 0);
}
