// SPDX-License-Identifier: BSD-3-Clause
// Leases that boxes reclaim after the database was restored from an older copy: each judgment.
#include <stdio.h>

#include "broker/leases/adoption.h"
#include "broker/leases/away.h"
#include "broker/leases/catch_up.h"
#include "broker/pool/queue.h"
#include "tests/broker/broker_sample.h"

static char copy[80];
static json_t *seen; // what box a has seen of the history
static char token[4096], second_token[4096];

// ---- the database is copied and restored ----

static void take_copy(void)
{
    if (store_backup(file, copy))
        bail("no copy");
}

static void note_seen(void)
{
    json_decref(seen);
    seen = json_pack("{s:I}", "epoch", (json_int_t)broker.epoch);
    history_put_point(&broker, seen);
}

// A box has seen what is now in the database, which then is lost.
static void restore(void)
{
    char beside[100];

    note_seen();
    broker_close(&broker);
    snprintf(beside, sizeof(beside), "%s-wal", file);
    unlink(beside);
    snprintf(beside, sizeof(beside), "%s-shm", file);
    unlink(beside);
    if (rename(copy, file))
        bail("the copy is not restored");
    open_broker();
    register_seen("a", "a1", 3, json_incref(seen));
    hear("a", "a1", NULL, NULL);
    register_box("b", "b1", 2);
    hear("b", "b1", NULL, NULL);
    broker_serve_queue(&broker);
}

// The token of the lease's ticket for box NAME.
static void issue(const struct pool_lease *lease, const char *name, int64_t until, char *out)
{
    struct ticket_bundle bundle;
    char *text = NULL;

    if (broker_write_ticket(&broker, lease, NULL, until, &text) ||
        ticket_bundle_parse(text, strlen(text), &bundle))
        bail("no ticket");
    for (size_t i = 0; i < bundle.count; i++)
        if (!strncmp(bundle.entries[i].box, name, strlen(name)))
            snprintf(out, sizeof(token), "%.*s", (int)bundle.entries[i].public_size,
                     bundle.entries[i].token);
    ticket_bundle_free(&bundle);
    free(text);
}

static int64_t soon(void)
{
    return clock_wall_seconds() + 600;
}

// A granted lease of COUNT GPUs with a ticket. ID receives its name.
static struct pool_lease *grant(const char *key_text, uint32_t count, char *id)
{
    struct pool_lease *lease;

    if (acquire(key_text, count, true, true, &lease))
        bail("no lease");
    strcpy(id, lease->id);
    return lease;
}

static void end(const char *id)
{
    struct pool_lease *lease = pool_find_lease(broker.pool, id);

    if (lease && broker_end_lease(&broker, &lease, "released", "test"))
        bail("no end");
    hear("a", "a1", NULL, id);
    hear("b", "b1", NULL, id);
}

// Returns the verdict on a lease that a box reclaims: "adopted", "waits", or why it is refused.
static const char *judge(const char *name, const char *id, const char *shown, bool runs,
                         json_t *report)
{
    static char verdict[400];
    struct pool_box *box = pool_find_box(broker.pool, name);
    json_t *running = runs ? json_pack("[s]", id) : json_array(), *verdicts = NULL;
    enum outcome error;
    const json_t *said;

    report = report ? report : json_object();
    json_object_set_new(report, "reclaim",
                        shown ? json_pack("[{s:s, s:s}]", "lease", id, "ticket", shown)
                              : json_pack("[{s:s}]", "lease", id));
    error = adoption_hear(&broker, box, report, running, "test", &verdicts);
    said = json_object_get(verdicts, id);
    snprintf(verdict, sizeof(verdict), "%s",
             error                  ? "an error"
             : json_is_true(said)   ? "adopted"
             : json_is_string(said) ? json_string_value(said)
             : json_is_null(said)   ? "waits"
                                    : "nothing");
    json_decref(verdicts);
    json_decref(running);
    json_decref(report);
    return verdict;
}

