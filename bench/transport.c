// SPDX-License-Identifier: BSD-3-Clause
// What the transports do on this machine, with the worker's end in a process of its own: the round
// trip of an empty record, records one way, and payloads in both directions. A table on standard
// error, JSON lines on standard output. Numbers mean something only beside each other in one run.
//
//     build/bench/transport [--seconds S] [--spin US] [--transport NAME]
#include "tests/transport/pairs.h"

enum { BLOCK = 512 * 1024, SMALL = 64, BURST = 256 };

enum command { ECHO = 1, SWALLOW, SWALLOW_BULK, SEND_BULK, STOP };

struct request {
    uint32_t size;
    uint32_t command;
    uint64_t count;
};

static double seconds = 1;

static void serve(struct link *link)
{
    static uint32_t record[WIRE_RECORD_MAX / 4];
    uint8_t *payload = malloc(BLOCK);

    memset(payload, 1, BLOCK);
    while (link_receive(link, record, sizeof(record), -1) > 0) {
        struct request request;
        memcpy(&request, record, sizeof(request));
        if (request.command == ECHO) {
            send_value(link, SMALL, 0);
        } else if (request.command == SWALLOW_BULK) {
            link_receive_bulk(link, payload, BLOCK);
        } else if (request.command == SEND_BULK) {
            for (uint64_t i = 0; i < request.count; i++)
                link_send_bulk(link, record, SMALL, payload, BLOCK);
        } else if (request.command == STOP) {
            break;
        }
    }
    free(payload);
}

static void *serve_thread(void *link)
{
    serve(link);
    return NULL;
}

static void send_command(struct link *link, enum command command, uint64_t count, bool flush)
{
    struct request request = {.command = command, .count = count};
    void *record = link_reserve(link, SMALL);

    if (!record)
        bail("link is down: %s", link_error(link));
    memcpy(record, &request, sizeof(request));
    if (flush)
        link_commit_flush(link);
    else
        link_commit(link);
}

static void await_echo(struct link *link)
{
    send_command(link, ECHO, 0, true);
    if (receive_value(link, 20000) < 0)
        bail("no answer: %s", link_error(link));
}

static double round_trip_us(struct link *link)
{
    uint64_t turns = 0;
    double start = seconds_now(), end;

    do {
        for (int i = 0; i < 100; i++)
            await_echo(link);
        turns += 100;
        end = seconds_now();
    } while (end - start < seconds);
    return (end - start) / (double)turns * 1e6;
}

// Issue cost as the sender sees it, and the rate until the other end has taken all.
static double records_per_second(struct link *link, double *issue_ns)
{
    uint64_t turns = 0;
    double start = seconds_now(), end, issuing = 0;

    do {
        double from = seconds_now();
        for (int i = 0; i < BURST; i++)
            send_command(link, SWALLOW, 0, false);
        end = seconds_now();
        issuing += end - from;
        turns += BURST;
    } while (end - start < seconds);
    await_echo(link);
    *issue_ns = issuing / (double)turns * 1e9;
    return (double)turns / (seconds_now() - start);
}

static double bulk_out(struct link *link, uint8_t *payload)
{
    struct request request[4] = {{.command = SWALLOW_BULK}};
    uint64_t bytes = 0;
    double start = seconds_now();

    do {
        link_send_bulk(link, request, SMALL, payload, BLOCK);
        bytes += BLOCK;
    } while (seconds_now() - start < seconds);
    await_echo(link);
    return (double)bytes / (seconds_now() - start) / 1e9;
}

static double bulk_in(struct link *link, uint8_t *payload)
{
    uint64_t bytes = 0, count = 64;
    double start = seconds_now(), end;

    do {
        send_command(link, SEND_BULK, count, true);
        for (uint64_t i = 0; i < count; i++) {
            receive_value(link, 20000);
            link_receive_bulk(link, payload, BLOCK);
            bytes += BLOCK;
        }
        end = seconds_now();
    } while (end - start < seconds);
    return (double)bytes / (end - start) / 1e9;
}

static void measure(const char *name, struct link *link)
{
    uint8_t *payload = malloc(BLOCK);
    double issue, trip, rate, out, in;

    memset(payload, 2, BLOCK);
    trip = round_trip_us(link);
    rate = records_per_second(link, &issue);
    out = bulk_out(link, payload);
    in = bulk_in(link, payload);
    fprintf(stderr, "%-6s %12.2f %14.0f %12.0f %12.2f %12.2f\n", name, trip, rate, issue, out, in);
    printf("{\"bench\":\"transport\",\"transport\":\"%s\",\"round_trip_us\":%.3f,"
           "\"records_per_s\":%.0f,\"issue_ns\":%.1f,\"bulk_to_worker_GBps\":%.3f,"
           "\"bulk_to_client_GBps\":%.3f}\n",
           name, trip, rate, issue, out, in);
    fflush(stdout);
    send_command(link, STOP, 0, true);
    free(payload);
}

static void run(const struct pair_kind *kind, const struct link_options *options)
{
    struct pair pair;
    pthread_t thread;

    if (!kind->in_process) {
        pid_t pid = pair_fork(kind, &pair, options, serve);
        measure(kind->name, pair.client);
        waitpid(pid, NULL, 0);
    } else {
        pair = pair_open(kind, options);
        if (pthread_create(&thread, NULL, serve_thread, pair.worker))
            bail("no thread");
        measure(kind->name, pair.client);
        pthread_join(thread, NULL);
    }
    pair_close(&pair);
}

int main(int argc, char **argv)
{
    struct link_options options = {.spin_us = link_default_spin_us()};
    const char *only = NULL;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seconds"))
            seconds = atof(argv[i + 1]);
        else if (!strcmp(argv[i], "--spin"))
            options.spin_us = (uint32_t)atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--transport"))
            only = argv[i + 1];
    }
    fprintf(stderr, "spin %u us, blocks of %d KiB\n%-6s %12s %14s %12s %12s %12s\n",
            options.spin_us, BLOCK / 1024, "", "round trip", "records one", "issue cost",
            "to worker", "to client");
    fprintf(stderr, "%-6s %12s %14s %12s %12s %12s\n", "", "us", "way, 1/s", "ns", "GB/s", "GB/s");
    for (size_t i = 0; i < PAIR_KINDS; i++)
        if (!only || !strcmp(only, pair_kinds[i].name))
            run(&pair_kinds[i], &options);
    return 0;
}
