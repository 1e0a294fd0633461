// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the answers of a broker, or of an impostor, to its client: HTTP, JSON, the lease.
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/broker_client.h"
#include "common/net/endpoint.h"
#include "common/base/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int listener = -1;
static struct endpoint endpoint = {.is_unix = true};
static const uint8_t *input;
static size_t input_size;
static pthread_barrier_t begin, end;

static int accept_one(void)
{
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    int fd;

    while ((fd = accept(listener, NULL, NULL)) < 0)
        poll(&wait, 1, -1);
    return fd;
}

static void *answer(void *unused)
{
    static char request[65536];

    for (;;) {
        pthread_barrier_wait(&begin);
        int fd = accept_one();
        if (recv(fd, request, sizeof(request), 0) > 0)
            for (size_t sent = 0; sent < input_size;) {
                ssize_t n = send(fd, input + sent, input_size - sent, MSG_NOSIGNAL);
                if (n <= 0)
                    break;
                sent += (size_t)n;
            }
        close(fd);
        pthread_barrier_wait(&end);
    }
    return unused;
}

static void remove_socket(void)
{
    unlink(endpoint.host);
}

static void start(void)
{
    pthread_t thread;
    uint16_t port;

    log_set_level(LOG_LEVEL_OFF);
    snprintf(endpoint.host, sizeof(endpoint.host), "/tmp/rgpu-fuzz-answer.%d", (int)getpid());
    listener = endpoint_listen(&endpoint, 4, &port);
    pthread_barrier_init(&begin, NULL, 2);
    pthread_barrier_init(&end, NULL, 2);
    if (listener < 0 || pthread_create(&thread, NULL, answer, NULL))
        abort();
    atexit(remove_socket);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct broker_acquire acquire = {
        .key = "k", .owner = 1, .mode = "exclusive", .count = 1, .ticket = true};
    char where[ENDPOINT_TEXT_MAX];
    struct broker_client_options options = {.address = where, .timeout_ms = 5000};
    struct broker_client *client = NULL;
    struct broker_lease lease = {0};

    if (listener < 0)
        start();
    endpoint_format(&endpoint, where);
    input = data;
    input_size = size;
    if (broker_client_open(&options, &client))
        abort();
    pthread_barrier_wait(&begin);
    int error = broker_client_acquire(client, &acquire, &lease);
    pthread_barrier_wait(&end);
    if (error ? !*broker_client_error(client) : !*lease.id || !*lease.state)
        abort();
    broker_lease_clear(&lease);
    broker_client_close(&client);
    return 0;
}
