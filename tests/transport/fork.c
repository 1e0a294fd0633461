// SPDX-License-Identifier: BSD-3-Clause
// Tests that a child of fork() drops a link without disturbing its parent's, whichever ends first.
#include "tests/transport/pairs.h"

static bool exchange(const struct pair *pair, uint32_t value)
{
    return send_value(pair->client, 64, value) && receive_value(pair->worker, 5000) == value &&
           send_value(pair->worker, 64, value + 1) &&
           receive_value(pair->client, 5000) == value + 1;
}

// The child's part: 0 when all is as it should be.
static int abandon(const struct pair *pair)
{
    uint32_t buffer[64];

    link_abandon(pair->client);
    link_abandon(pair->worker);
    if (link_reserve(pair->client, 64) || link_flush(pair->client) != -EPIPE)
        return 1;
    if (link_receive(pair->client, buffer, sizeof(buffer), 0) != -EPIPE)
        return 2;
    if (!strstr(link_error(pair->client), "parent"))
        return 3;
    struct link *mine = pair->client;
    link_shutdown(mine);
    link_free(&mine);
    return 0;
}

static int status_of(pid_t pid)
{
    int status;

    if (waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

// A child that has let go and stays: the parent's end must still be seen by the peer at once.
static void check_end(struct pair *pair)
{
    int told[2];
    char byte = 0;
    pid_t pid;

    if (pipe2(told, O_CLOEXEC))
        bail("no pipe");
    fflush(stdout);
    pid = fork();
    if (!pid) {
        abandon(pair);
        for (int i = 0; i < 2; i++)
            if (pair->watch[i] >= 0)
                close(pair->watch[i]);
        if (write(told[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    if (read(told[0], &byte, 1) != 1)
        bail("no child");
    link_free(&pair->client);
    is_int(receive_value(pair->worker, 5000), -EPIPE,
           "%s: the peer sees the parent's end while the child lives", pair->name);
    kill(pid, SIGKILL);
    status_of(pid);
    close(told[0]);
    close(told[1]);
}

int main(void)
{
    for (size_t i = 0; i < PAIR_KINDS; i++) {
        struct link_options options = {.spin_us = 1, .block_size = 4096, .block_count = 1};
        struct pair pair = pair_open(&pair_kinds[i], &options);
        uint32_t *record = link_reserve(pair.client, 64); // brings tcp's thread to life
        record[1] = 9;
        link_commit(pair.client);
        is_int(receive_value(pair.worker, 5000), 9, "%s: the link works", pair.name);

        // One thread is in the middle of sending when the process forks.
        record = link_reserve(pair.client, 64);
        record[1] = 10;
        fflush(stdout);
        pid_t pid = fork();
        if (!pid)
            _exit(abandon(&pair));
        is_int(status_of(pid), 0, "%s: a child lets go and every call of it fails", pair.name);
        link_commit(pair.client);
        is_int(receive_value(pair.worker, 5000), 10, "%s: the parent ends what it began",
               pair.name);
        ok(exchange(&pair, 20), "%s: and goes on", pair.name);
        check_end(&pair);
        pair_close(&pair);
    }
    return done();
}
