// SPDX-License-Identifier: BSD-3-Clause
// The handshake of a shm link: only the holder of the token is accepted, no wait exceeds its
// timeout, and a client maps only descriptors that match the worker's description.
#include "tests/transport/pairs.h"

#include <sys/un.h>

#include "common/net/fdpass.h"
#include "transport/shm/shm_memory.h"

static const struct link_options options = {.spin_us = 1, .block_size = 4096, .block_count = 2};
static const uint8_t wrong_token[32] = "a token that only these two kno?";

static struct shm_memory *memory;
static struct shm_listener listener;

struct accepting {
    pthread_t thread;
    int watch, timeout_ms, result;
    struct link *link;
};

static void *accept_main(void *argument)
{
    struct accepting *accepting = argument;

    accepting->result = link_shm_accept(&listener, pair_token, &memory, accepting->watch,
                                        accepting->timeout_ms, &options, &accepting->link);
    return NULL;
}

static void accept_start(struct accepting *accepting, int watch, int timeout_ms)
{
    *accepting = (struct accepting){.watch = watch, .timeout_ms = timeout_ms};
    if (shm_memory_new(&options, &memory) || shm_listen(NULL, -1, &listener) ||
        pthread_create(&accepting->thread, NULL, accept_main, accepting))
        bail("no listener");
}

static int accept_join(struct accepting *accepting)
{
    pthread_join(accepting->thread, NULL);
    shm_listener_close(&listener);
    shm_memory_free(&memory);
    return accepting->result;
}

static int raw_connect(const char *to, int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path + 1, to, strlen(to));
    if (fd < 0 || connect(fd, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(to))))
        bail("cannot connect");
    return fd;
}

static void check_token(void)
{
    struct accepting accepting;
    struct link *link = NULL;
    int silent[20], r;

    accept_start(&accepting, -1, 20000);
    r = link_shm_connect(listener.name, NULL, wrong_token, -1, 5000, &options, &link);
    is_int(r, -EACCES, "a client with a wrong token is turned away");
    for (int i = 0; i < 20; i++)
        silent[i] = raw_connect(listener.name, SOCK_SEQPACKET);
    int talker = raw_connect(listener.name, SOCK_SEQPACKET);
    ok(send(talker, "no", 2, MSG_NOSIGNAL) == 2, "another one talks nonsense");
    r = link_shm_connect(listener.name, NULL, pair_token, -1, 5000, &options, &link);
    is_int(r, 0, "the right one gets in after that, past many who say nothing");
    is_int(accept_join(&accepting), 0, "and is accepted");
    send_value(link, 64, 4);
    is_int(receive_value(accepting.link, 5000), 4, "the link works");
    for (int i = 0; i < 20; i++)
        close(silent[i]);
    close(talker);
    link_free(&link);
    link_free(&accepting.link);
}

static void check_worker_waits(void)
{
    struct accepting accepting;
    struct link *link;
    int control[2];
    char byte;

    accept_start(&accepting, -1, 20);
    is_int(accept_join(&accepting), -ETIMEDOUT, "a client that never comes: time-out");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control))
        bail("no sockets");
    accept_start(&accepting, control[0], 20000);
    if (write(control[1], "x", 1) != 1)
        bail("cannot write");
    is_int(accept_join(&accepting), -ECANCELED, "a client that speaks on its control connection");
    if (read(control[0], &byte, 1) != 1)
        bail("cannot read");
    accept_start(&accepting, control[0], 20000);
    close(control[1]);
    is_int(accept_join(&accepting), -ECONNRESET, "a client whose control connection ends");
    close(control[0]);
    is_int(link_shm_connect(listener.name, NULL, pair_token, -1, 1000, &options, &link),
           -ECONNREFUSED, "nobody listens afterwards");
    is_int(link_shm_connect("", NULL, pair_token, -1, 1000, &options, &link), -EINVAL,
           "an empty name is no name");
}

// ---- a false worker ----

