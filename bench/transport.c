// SPDX-License-Identifier: BSD-3-Clause
// Measures the transports on this machine, with the worker's end in its own process: the round trip
// of an empty record, records one way, and payloads in both directions. Prints a table on standard
// error and JSON lines on standard output. Compare numbers of the same run only.
//
//   build/bench/transport [--seconds S] [--spin US] [--transport NAME]
#include "tests/transport/pairs.h"

enum { BLOCK = 512 * 1024, BLOCKS = 4, SMALL = 64, BURST = 256, TRIPS_MAX = 1 << 20 };

enum command { ECHO = 1, SWALLOW, SWALLOW_BULK, SEND_BULK, STOP };

struct request {
    uint32_t size;
    uint32_t command;
    uint64_t count;
};

static double seconds = 1;

// Payloads as sessions send them: the next one starts, in other memory, before the previous one has
// settled.
struct blocks {
    uint8_t *memory; // BLOCKS of them
    unsigned next;
    struct link_ahead ahead[BLOCKS];
};

static struct blocks blocks_new(int value)
{
    struct blocks blocks = {.memory = malloc((size_t)BLOCKS * BLOCK)};

    if (!blocks.memory)
        bail("no memory");
    memset(blocks.memory, value, (size_t)BLOCKS * BLOCK);
    return blocks;
}

static uint8_t *next_block(struct link *link, struct blocks *blocks, struct link_ahead **ahead)
{
    unsigned i = blocks->next++ % BLOCKS;

    link_settle(link, &blocks->ahead[i]);
    blocks->ahead[i] = (struct link_ahead){0};
    *ahead = &blocks->ahead[i];
    return blocks->memory + (size_t)i * BLOCK;
}

static void send_block(struct link *link, const void *record, struct blocks *blocks)
{
    struct link_ahead *ahead;
    uint8_t *block = next_block(link, blocks, &ahead);

    link_send_bulk_ahead(link, record, SMALL, block, BLOCK, ahead);
}

static void receive_block(struct link *link, struct blocks *blocks)
{
    struct link_ahead *ahead;
    uint8_t *block = next_block(link, blocks, &ahead);

    link_receive_bulk_ahead(link, block, BLOCK, ahead);
}

static void blocks_end(struct link *link, struct blocks *blocks)
{
    for (unsigned i = 0; i < BLOCKS; i++)
        link_settle(link, &blocks->ahead[i]);
    free(blocks->memory);
}

static void serve(struct link *link)
{
    static uint32_t record[WIRE_RECORD_MAX / 4];
    struct blocks in = blocks_new(1), out = blocks_new(1);

    while (link_receive(link, record, sizeof(record), LINK_UNINTERRUPTIBLE) > 0) {
        struct request request;
        memcpy(&request, record, sizeof(request));
        if (request.command == ECHO) {
            send_value(link, SMALL, 0);
        } else if (request.command == SWALLOW_BULK) {
            receive_block(link, &in);
        } else if (request.command == SEND_BULK) {
            for (uint64_t i = 0; i < request.count; i++)
                send_block(link, record, &out);
        } else if (request.command == STOP) {
            break;
        }
    }
    blocks_end(link, &in);
    blocks_end(link, &out);
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
    if (receive_value(link, LINK_UNINTERRUPTIBLE) < 0)
        bail("no answer: %s", link_error(link));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

// Returns the median round trip.
static double round_trip_us(struct link *link)
{
    static double took[TRIPS_MAX];
    size_t count = 0;
    double start = seconds_now(), last = start;

    while (count < TRIPS_MAX && last - start < seconds) {
        await_echo(link);
        double now = seconds_now();
        took[count++] = now - last;
        last = now;
    }
    qsort(took, count, sizeof(*took), by_value);
    return took[count / 2] * 1e6;
}

// Measures the cost per record at the sender, and the rate until the other end has received all.
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

static double bulk_out(struct link *link, struct blocks *blocks)
{
    struct request request[4] = {{.command = SWALLOW_BULK}};
    uint64_t bytes = 0;
    double start = seconds_now();

    do {
        send_block(link, request, blocks);
        bytes += BLOCK;
    } while (seconds_now() - start < seconds);
    await_echo(link);
    return (double)bytes / (seconds_now() - start) / 1e9;
}

static double bulk_in(struct link *link, struct blocks *blocks)
{
    uint64_t bytes = 0, count = 64;
    double start = seconds_now(), end;

    do {
        send_command(link, SEND_BULK, count, true);
        for (uint64_t i = 0; i < count; i++) {
            receive_value(link, 20000);
            receive_block(link, blocks);
            bytes += BLOCK;
        }
        end = seconds_now();
    } while (end - start < seconds);
    return (double)bytes / (end - start) / 1e9;
}

static void measure(const char *name, struct link *link)
{
    struct blocks blocks = blocks_new(2);
    double issue, trip, rate, out, in;

    trip = round_trip_us(link);
    rate = records_per_second(link, &issue);
    out = bulk_out(link, &blocks);
    in = bulk_in(link, &blocks);
    fprintf(stderr, "%-6s %12.2f %14.0f %12.0f %12.2f %12.2f\n", name, trip, rate, issue, out, in);
    printf("{\"bench\":\"transport\",\"transport\":\"%s\",\"round_trip_us\":%.3f,"
           "\"records_per_s\":%.0f,\"issue_ns\":%.1f,\"bulk_to_worker_GBps\":%.3f,"
           "\"bulk_to_client_GBps\":%.3f}\n",
           name, trip, rate, issue, out, in);
    fflush(stdout);
    blocks_end(link, &blocks);
    send_command(link, STOP, 0, true);
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
    if (only)
        run(pair_kind_named(only), &options);
    for (size_t i = 0; !only && i < PAIR_KINDS; i++)
        run(&pair_kinds[i], &options);
    return 0;
}
