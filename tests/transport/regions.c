// SPDX-License-Identifier: BSD-3-Clause
// Memory that both sides see: the staging region that the worker made, and memory files that travel
// under a number.
#include "tests/transport/pairs.h"
#include "transport/shm/shm_private.h"

static int memory_file(const char *text, bool sealed)
{
    int fd = memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || ftruncate(fd, 4096) || pwrite(fd, text, strlen(text), 0) < 0)
        bail("no memory file");
    if (sealed && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        bail("no seals");
    return fd;
}

static void check_staging(const struct pair *pair, const struct link_options *options)
{
    const struct link_staging *mine = link_staging(pair->client);
    const struct link_staging *theirs = link_staging(pair->worker);
    uint64_t last = mine->blocks_offset + (uint64_t)options->block_size * options->block_count;

    ok(mine->base != theirs->base, "%s: each side has a mapping of its own", pair->name);
    ok(mine->block_size == options->block_size && mine->block_count == options->block_count &&
           theirs->block_size == options->block_size && theirs->block_count == options->block_count,
       "%s: both know the blocks", pair->name);
    ok(last <= mine->size && mine->size == theirs->size, "%s: the blocks are inside", pair->name);
    ok((uint8_t *)mine->flags == (uint8_t *)mine->base + mine->flags_offset &&
           mine->flags_offset + LINK_FLAGS * 4 <= mine->blocks_offset,
       "%s: the flags stand before them", pair->name);
    theirs->flags[LINK_FLAGS - 1] = 12345;
    is_int(mine->flags[LINK_FLAGS - 1], 12345, "%s: a flag is seen on the other side", pair->name);
    memcpy((uint8_t *)mine->base + last - 5, "hello", 5);
    is_mem((uint8_t *)theirs->base + last - 5, "hello", 5, "%s: so is the last block", pair->name);
}

static void send_region(const struct pair *pair, uint32_t number, int fd)
{
    if (link_send_region(pair->client, number, fd))
        fail("%s: region %u is sent", pair->name, number);
    close(fd);
}

static bool holds(int fd, const char *text)
{
    char got[64] = "";

    return pread(fd, got, strlen(text), 0) == (ssize_t)strlen(text) && !strcmp(got, text);
}

static void check_passing(const struct pair *pair)
{
    int fds[3], r = 0, fd = -1, nothing[2];

    send_region(pair, 1, memory_file("one", true));
    send_region(pair, 65535, memory_file("last", true));
    send_region(pair, 3, memory_file("three", true));
    r = link_receive_region(pair->worker, 3, LINK_REGION_SEALED, &fds[0]);
    r = r ? r : link_receive_region(pair->worker, 1, LINK_REGION_SEALED, &fds[1]);
    r = r ? r : link_receive_region(pair->worker, 65535, LINK_REGION_SEALED, &fds[2]);
    is_int(r, 0, "%s: regions are taken in any order", pair->name);
    ok(!r && holds(fds[0], "three") && holds(fds[1], "one") && holds(fds[2], "last"),
       "%s: each under its number", pair->name);
    ok(!r && (fcntl(fds[0], F_GETFD) & FD_CLOEXEC), "%s: closed on exec", pair->name);
    for (int i = 0; i < 3; i++)
        close(fds[i]);

    send_region(pair, 4, memory_file("soft", false));
    is_int(link_receive_region(pair->worker, 4, LINK_REGION_SEALED, &fd), -EINVAL,
           "%s: a file that can shrink is not taken", pair->name);
    send_region(pair, 8, memory_file("soft", false));
    is_int(link_receive_region(pair->worker, 8, LINK_REGION_FILE, &fd), 0,
           "%s: unless who takes it says that it may", pair->name);
    close(fd);
    send_region(pair, 5, open("/dev/null", O_RDWR | O_CLOEXEC));
    is_int(link_receive_region(pair->worker, 5, LINK_REGION_SEALED, &fd), -EINVAL,
           "%s: nor a device", pair->name);
    if (pipe2(nothing, O_CLOEXEC))
        bail("no pipe");
    close(nothing[1]);
    send_region(pair, 6, nothing[0]);
    is_int(link_receive_region(pair->worker, 6, LINK_REGION_SEALED, &fd), -EINVAL, "%s: nor a pipe",
           pair->name);
    is_str(link_error(pair->worker), "", "%s: and the link stays up", pair->name);
}

