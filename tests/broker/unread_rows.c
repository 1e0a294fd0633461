// SPDX-License-Identifier: BSD-3-Clause
// A read of the database that fails is no sign that there is nothing: no change rests on it.
#include "broker/store/store_run.h"
#include "tests/broker/broker_sample.h"

static bool reads_fail;

static int interrupt_read(void *unused)
{
    return reads_fail;
}

static void fail_reads(bool fail)
{
    reads_fail = fail;
    sqlite3_progress_handler(broker.store->database, 1, interrupt_read, NULL);
}

int main(void)
{
    struct pool_lease *lease = NULL;
    int64_t event;
    char id[POOL_NAME_MAX];

    make_directory();
    open_broker();
    register_box("a", "a1", 1);
    hear("a", "a1", NULL, NULL);
    if (acquire("key", 1, false, false, &lease))
        bail("no lease");
    strcpy(id, lease->id);
    if (broker_end_lease(&broker, &lease, "released", "test"))
        bail("the lease does not end");
    hear("a", "a1", NULL, id);
    ok(!pool_find_lease(broker.pool, id), "a lease has ended");
    ok(acquire("key", 1, false, false, &lease) == OUTCOME_ENDED, "its key gives no second one");

    struct pool_box *box = pool_find_box(broker.pool, "a");
    int64_t epoch = broker.epoch;
    json_t *sessions = json_pack("[{s:s, s:I}]", "lease", "Lunknown", "epoch", (json_int_t)epoch);
    fail_reads(true);
    ok(!store_ended_lease(broker.store, id), "what cannot be read is not there");
    fail_reads(false);
    ok(broker.store->read_error != OUTCOME_DONE, "and is known to be unread");
    ok(acquire("new", 1, false, false, &lease) != OUTCOME_DONE, "until then nothing is committed");
    ok(TAILQ_EMPTY(&broker.pool->leases), "so there is no lease");
    ok(store_take_read_error(broker.store) != OUTCOME_DONE, "the error is taken once");
    ok(store_take_read_error(broker.store) == OUTCOME_DONE, "and not twice");

    fail_reads(true);
    enum outcome error = acquire("key", 1, false, false, &lease);
    fail_reads(false);
    ok(error && TAILQ_EMPTY(&broker.pool->leases), "a key that cannot be looked up gives no lease");
    store_take_read_error(broker.store);
    fail_reads(true);
    ok(broker_release_unknown(&broker, KEYS_OF_SCHEDULERS, "key", 0, "test"),
       "nor is it used up by a release");
    ok(store_take_read_error(broker.store) != OUTCOME_DONE, "which says so");
    box->reported_here = false;
    ok(history_check_sessions(&broker, box, sessions, "box a") && !box->reported_here,
       "a report with a session of an unknown lease fails");
    is_int(broker.epoch, epoch, "and is no sign of a loss");
    box->reported_here = true;
    store_take_read_error(broker.store);
    ok(store_end_of_run(broker.store, broker.run, &event) && store_take_read_error(broker.store),
       "nor is the end of an earlier run known");
    fail_reads(false);
    ok(acquire("key", 1, false, false, &lease) == OUTCOME_ENDED, "afterwards all is as before");
    json_decref(sessions);
    remove_directory();
    return done();
}