static void test_adopted(void)
{
    struct pool_lease *lease;
    char id[POOL_NAME_MAX];

    take_copy();
    lease = grant("job/1", 2, id);
    issue(lease, "a", soon(), token);
    restore();
    ok(broker.lost, "the box shows that a part of the history is lost");
    ok(!pool_find_lease(broker.pool, id), "the lease is in that part");
    is_str(judge("a", id, token, true, NULL), "adopted", "the box that serves it reclaims it");
    lease = pool_find_lease(broker.pool, id);
    is_int(lease->state, LEASE_GRANTED, "it is granted");
    is_str(lease->key, "job/1", "with its key");
    is_int(lease->hold_count, 2, "and its GPUs");
    ok(lease->holds[0].held && lease->holds[0].gpu->holders == 1, "which it holds");
    ok(lease->ticket_until >= clock_wall_seconds() + 500, "until the end of its ticket, at least");
    is_int(broker.counters.adoptions, 1, "which counts as an adoption");
    is_str(judge("a", id, token, true, NULL), "adopted", "once more");
    is_int(lease->hold_count, 2, "changes nothing");
    is_int(broker.counters.adoptions, 1, "and counts not");
    restart();
    lease = pool_find_lease(broker.pool, id);
    ok(lease && lease->state == LEASE_GRANTED && lease->hold_count == 2, "it outlives a restart");
    register_box("a", "a1", 3);
    hear("a", "a1", NULL, NULL);
    register_box("b", "b1", 2);
    hear("b", "b1", NULL, NULL);
    lease = pool_find_lease(broker.pool, id);
    if (broker_end_lease(&broker, &lease, "released", "test"))
        bail("no end");
    is_str(judge("a", id, token, true, NULL), "the lease has ended: released", "an ending one");
    end(id);
    is_str(judge("a", id, token, true, NULL), "the lease has ended: released", "and an ended one");
}

static void test_tickets(void)
{
    char id[POOL_NAME_MAX], broken[4096];
    struct pool_lease *lease;
    struct ticket_key others;

    take_copy();
    lease = grant(NULL, 1, id);
    issue(lease, "a", soon(), token);
    restore();
    is_str(judge("b", id, token, true, NULL), "its ticket is for box a", "another box");
    is_str(judge("a", id, NULL, true, NULL), "the box shows no ticket of it", "without a ticket");
    is_str(judge("a", "Lother", token, true, NULL), "the box shows no ticket of it",
           "with a ticket of another lease");
    is_str(judge("a", id, "nonsense", true, NULL), "the box shows no ticket of it",
           "with nonsense");
    if (ticket_key_generate("k1", &others))
        bail("no key");
    broker.keys.keys[0] = others;
    is_str(judge("a", id, token, true, NULL), "its ticket is not sealed by this broker",
           "with a ticket of another broker");
    broker.keys.keys[0] = cluster_key;
    snprintf(broken, sizeof(broken), "%s", token);
    is_str(judge("a", id, broken, true, NULL), "adopted", "with its own");
    end(id);
}

static void test_time(void)
{
    char old[POOL_NAME_MAX], early[POOL_NAME_MAX], late[POOL_NAME_MAX];
    int64_t epoch = broker.epoch;
    struct pool_lease *lease;

    if (acquire(NULL, 1, false, false, &lease))
        bail("no lease");
    strcpy(early, lease->id);
    issue(lease, "a", soon(), second_token);
    end(early);
    if (store_begin(broker.store) || store_trim(broker.store, clock_wall_seconds() + 5, 100000) ||
        store_commit(broker.store))
        bail("no trim");
    take_copy();
    lease = grant(NULL, 1, old);
    issue(lease, "a", clock_wall_seconds() - 1, token);
    restore();
    is_str(judge("a", early, second_token, true, NULL), "the lease has ended",
           "a lease of the known history that is no longer kept");
    is_str(judge("a", old, token, false, NULL), "its ticket has expired, and no session runs",
           "an expired ticket");
    is_str(judge("a", old, token, true, NULL), "adopted", "whose sessions run");
    end(old);
    take_copy();
    lease = grant(NULL, 1, late);
    epoch = broker.epoch;
    broker.epoch = clock_wall_seconds() + HISTORY_AHEAD_MAX + 100;
    issue(lease, "a", soon(), token);
    broker.epoch = epoch;
    restore();
    is_str(judge("a", late, token, true, NULL),
           "its ticket is of an epoch in the future; compare the clocks", "a wrong clock");
}

