// SPDX-License-Identifier: BSD-3-Clause
// The database's write-ahead log goes into the database while leases come and go without a pause.
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/leases/boxes.h"
#include "broker/leases/leases.h"
#include "broker/leases/start.h"
#include "broker/leases/tick.h"
#include "broker/leases/tickets.h"
#include "common/base/clock.h"
#include "tests/broker/pool_sample.h"

enum { LEASES = 20000, LIMIT = 50 << 20 };

static char path[] = "/tmp/rgpu-wal.XXXXXX";
static char file[64], log_file[80];
static struct broker broker;

static int64_t size_of(const char *name)
{
    struct stat info;

    return stat(name, &info) == 0 ? info.st_size : 0;
}

static void open_broker(void)
{
    memset(&broker, 0, sizeof(broker));
    broker.limits = (struct broker_limits){.away_seconds = 1e6,
                                           .ticket_seconds = 3600,
                                           .max_ticket_seconds = 7200,
                                           .history_seconds = 3600,
                                           .keep_events = 1000};
    if (broker_open(file, false, &broker))
        bail("the broker does not open its database");
}

static void register_box(void)
{
    const char *why;
    json_t *none = json_array(),
           *body = json_pack("{s:s, s:s, s:[{s:s, s:i, s:s, s:I}]}", "instance", "i", "addresses",
                             "h:1", "gpus", "uuid", "a-0", "index", 0, "model", "H200", "memory",
                             (json_int_t)(100 * GB));

    if (broker_register(&broker, "a", body, "test", &why) ||
        broker_hear(&broker, pool_find_box(broker.pool, "a"), "i", none, none, true, "test"))
        bail("no box");
    json_decref(body);
    json_decref(none);
}

static int take_and_release(int number)
{
    char key[32];
    struct acquire acquire = {
        .key = key, .actor = "test", .owner = 1000, .request = sample_request(1, GPU_EXCLUSIVE, 0)};
    struct pool_lease *lease;
    enum outcome error;

    snprintf(key, sizeof(key), "job/%d", number);
    error = broker_acquire(&broker, &acquire, &lease);
    return error ? error : broker_end_lease(&broker, &lease, "released", "test");
}

int main(void)
{
    int64_t largest = 0;
    int error = 0, taken = 0;

    if (!mkdtemp(path))
        bail("no temporary directory");
    snprintf(file, sizeof(file), "%s/pool.sqlite", path);
    snprintf(log_file, sizeof(log_file), "%s-wal", file);
    open_broker();
    register_box();
    for (; taken < LEASES && !error && largest <= LIMIT; taken++) {
        error = take_and_release(taken);
        largest = size_of(log_file) > largest ? size_of(log_file) : largest;
    }
    diag("leases=%d log=%lld database=%lld", taken, (long long)largest, (long long)size_of(file));
    is_int(error, 0, "leases are taken and released");
    is_int(taken, LEASES, "all of them");
    ok(largest > 0 && largest <= LIMIT, "the log stays under 50 MB");
    ok(size_of(file) > 1 << 20, "what was written is in the database");
    broker_close(&broker);
    is_int(size_of(log_file), 0, "nothing is left in the log when the broker has stopped");
    open_broker();
    is_int(take_and_release(0), OUTCOME_ENDED, "the first lease is known after a restart");
    is_int(take_and_release(LEASES - 1), OUTCOME_ENDED, "the last one too");
    broker_close(&broker);
    unlink(file);
    rmdir(path);
    return done();
}
