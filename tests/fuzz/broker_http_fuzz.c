// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: what arrives at the broker's socket, from the first byte to the database. Over a
// unix socket the kernel says who asks, so every route is open to the input.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "broker/api/http.h"
#include "broker/leases/start.h"
#include "common/base/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RUNS_PER_DATABASE = 2000, TURNS = 64 };

static char directory[64];
static struct broker_settings settings;
static struct broker broker;
static struct server server;
static struct sockaddr_un address = {.sun_family = AF_UNIX};

static void remove_files(void)
{
    static const char *const names[] = {"pool.sqlite", "pool.sqlite-wal", "pool.sqlite-shm", "s",
                                        ""};
    char path[128];

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        if (*names[i])
            unlink(path);
        else
            rmdir(path);
    }
}

static void start(void)
{
    char path[128], *at = address.sun_path;

    log_set_level(LOG_LEVEL_OFF);
    snprintf(directory, sizeof(directory), "/tmp/rgpu-fuzz.XXXXXX");
    if (!mkdtemp(directory) || config_defaults(settings_table, &settings))
        abort();
    snprintf(at, sizeof(address.sun_path), "%s/s", directory);
    if (config_set(settings_table, "auth", "munge", "no", "fuzz", &settings) ||
        config_set(settings_table, "broker", "listen", "", "fuzz", &settings) ||
        config_set(settings_table, "broker", "socket", at, "fuzz", &settings))
        abort();
    snprintf(path, sizeof(path), "%s/pool.sqlite", directory);
    broker = (struct broker){.limits = {.away_seconds = 30,
                                        .ticket_seconds = 3600,
                                        .max_ticket_seconds = 7200,
                                        .history_seconds = 60,
                                        .keep_events = 100}};
    server = (struct server){.broker = &broker, .settings = &settings};
    if (ticket_key_generate("k1", &broker.keys.keys[0]))
        abort();
    broker.keys.count = 1;
    server.base = event_base_new();
    if (broker_open(path, false, &broker) || auth_new(&settings, server.base, &server.auth) ||
        server_start(&server))
        abort();
}

static void stop(void)
{
    server_stop(&server);
    event_base_loop(server.base, EVLOOP_NONBLOCK);
    auth_free(&server.auth);
    event_base_free(server.base);
    broker_close(&broker);
    config_clear(settings_table, &settings);
    memset(&settings, 0, sizeof(settings));
    remove_files();
}

// The broker has everything; turns until it has nothing to do, which is soon.
static void send_all(const uint8_t *data, size_t size)
{
    static char answer[65536];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
        abort();
    for (int i = 0; i < TURNS; i++) {
        ssize_t n = size ? send(fd, data, size, MSG_NOSIGNAL) : 0;

        event_base_loop(server.base, EVLOOP_NONBLOCK);
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        }
        if (!size)
            shutdown(fd, SHUT_WR);
        if (recv(fd, answer, sizeof(answer), 0) == 0)
            break;
    }
    close(fd);
    for (int i = 0; i < 4; i++)
        event_base_loop(server.base, EVLOOP_NONBLOCK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned runs;

    if (runs++ % RUNS_PER_DATABASE == 0) {
        if (server.base)
            stop();
        else
            atexit(stop);
        start();
    }
    send_all(data, size);
    return 0;
}