// The ticket is the first sign of the loss.
static void test_first_sign(void)
{
    char id[POOL_NAME_MAX];
    int64_t epoch;
    struct pool_lease *lease;

    take_copy();
    lease = grant(NULL, 1, id);
    issue(lease, "a", soon(), token);
    restore();
    is_str(judge("a", id, token, true, NULL), "adopted", "a lease of an earlier epoch");
    end(id);
    take_copy();
    lease = grant(NULL, 1, id);
    issue(lease, "a", soon(), token);
    broker_close(&broker);
    if (rename(copy, file))
        bail("not restored");
    open_broker();
    register_box("a", "a1", 3);
    hear("a", "a1", NULL, NULL);
    epoch = broker.epoch;
    is_str(judge("a", id, token, true, NULL), "an error", "a ticket of the present epoch");
    ok(broker.epoch > epoch, "begins a new one");
    ok(!pool_find_lease(broker.pool, id), "before which nothing is adopted");
    register_box("a", "a1", 3);
    register_box("b", "b1", 2);
    hear("a", "a1", NULL, NULL);
    hear("b", "b1", NULL, NULL);
    is_str(judge("a", id, token, true, NULL), "adopted", "in which the lease is adopted");
    end(id);
}

static void test_keys(void)
{
    char id[POOL_NAME_MAX], other[POOL_NAME_MAX], expected[200];

    take_copy();
    issue(grant("job/2", 1, id), "a", soon(), token);
    restore();
    grant("job/2", 1, other);
    snprintf(expected, sizeof(expected), "lease %s has been taken in its place", other);
    is_str(judge("a", id, token, true, NULL), expected, "the key has another lease");
    end(other);
    is_str(judge("a", id, token, true, NULL), "the lease has ended: released",
           "the key's other lease has ended");
}

static void test_places(void)
{
    char id[POOL_NAME_MAX], other[POOL_NAME_MAX], expected[200], gpu[POOL_NAME_MAX];
    struct pool_lease *lease;

    take_copy();
    lease = grant(NULL, 1, id);
    strcpy(gpu, lease->holds[0].gpu->uuid);
    issue(lease, "a", soon(), token);
    restore();
    grant(NULL, 2, other);
    snprintf(expected, sizeof(expected), "GPU %s is held by lease %s", gpu, other);
    is_str(judge("a", id, token, true, NULL), expected, "the GPU was granted since");
    lease = pool_find_lease(broker.pool, other);
    lease->epoch = broker.epoch - 1;
    is_str(judge("a", id, token, false, NULL), expected, "or before, and no session runs");
    is_str(judge("a", id, token, true, NULL), "waits", "a lease that runs there is the later one");
    ok(lease->state == LEASE_ENDING, "so the other ends");
    is_str(judge("a", id, token, true, NULL), "waits", "which takes a while");
    end(other);
    register_seen("a", "a2", 0, NULL);
    hear("a", "a2", NULL, NULL);
    snprintf(expected, sizeof(expected), "the box has no GPU %s", gpu);
    is_str(judge("a", id, token, true, NULL), expected, "without its GPU");
    register_box("a", "a1", 3);
    hear("a", "a1", NULL, NULL);
    is_str(judge("a", id, token, true, NULL), "adopted", "and with it");
    end(id);
}

static void test_waiting(void)
{
    char id[POOL_NAME_MAX], other[POOL_NAME_MAX], first[POOL_NAME_MAX];
    struct pool_lease *lease;

    grant(NULL, 4, first);
    lease = grant("job/3", 1, id);
    is_int(lease->state, LEASE_QUEUED, "a lease waits");
    take_copy();
    end(first);
    ok(lease->state == LEASE_GRANTED, "and is granted");
    issue(lease, "a", soon(), token);
    restore();
    lease = pool_find_lease(broker.pool, id);
    is_int(lease->state, LEASE_QUEUED, "the copy has it in the queue");
    lease = pool_find_lease(broker.pool, first);
    lease->holds[0].box = lease->holds[0].gpu->box;
    is_str(judge("a", id, token, true, NULL), "waits", "the earlier holder must end first");
    end(first);
    lease = pool_find_lease(broker.pool, id);
    is_int(lease->state, LEASE_GRANTED, "the queue grants it GPUs");
    is_str(judge("a", id, token, true, NULL),
           strcmp(lease->holds[0].gpu->uuid, "a-0") ? "waits" : "adopted",
           "its box reclaims it with a ticket of a GPU");
    end(id);
    // Another box's GPU.
    take_copy();
    lease = grant(NULL, 1, id);
    issue(lease, "a", soon(), token);
    restore();
    is_str(judge("a", id, token, true, NULL), "adopted", "(adopted)");
    lease = pool_find_lease(broker.pool, id);
    lease->holds[0].box = pool_find_box(broker.pool, "b");
    is_str(judge("a", id, token, true, NULL),
           "the database was restored from an older copy, and the lease was granted other GPUs "
           "since",
           "a lease that has GPUs of another box");
    lease->holds[0].box = pool_find_box(broker.pool, "a");
    end(id);
    // From the queue, with its GPU free.
    grant(NULL, 4, other);
    lease = grant(NULL, 4, id);
    take_copy();
    end(other);
    issue(lease, "a", soon(), token);
    restore();
    lease = pool_find_lease(broker.pool, id);
    ok(lease->state == LEASE_QUEUED, "(it waits)");
    is_str(judge("a", id, token, true, NULL), "waits", "the holder of the copy ends");
    lease = pool_find_lease(broker.pool, other);
    ok(lease && lease->state == LEASE_ENDING, "for it");
    if (hear("b", "b1", NULL, other))
        bail("no report");
    pool_find_box(broker.pool, "b")->settled = false; // its GPUs are not for the queue
    hear("a", "a1", NULL, other);
    lease = pool_find_lease(broker.pool, id);
    is_int(lease->state, LEASE_QUEUED, "its GPUs are free, and the lease waits");
    is_str(judge("a", id, token, true, NULL), "adopted", "it is adopted out of the queue");
    is_int(lease->state, LEASE_GRANTED, "granted");
    ok(lease->granted && lease->ticket_until >= clock_wall_seconds() + 500,
       "since and for as long as its ticket says");
    is_int(lease->hold_count, 2, "with the GPUs of this box");
    end(id);
}