static void take_region_seven(struct waiter *waiter)
{
    int fd;

    waiter->result = link_receive_region(waiter->link, 7, LINK_REGION_SEALED, &fd);
    if (!waiter->result)
        close(fd);
}

static void check_waiting(const struct pair *pair)
{
    struct waiter waiter;

    waiter_start(&waiter, take_region_seven, pair->worker);
    waiter_await_sleep(&waiter);
    send_region(pair, 7, memory_file("seven", true));
    is_int(waiter_join(&waiter), 0, "%s: a region may come later", pair->name);
    waiter_start(&waiter, take_region_seven, pair->worker);
    waiter_await_sleep(&waiter);
    link_shutdown(pair->worker);
    is_int(waiter_join(&waiter), -EPIPE, "%s: a shutdown ends the wait for one", pair->name);
}

// More than a receiver keeps for later.
static void check_flood(const struct pair_kind *kind, const struct link_options *options)
{
    struct pair pair = pair_open(kind, options);
    int before = count_fds(), taken, fd = memory_file("many", true);
    uint32_t number;

    for (number = 1; number <= 100; number++)
        if (link_send_region(pair.client, number, fd))
            break;
    close(fd);
    is_int(link_receive_region(pair.worker, 101, LINK_REGION_SEALED, &taken), -EPROTO,
           "%s: too many regions that nobody asked for end the link", kind->name);
    pair_close(&pair);
    ok(count_fds() < before, "%s: and none stays open", kind->name);
}

static void check_garbage(const void *message, size_t size, bool with_fd, const char *what)
{
    struct link_options options = {.block_size = 4096, .block_count = 1};
    int ends[2], fd = with_fd ? memory_file("x", true) : -1, taken;
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {.iov_base = (void *)message, .iov_len = size};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    struct shm_memory *memory;
    struct link *link;

    if (with_fd) {
        header.msg_control = control;
        header.msg_controllen = sizeof(control);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(rights), &fd, sizeof(int));
    }
    if (shm_memory_new(&options, &memory) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) ||
        shm_link_new("shm", SHM_WORKER, &memory, ends[0], -1, &options, &link) ||
        sendmsg(ends[1], &header, 0) != (ssize_t)size)
        bail("no link");
    if (fd >= 0)
        close(fd);
    int before = count_fds();
    is_int(link_receive_region(link, 1, LINK_REGION_SEALED, &taken), -EPROTO, "shm: refused: %s",
           what);
    is_int(count_fds(), before, "shm: nothing stays open");
    link_free(&link);
    close(ends[1]);
}

int main(void)
{
    const struct link_options options = {.spin_us = 1, .block_size = 8192, .block_count = 3};
    const uint32_t good[2] = {0x4e474552, 1}, zero[2] = {0x4e474552, 0},
                   far[2] = {0x4e474552, 65536}, magic[2] = {1, 1}, longer[4] = {0x4e474552, 1};

    for (size_t i = 0; i < PAIR_KINDS; i++) {
        struct pair pair = pair_open(&pair_kinds[i], &options);
        if (link_memory(pair.client) == LINK_MEMORY_SHARED) {
            check_staging(&pair, &options);
            check_passing(&pair);
            check_waiting(&pair);
            check_flood(&pair_kinds[i], &options);
        } else if (link_memory(pair.client) == LINK_MEMORY_WINDOW) {
            check_staging(&pair, &options);
            is_int(link_send_region(pair.client, 1, 0), -EOPNOTSUPP,
                   "%s: no file travels, as the window is all there is", pair.name);
            ok(link_window(pair.client) >= 0, "%s: which can be mapped", pair.name);
        } else {
            is_int(link_window(pair.client), -1, "%s: it is in no window", pair.name);
            ok(!link_staging(pair.worker), "%s: no memory is shared", pair.name);
            is_int(link_send_region(pair.client, 1, 0), -EOPNOTSUPP, "%s: nor sent", pair.name);
        }
        pair_close(&pair);
    }
    check_garbage(good, sizeof(good), false, "a number without a descriptor");
    check_garbage(zero, sizeof(zero), true, "the number of the staging region");
    check_garbage(far, sizeof(far), true, "a number too high");
    check_garbage(magic, sizeof(magic), true, "another kind of message");
    check_garbage(longer, sizeof(longer), true, "a longer message");
    check_garbage(good, 4, true, "a shorter message");
    return done();
}