struct fake {
    pthread_t thread;
    int fds[5];
    size_t count;
    uint32_t offer[8];
    bool silent;
};

static void *fake_main(void *argument)
{
    struct fake *fake = argument;
    int fd = accept4(listener.fds[0], NULL, NULL, SOCK_CLOEXEC);
    char end;

    if (fd < 0)
        return NULL;
    if (!fake->silent && fdpass_send(fd, fake->offer, sizeof(fake->offer), fake->fds, fake->count))
        diag("the offer was not sent");
    // Until the client goes away: its hello, perhaps more, then the end.
    while (recv(fd, &end, 1, 0) > 0)
        ;
    close(fd);
    return NULL;
}

static int sealed_file(uint64_t size, int seals)
{
    int fd = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, seals))
        bail("no memory file");
    return fd;
}

struct lie {
    const char *what;
    int64_t more_size; // of the file, than is said
    int64_t more_said; // than follows from the blocks
    int seals;
    uint32_t ring_size, block_size, block_count, magic;
    size_t count;
    bool silent;
    int expect;
};

static void check_lie(const struct lie *lie)
{
    struct shm_geometry geometry;
    struct fake fake = {.count = lie->count, .silent = lie->silent};
    struct link *link = NULL;
    int before = count_fds(), r;

    if (shm_memory_new(&options, &memory) || shm_listen(NULL, -1, &listener))
        bail("no listener");
    fcntl(listener.fds[0], F_SETFL, 0);
    shm_memory_geometry(memory, &geometry);
    geometry.size += (uint64_t)lie->more_said;
    fake.fds[0] = sealed_file(geometry.size + (uint64_t)lie->more_size, lie->seals);
    memcpy(&fake.fds[1], memory->events, sizeof(memory->events));
    if (lie->ring_size)
        geometry.ring_size = lie->ring_size;
    if (lie->block_size)
        geometry.block_size = lie->block_size;
    if (lie->block_count)
        geometry.block_count = lie->block_count;
    fake.offer[0] = lie->magic ? lie->magic : 0x4d485352;
    fake.offer[1] = 1;
    memcpy(&fake.offer[2], &geometry, sizeof(geometry));
    if (pthread_create(&fake.thread, NULL, fake_main, &fake))
        bail("no thread");
    r = link_shm_connect(listener.name, NULL, pair_token, -1, lie->silent ? 30 : 5000, &options,
                         &link);
    link_free(&link);
    pthread_join(fake.thread, NULL);
    is_int(r, lie->expect, "a worker's offer: %s", lie->what);
    close(fake.fds[0]);
    shm_listener_close(&listener);
    shm_memory_free(&memory);
    is_int(count_fds(), before, "nothing stays open");
}

int main(void)
{
    enum { ALL = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };
    static const struct lie lies[] = {
        {"as it should be", .seals = ALL, .count = 5, .expect = 0},
        {"a file that can shrink", .seals = F_SEAL_GROW, .count = 5, .expect = -EPROTO},
        {"a file smaller than said", .more_size = -4096, .seals = ALL, .count = 5,
         .expect = -EPROTO},
        {"a size that does not follow from the blocks", .more_said = 65536, .seals = ALL,
         .count = 5, .expect = -EPROTO},
        {"other rings", .ring_size = 4096, .seals = ALL, .count = 5, .expect = -EPROTO},
        {"crooked blocks", .block_size = 4097, .seals = ALL, .count = 5, .expect = -EPROTO},
        {"more blocks than fit", .block_count = 40000, .seals = ALL, .count = 5, .expect = -EPROTO},
        {"another magic number", .magic = 1, .seals = ALL, .count = 5, .expect = -EPROTO},
        {"descriptors missing", .seals = ALL, .count = 3, .expect = -EPROTO},
        {"silence", .seals = ALL, .silent = true, .expect = -ETIMEDOUT},
    };

    check_token();
    check_worker_waits();
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
        check_lie(&lies[i]);
    return done();
}