// The mode of a GPU that follows its leases is the adopted lease's, also in the database.
static void test_modes(void)
{
    struct acquire wanted = {.actor = "test",
                             .owner = 1000,
                             .request = sample_request(1, GPU_EXCLUSIVE, 0)};
    struct pool_gpu *gpu = pool_find_gpu(broker.pool, "a-0");
    struct pool_lease *lease;
    char id[POOL_NAME_MAX];

    if (broker_set_mode(&broker, gpu, GPU_SHARED, false, "test") ||
        broker_set_mode(&broker, gpu, GPU_SHARED, true, "test"))
        bail("no mode");
    take_copy();
    wanted.request.index = 1;
    strcpy(wanted.request.box, "a");
    is_int(broker_acquire(&broker, &wanted, &lease), 0, "an automatic GPU is granted whole");
    strcpy(id, lease->id);
    issue(lease, "a", soon(), token);
    restore();
    is_int(pool_find_gpu(broker.pool, "a-0")->mode, GPU_SHARED, "the copy has it in shares");
    is_str(judge("a", id, token, true, NULL), "adopted", "(adopted)");
    is_int(pool_find_gpu(broker.pool, "a-0")->mode, GPU_EXCLUSIVE, "it is whole again");
    restart();
    gpu = pool_find_gpu(broker.pool, "a-0");
    ok(gpu->mode == GPU_EXCLUSIVE && gpu->automatic, "also after a restart");
    register_box("a", "a1", 3);
    hear("a", "a1", NULL, NULL);
    register_box("b", "b1", 2);
    hear("b", "b1", NULL, NULL);
    end(id);
    if (broker_set_mode(&broker, gpu, GPU_EXCLUSIVE, false, "test"))
        bail("no mode");
}

static void test_displaced(void)
{
    char id[POOL_NAME_MAX];
    struct pool_lease *lease;
    json_t *report;

    take_copy();
    lease = grant(NULL, 1, id);
    issue(lease, "a", soon(), token);
    restore();
    report = json_pack("{s:[{s:s, s:s, s:b}]}", "suspensions", "lease", id, "state", "suspended",
                       "returns", 0);
    is_str(judge("a", id, token, true, report), "adopted", "a suspended lease");
    lease = pool_find_lease(broker.pool, id);
    is_int(lease->suspension, LEASE_AWAY, "is suspended");
    ok(!lease->holds[0].held && lease->holds[0].aside, "and holds nothing");
    ok(!lease->idle, "by order");
    end(id);
    take_copy();
    lease = grant(NULL, 1, id);
    issue(lease, "a", soon(), token);
    restore();
    report = json_pack("{s:[{s:s, s:i, s:s, s:b}]}", "moves", "lease", id, "ordinal", 0, "gpu",
                       "a-1", "done", 1);
    is_str(judge("a", id, token, true, report), "adopted", "a moved lease");
    lease = pool_find_lease(broker.pool, id);
    is_str(lease->holds[0].gpu->uuid, "a-1", "is where it was moved to");
    ok(lease->holds[0].moved, "and known as moved");
    end(id);
}

