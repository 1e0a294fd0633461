// SPDX-License-Identifier: BSD-3-Clause
// The handshake of an rdma link: only the holder of the token is accepted, and only once; no wait
// exceeds its timeout.
#include "tests/transport/pairs.h"

static const struct link_options options = {.spin_us = 1, .block_size = 4096, .block_count = 2};
static const uint8_t wrong_token[32] = "a token that only these two kno?";

static struct shm_memory *memory;
static struct rdma_listener *listener;
static uint16_t port;

struct accepting {
    pthread_t thread;
    int watch, timeout_ms, result;
    struct link *link;
};

static void *accept_main(void *argument)
{
    struct accepting *accepting = argument;

    accepting->result = link_rdma_accept(&listener, pair_token, accepting->watch,
                                         accepting->timeout_ms, &options, &accepting->link);
    return NULL;
}

static void listen_anew(void)
{
    struct rdma_options rdma = {.devices = getenv("RDMA_VM_ADDRESS_0"),
                                .gid_index = -1,
                                .service_level = -1};
    char text[300];

    rdma_listener_free(&listener);
    if (rdma_listener_new(&rdma, shm_memory_staging(memory), &listener, text, sizeof(text)))
        bail("no listener: %s", text);
    port = rdma_listener_port(listener);
}

static void accept_start(struct accepting *accepting, int watch, int timeout_ms)
{
    *accepting = (struct accepting){.watch = watch, .timeout_ms = timeout_ms};
    if (pthread_create(&accepting->thread, NULL, accept_main, accepting))
        bail("no thread");
}

static int accept_join(struct accepting *accepting)
{
    pthread_join(accepting->thread, NULL);
    return accepting->result;
}

static int connect_with(const uint8_t token[32], struct link **link)
{
    struct rdma_options rdma = {.devices = getenv("RDMA_VM_ADDRESS_1"),
                                .gid_index = -1,
                                .service_level = -1};
    char text[300] = "";
    int r = link_rdma_connect(getenv("RDMA_VM_ADDRESS_0"), port, token, -1, 5000, &options, &rdma,
                              link, text, sizeof(text));

    if (r)
        diag("the reason given: %s", text);
    return r;
}

static void check_token(void)
{
    struct accepting accepting;
    struct link *link = NULL, *second = NULL;

    listen_anew();
    accept_start(&accepting, -1, 20000);
    is_int(connect_with(wrong_token, &link), -EACCES, "a client with a wrong token is turned away");
    is_int(connect_with(pair_token, &link), 0, "the right one gets in after that");
    is_int(accept_join(&accepting), 0, "and is accepted");
    is_int(connect_with(pair_token, &second), -ECONNREFUSED, "the token is good for one client");
    ok(send_value(link, 64, 4) && receive_value(accepting.link, 5000) == 4, "the link works");
    is_str(link_name(link), "rdma", "and says what it is");
    link_free(&link);
    link_free(&accepting.link);
}

static void check_waiting(void)
{
    struct accepting accepting;
    struct link *link = NULL;
    int control[2];
    char byte;

    listen_anew();
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
    accept_start(&accepting, -1, 20000);
    is_int(connect_with(pair_token, &link), 0, "after all that another client is served");
    is_int(accept_join(&accepting), 0, "by the same listener");
    link_free(&link);
    link_free(&accepting.link);
}

int main(void)
{
    if (shm_memory_new(&options, &memory))
        bail("no memory");
    check_token();
    check_waiting();
    rdma_listener_free(&listener);
    shm_memory_free(&memory);
    return done();
}