// A lease that was granted after the copy runs on the GPU to which a suspended one is to return.
static void test_returning(void)
{
    struct acquire wanted = {.actor = "test", .request = sample_request(1, GPU_EXCLUSIVE, 0)};
    struct pool_lease *lease, *later;
    char first[POOL_NAME_MAX], second[POOL_NAME_MAX];
    json_t *list;

    wanted.request.index = 1;
    strcpy(wanted.request.box, "a");
    is_int(broker_acquire(&broker, &wanted, &lease), 0, "a lease has a GPU");
    strcpy(first, lease->id);
    issue(lease, "a", soon(), token);
    lease->ticket_until = soon();
    list = json_pack("[{s:s, s:s}]", "lease", first, "state", "suspended");
    is_int(broker_suspend_lease(&broker, lease, "test"), 0, "it is suspended");
    is_int(broker_hear_suspensions(&broker, pool_find_box(broker.pool, "a"), list, "test"), 0,
           "by its box");
    take_copy();
    is_int(broker_acquire(&broker, &wanted, &later), 0, "another lease has the GPU");
    strcpy(second, later->id);
    issue(later, "a", soon(), token);
    restore();
    is_int(hear("a", "a1", second, NULL), 0, "which runs there after the restore");
    lease = pool_find_lease(broker.pool, first);
    is_int(broker_resume_lease(&broker, lease, "test"), 0, "the first one is resumed");
    is_int(lease->suspension, LEASE_RETURNING, "and waits");
    is_str(judge("a", second, token, true, NULL), "adopted", "the other one is adopted");
    hear("a", "a1", second, NULL);
    is_int(lease->suspension, LEASE_RETURNING, "it waits");
    end(second);
    is_int(lease->suspension, LEASE_HERE, "until that has ended");
    json_decref(list);
    end(first);
}

// A lease that cannot return yet keeps a request from a free GPU, until it is suspended again.
static void test_no_longer_awaited(void)
{
    struct acquire wanted = {.actor = "test", .request = sample_request(2, GPU_EXCLUSIVE, 0)};
    struct pool_lease *lease, *other, *waiting;
    char ids[3][POOL_NAME_MAX];
    json_t *list;

    strcpy(wanted.request.box, "a");
    is_int(broker_acquire(&broker, &wanted, &lease), 0, "a lease has two GPUs");
    strcpy(ids[0], lease->id);
    lease->ticket_until = soon();
    list = json_pack("[{s:s, s:s}]", "lease", ids[0], "state", "suspended");
    is_int(broker_suspend_lease(&broker, lease, "test"), 0, "it is suspended");
    is_int(broker_hear_suspensions(&broker, pool_find_box(broker.pool, "a"), list, "test"), 0,
           "by its box");
    wanted.request = sample_request(1, GPU_EXCLUSIVE, 0);
    strcpy(wanted.request.box, "a");
    wanted.request.index = 2;
    is_int(broker_acquire(&broker, &wanted, &other), 0, "another lease has one of the GPUs");
    strcpy(ids[1], other->id);
    other->ticket_until = soon();
    is_int(broker_resume_lease(&broker, lease, "test"), 0, "the first one is resumed");
    is_int(lease->suspension, LEASE_RETURNING, "and waits for both");
    wanted.request.index = 1;
    wanted.wait = true;
    is_int(broker_acquire(&broker, &wanted, &waiting), 0, "a third one asks for the free GPU");
    strcpy(ids[2], waiting->id);
    waiting->ticket_until = soon();
    broker_serve_queue(&broker);
    is_int(waiting->state, LEASE_QUEUED, "and waits");
    is_int(broker_suspend_lease(&broker, lease, "test"), 0, "the first one is suspended again");
    broker_serve_queue(&broker);
    is_int(waiting->state, LEASE_GRANTED, "then the third one has the GPU");
    json_decref(list);
    for (int i = 0; i < 3; i++)
        end(ids[i]);
}

static json_t *suspended(const char *id, bool returns, bool idle)
{
    return json_pack("{s:[{s:s, s:s, s:b, s:b}]}", "suspensions", "lease", id, "state", "suspended",
                     "returns", returns, "idle", idle);
}

// Reports are the state of leases that the copy knows.
static void catch_up(json_t *report, const char *running)
{
    json_t *list = running ? json_pack("[s]", running) : json_array();

    if (catch_up_hear(&broker, pool_find_box(broker.pool, "a"), report, list, "test"))
        bail("no report");
    json_decref(list);
    json_decref(report);
}

static void test_caught_up(void)
{
    struct pool_box *box = pool_find_box(broker.pool, "a");
    char id[POOL_NAME_MAX], second[POOL_NAME_MAX], third[POOL_NAME_MAX];
    struct pool_lease *lease, *other;
    json_t *none = json_object(), *waits = json_object();

    grant(NULL, 1, id);
    grant(NULL, 1, second);
    take_copy();
    grant(NULL, 1, third); // an event that is lost
    restore();
    box = pool_find_box(broker.pool, "a");
    lease = pool_find_lease(broker.pool, id);
    other = pool_find_lease(broker.pool, second);
    ok(catch_up_is_due(&broker, box), "a box has not told what it has of its leases");
    catch_up(suspended(id, true, false), NULL);
    is_int(lease->suspension, LEASE_HERE, "a lease that returns there is not suspended");
    catch_up(suspended(id, false, true), NULL);
    is_int(lease->suspension, LEASE_HERE, "nor is an idle one, of which the box says so by itself");
    catch_up(suspended(id, false, false), NULL);
    is_int(lease->suspension, LEASE_AWAY, "one that is suspended there is suspended");
    is_int(other->suspension, LEASE_HERE, "and no other");
    catch_up(json_object(), NULL);
    is_int(lease->suspension, LEASE_AWAY, "without sessions it stays so");
    catch_up(json_object(), id);
    ok(lease->suspension != LEASE_AWAY, "with sessions on its GPUs it is back");
    json_object_set_new(waits, "L1", json_null());
    lease->suspension = LEASE_HERE;
    catch_up_end(&broker, box, waits);
    ok(catch_up_is_due(&broker, box), "a lease that waits for its verdict is reported again");
    pool_move_lease(broker.pool, other, LEASE_ENDING);
    catch_up_end(&broker, box, none);
    ok(catch_up_is_due(&broker, box), "and so are leases while one ends");
    pool_move_lease(broker.pool, other, LEASE_GRANTED);
    catch_up_end(&broker, box, none);
    ok(!catch_up_is_due(&broker, box), "then the box has caught up");
    catch_up(json_pack("{s:[{s:s, s:i, s:s, s:b}]}", "moves", "lease", second, "ordinal", 0, "gpu",
                       "a-0", "done", 1),
             NULL);
    register_box("a", "a1", 3);
    register_box("b", "b1", 2);
    hear("a", "a1", NULL, NULL);
    hear("b", "b1", NULL, NULL);
    lease = grant(NULL, 1, third);
    pool_find_box(broker.pool, "a")->caught_up = 0;
    catch_up(suspended(third, false, false), NULL);
    is_int(lease->suspension, LEASE_HERE, "a lease of this epoch is as the database says");
    json_decref(none);
    json_decref(waits);
    end(third);
    end(id);
    end(second);
}

// A lease with GPUs of several boxes keeps them while its programs are idle.
static void test_idle(void)
{
    char both[POOL_NAME_MAX], one[POOL_NAME_MAX];
    struct pool_box *box = pool_find_box(broker.pool, "a");
    struct pool_lease *lease = grant(NULL, 4, both);
    json_t *report = suspended(both, false, true);

    is_int(broker_hear_suspensions(&broker, box, json_object_get(report, "suspensions"), "test"), 0,
           "a box has suspended its part of an idle lease");
    is_int(lease->suspension, LEASE_HERE, "whose GPUs of another box stay");
    json_decref(report);
    end(both);
    lease = grant(NULL, 1, one);
    report = suspended(one, false, true);
    is_int(broker_hear_suspensions(&broker, box, json_object_get(report, "suspensions"), "test"), 0,
           "a box has suspended an idle lease");
    ok(lease->suspension == LEASE_AWAY && lease->idle, "which gives way");
    ok(!lease->holds[0].held && lease->holds[0].aside, "and holds nothing");
    json_decref(report);
    end(one);
}

int main(void)
{
    make_directory();
    snprintf(copy, sizeof(copy), "%s/copy.sqlite", path);
    open_broker();
    register_box("a", "a1", 3);
    hear("a", "a1", NULL, NULL);
    register_box("b", "b1", 2);
    hear("b", "b1", NULL, NULL);
    test_adopted();
    test_tickets();
    test_first_sign();
    test_keys();
    test_places();
    test_waiting();
    test_displaced();
    test_modes();
    test_returning();
    test_no_longer_awaited();
    test_time();
    test_caught_up();
    test_idle();
    json_decref(seen);
    remove_directory();
    return done();
}
