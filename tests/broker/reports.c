// SPDX-License-Identifier: BSD-3-Clause
// Reports of boxes beside their sessions: faults of GPUs, sessions that failed, moves, suspensions
// and leases that they refuse. A broker whose database is damaged changes nothing.
#include "broker/leases/adoption.h"
#include "broker/leases/away.h"
#include "broker/leases/drain.h"
#include "broker/leases/moving.h"
#include "broker/pool/capacity.h"
#include "broker/pool/columns.h"
#include "broker/pool/forecast.h"
#include "broker/store/store_run.h"
#include "tests/broker/broker_sample.h"

static struct pool_box *box; // a, with two exclusive GPUs and a shared one

static size_t events_of(const char *kind)
{
    json_t *events = store_events(broker.store, 0, 10000), *event;
    size_t count = 0, i;

    json_array_foreach(events, i, event)
        count += !strcmp(json_string_value(json_object_get(event, "kind")), kind);
    json_decref(events);
    return count;
}

static struct pool_lease *granted(uint32_t count)
{
    struct pool_lease *lease;

    if (acquire(NULL, count, true, true, &lease))
        bail("no lease");
    return lease;
}

static void end(struct pool_lease *lease)
{
    char id[POOL_NAME_MAX];

    strcpy(id, lease->id);
    if (broker_end_lease(&broker, &lease, "released", "test"))
        bail("no end");
    hear("a", "a1", NULL, id);
    if (pool_find_lease(broker.pool, id))
        bail("the lease does not end");
}

static void test_accepting(void)
{
    struct pool_lease *first = granted(2), *second;
    json_t *none = json_array();

    is_int(broker_hear(&broker, box, "a1", none, none, false, "test"), 0,
           "a box takes no sessions");
    end(first);
    is_int(broker_hear(&broker, box, "a1", none, none, false, "test"), 0, "(still)");
    second = granted(2);
    is_int(second->state, LEASE_QUEUED, "so its GPUs are not granted");
    hear("a", "a1", NULL, NULL);
    is_int(second->state, LEASE_GRANTED, "until it takes sessions");
    ok(!broker.queue_dirty && !broker.pool->freed_count, "then the queue has nothing to try");
    end(second);
    json_decref(none);
}

// GPUs that are given back go to who waits, and leases end whose GPUs are gone.
static void test_given_back(void)
{
    struct pool_lease *first = granted(2), *second = granted(2), *third;
    char name[POOL_NAME_MAX];

    is_int(second->state, LEASE_QUEUED, "a request waits");
    end(first);
    is_int(second->state, LEASE_GRANTED, "until another lease has given its GPUs back");
    end(second);
    is_int(acquire(NULL, 2, true, false, &first), 0, "a lease has no ticket");
    second = granted(2);
    is_int(broker_end_lease(&broker, &first, "released", "test"), 0, "and ends at once");
    broker_serve_queue(&broker);
    is_int(second->state, LEASE_GRANTED, "which frees its GPUs, too");
    end(second);
    first = granted(1);
    second = granted(1);
    third = granted(2);
    strcpy(name, first->id);
    is_int(register_box("a", "a2", 0), 0, "a box comes back without GPUs");
    ok(first->state == LEASE_ENDING && second->state == LEASE_ENDING, "all its leases end");
    is_int(third->state, LEASE_QUEUED, "those that wait do not");
    hear("a", "a2", NULL, name);
    hear("a", "a2", NULL, second->id);
    is_int(register_box("a", "a1", 3), 0, "it has them again");
    hear("a", "a1", NULL, NULL);
    is_int(third->state, LEASE_GRANTED, "and they are granted");
    end(third);
}

static void test_cut_off(void)
{
    struct pool_lease *lease = granted(1);

    box->heard -= 60;
    broker_tick(&broker);
    ok(box->known_lost && lease->state == LEASE_LOST, "a box is cut off");
    is_int(hear("a", "a2", NULL, NULL), OUTCOME_UNREGISTERED,
           "another process of it must register");
    ok(!box->connected, "and does not count");
    is_int(hear("a", "a1", NULL, NULL), 0, "the same process reports");
    ok(box->connected && lease->state == LEASE_GRANTED, "and has its leases");
    end(lease);
}

// The rate of a box's events is limited.
static void test_rate(void)
{
    int count = 0;

    box->written = 0;
    while (count < 200 && box_may_write(box))
        count++;
    is_int(count, 100, "a box may write so many events at once");
    box->written -= 1;
    ok(box_may_write(box) && !box_may_write(box), "and one a second");
    box->written = 0;
}

// A session of a lease that the database does not know shows that a part of it is lost.
// Returns the orders and questions of an answer to a box that runs the lease.
static const char *answer_to(const char *lease, json_t *verdicts)
{
    static char text[400];
    json_t *running = json_pack("[s]", lease), *ask = json_array();
    json_t *answer = json_pack("{s:o, s:o}", "end",
                               broker_revocations(&broker, box, running, verdicts, ask), "ask",
                               ask);
    char *dump = json_dumps(answer, JSON_COMPACT);

    snprintf(text, sizeof(text), "%s", dump);
    free(dump);
    json_decref(answer);
    json_decref(running);
    json_decref(verdicts);
    return text;
}

static void test_verdicts(void)
{
    struct pool_lease *lease = granted(1);
    char id[POOL_NAME_MAX], want[400];

    strcpy(id, lease->id);
    is_str(answer_to(id, json_object()), "{\"end\":[],\"ask\":[]}", "a lease that lives goes on");
    is_str(answer_to("Lx", NULL), "{\"end\":[{\"lease\":\"Lx\"}],\"ask\":[]}",
           "an unknown one ends on a box that cannot be asked");
    is_str(answer_to("Lx", json_object()), "{\"end\":[],\"ask\":[\"Lx\"]}", "another box is asked");
    is_str(answer_to("Lx", json_pack("{s:n}", "Lx")), "{\"end\":[],\"ask\":[]}",
           "while there is no verdict nothing is ordered");
    is_str(answer_to("Lx", json_pack("{s:s}", "Lx", "why")),
           "{\"end\":[{\"lease\":\"Lx\",\"reason\":\"why\"}],\"ask\":[]}",
           "then the lease ends for its reason");
    end(lease);
    snprintf(want, sizeof(want), "{\"end\":[{\"lease\":\"%s\"}],\"ask\":[]}", id);
    is_str(answer_to(id, json_object()), want, "one that has ended is not asked for");
}

static void test_unknown_session(void)
{
    json_t *sessions =
        json_pack("[{s:s, s:I}]", "lease", "Lunknown", "epoch", (json_int_t)broker.epoch);
    int64_t epoch = broker.epoch;

    box->reported_here = true;
    is_int(history_check_sessions(&broker, box, sessions, "box a"), 0, "a lease is unknown");
    is_int(broker.epoch, epoch, "which must end");
    box->reported_here = false;
    json_object_set_new(json_array_get(sessions, 0), "epoch", json_integer(epoch - 1));
    is_int(history_check_sessions(&broker, box, sessions, "box a"), 0, "one of an earlier epoch");
    is_int(broker.epoch, epoch, "must, too");
    box->reported_here = false;
    json_object_set_new(json_array_get(sessions, 0), "epoch", json_integer(epoch));
    is_int(history_check_sessions(&broker, box, sessions, "box a"), 0, "in its first report");
    ok(broker.epoch > epoch && broker.lost, "it is a sign of a loss");
    ok(box->reported_here, "once");
    json_decref(sessions);
    register_box("a", "a1", 3);
    hear("a", "a1", NULL, NULL);
}

static void test_full_disk(void)
{
    broker.storage.disk_full = true;
    broker.storage.last = OUTCOME_DISK_FULL;
    broker.storage.next_probe = 0;
    is_int(broker_problem(&broker), OUTCOME_DISK_FULL, "a disk was full");
    broker_tick(&broker);
    ok(!broker.storage.disk_full && !broker_problem(&broker), "and is found to have room again");
}

static enum outcome report_failed(const char *lease, const char *reason)
{
    json_t *list = json_pack("[{s:s*, s:i, s:s*}]", "lease", lease, "session", 7, "reason", reason);
    enum outcome error = broker_note_failed(&broker, box, list, "box a");

    json_decref(list);
    return error;
}

static void test_failed(void)
{
    struct pool_lease *lease = granted(1);
    char id[POOL_NAME_MAX];

    strcpy(id, lease->id);
    is_int(report_failed(id, "Xid 79"), 0, "a session failed");
    is_int((int64_t)events_of("session.failed"), 1, "which is an event");
    report_failed(id, NULL);
    report_failed(NULL, "Xid 79");
    report_failed("Lother", "Xid 79");
    is_int((int64_t)events_of("session.failed"), 1,
           "but not without a reason, a lease, or one of the box");
    end(lease);
    report_failed(id, "Xid 80");
    is_int((int64_t)events_of("session.failed"), 2, "also of a lease that has ended");
    box->written = clock_boot_seconds() + 10;
    report_failed(id, "Xid 81");
    is_int((int64_t)events_of("session.failed"), 2, "unless the box says too much");
    box->written = 0;
}

static enum outcome report_fault(const char *uuid, const char *reason, bool force)
{
    json_t *list = json_pack("[{s:s*, s:s*, s:b}]", "uuid", uuid, "reason", reason, "force", force);
    enum outcome error = broker_drain_faulty(&broker, box, list, "box a");

    json_decref(list);
    return error;
}

static void undrain(struct pool_gpu *gpu)
{
    struct drain_order order = {.actor = "alice"};

    is_int(broker_drain_gpu(&broker, gpu, &order), 0, "it is repaired");
    ok(!gpu->drained && !gpu->drain.reason && !gpu->drain.by, "and back without a word");
}

static void test_faults(void)
{
    struct pool_gpu *gpu = pool_find_gpu(broker.pool, "a-0");
    struct drain_order by_hand = {.drained = true, .reason = "works", .actor = "alice"};
    struct pool_lease *lease;
    char bad[DRAIN_REASON_MAX + 2];

    memset(bad, 'x', sizeof(bad));
    bad[sizeof(bad) - 1] = '\0';
    report_fault(NULL, "ECC", false);
    report_fault("b-0", "ECC", false);
    report_fault("a-0", NULL, false);
    report_fault("a-0", "", false);
    report_fault("a-0", bad, false);
    report_fault("a-0", "\033[2J", false);
    report_fault("a-0", "\xc3\xa4", false);
    ok(!gpu->drained, "a fault of no GPU of the box, or without a good reason, is none");
    box->written = clock_boot_seconds() + 10;
    report_fault("a-0", "ECC", false);
    ok(!gpu->drained, "nor is one of a box that says too much");
    box->written = 0;
    is_int(report_fault("a-0", "ECC", false), 0, "a GPU has a fault");
    ok(gpu->drained && !strcmp(gpu->drain.reason, "ECC") && !strcmp(gpu->drain.by, "box a"),
       "and is drained");
    report_fault("a-0", "ECC", false);
    is_int((int64_t)events_of("gpu.drained"), 1, "once");
    report_fault("a-0", "Xid 79", false);
    is_str(gpu->drain.reason, "Xid 79", "for another fault anew");
    undrain(gpu);
    lease = granted(2);
    is_int(report_fault("a-0", "Xid 79", true), 0, "a fault that ends what runs there");
    is_int(lease->state, LEASE_ENDING, "ends the lease");
    is_str(lease->reason, "drained by force: Xid 79", "with a reason");
    is_int(broker.counters.revocations, 1, "which counts");
    hear("a", "a1", NULL, lease->id);
    report_fault("a-0", "Xid 79", true);
    is_int((int64_t)events_of("gpu.drained"), 3, "then all is as the box wants it");
    undrain(gpu);
    is_int(broker_drain_gpu(&broker, gpu, &by_hand), 0, "an administrator drains a GPU");
    report_fault("a-0", "ECC", false);
    ok(!strcmp(gpu->drain.reason, "works") && !strcmp(gpu->drain.by, "alice"), "whose word stands");
    undrain(gpu);
}

// Returns the name of the other exclusive GPU of the box.
static const char *name_beside(const struct pool_gpu *gpu)
{
    return strcmp(gpu->uuid, "a-0") ? "a-0" : "a-1";
}

// Orders the move of a lease's first GPU to the other one.
static struct pool_hold *order_move(struct pool_lease *lease)
{
    struct pool_hold *hold = &lease->holds[0];
    struct pool_gpu *to = pool_find_gpu(broker.pool, name_beside(hold->gpu));

    is_int(broker_move_lease(&broker, lease, hold, to, "alice"), 0, "a lease is to move");
    ok(hold->target == to && to->holders == 1, "which keeps its new GPU for it");
    return hold;
}

static void report_move(const struct pool_lease *lease, const char *member, const char *gpu,
                        const char *reason)
{
    json_t *list = json_pack("[{s:s, s:i, s:s, s:b, s:s*}]", "lease", lease->id, "ordinal", 0,
                             member, gpu, "done", 1, "reason", reason);

    if (broker_hear_moves(&broker, box, list, "box a"))
        bail("no report");
    broker_serve_queue(&broker);
    json_decref(list);
}

static void test_moves(void)
{
    struct pool_lease *lease = granted(1), *waiting;
    struct pool_hold *hold = order_move(lease);
    struct pool_gpu *from = hold->gpu, *to = hold->target;
    uint64_t told = box->suspensions;

    waiting = granted(1);
    is_int(waiting->state, LEASE_QUEUED, "both GPUs are taken meanwhile");
    report_move(lease, "refused", from->uuid, "no memory");
    report_move(lease, "refused", to->uuid, NULL);
    report_move(lease, "gpu", from->uuid, NULL);
    ok(hold->target == to, "a report of another GPU, or a refusal without a reason, is none");
    report_move(lease, "refused", to->uuid, "no memory");
    ok(!hold->target && hold->gpu == from, "the box refuses");
    is_str(lease->stays, "no memory", "with a reason");
    ok(box->suspensions > told, "so its orders have changed");
    ok(waiting->state == LEASE_GRANTED && waiting->holds[0].gpu == to,
       "and who waits gets the GPU");
    end(waiting);
    hold = order_move(lease);
    ok(!lease->stays, "a new order has no answer yet");
    waiting = granted(1);
    report_move(lease, "gpu", to->uuid, NULL);
    ok(hold->gpu == to && !hold->target && hold->moved, "the lease has moved");
    ok(waiting->state == LEASE_GRANTED && waiting->holds[0].gpu == from,
       "and who waits gets the GPU that it left");
    end(waiting);
    hold = order_move(lease);
    waiting = granted(2);
    end(lease);
    is_int(waiting->state, LEASE_GRANTED, "the end of a lease that moves frees both its GPUs");
    end(waiting);
}

static void test_moved_off(void)
{
    struct drain_order order = {.drained = true, .actor = "alice"};
    struct pool_lease *lease = granted(1), *second;
    struct pool_gpu *from = lease->holds[0].gpu;
    struct pool_gpu *to = pool_find_gpu(broker.pool, name_beside(from));
    struct pool_gpu *shared = pool_find_gpu(broker.pool, "a-2");
    json_t *moves;

    is_int(broker_drain_gpu(&broker, shared, &order), 0, "(another GPU is drained)");
    is_int(broker_drain_gpu(&broker, from, &order), 0, "a GPU is drained");
    is_int(broker_move_off(&broker, box, from, "alice", &moves), 0, "and what is there moved");
    is_str(json_string_value(json_object_get(json_array_get(moves, 0), "to")), to->uuid,
           "to the other one");
    json_decref(moves);
    report_move(lease, "gpu", to->uuid, NULL);
    is_int(broker_move_off(&broker, box, from, "alice", &moves), 0, "(again)");
    is_int((int64_t)json_array_size(moves), 0, "then nothing is left there");
    json_decref(moves);
    is_int(broker_move_off(&broker, box, NULL, "alice", &moves), 0, "all of the box");
    is_str(json_string_value(json_object_get(json_array_get(moves, 0), "reason")),
           "no other GPU of its kind is in service there", "have nowhere to go");
    json_decref(moves);
    order.drained = false;
    is_int(broker_drain_gpu(&broker, from, &order), 0, "(repaired)");
    second = granted(1);
    is_int(broker_move_off(&broker, box, to, "alice", &moves), 0, "from a GPU");
    is_str(json_string_value(json_object_get(json_array_get(moves, 0), "reason")),
           "another lease holds that GPU, beside which it cannot be",
           "while others have what suits");
    json_decref(moves);
    order.drained = true;
    is_int(broker_drain_box(&broker, box, &order), 0, "the box is drained");
    is_int(broker_move_off(&broker, box, to, "alice", &moves), 0, "as a whole");
    is_str(json_string_value(json_object_get(json_array_get(moves, 0), "reason")),
           "its box is drained as a whole, and leases are not moved from box to box",
           "then its leases stay");
    json_decref(moves);
    order.drained = false;
    is_int(broker_drain_box(&broker, box, &order), 0, "(repaired)");
    is_int(broker_drain_gpu(&broker, shared, &order), 0, "(repaired)");
    end(lease);
    end(second);
}

// A suspended lease holds nothing, and what it is moved to outlives a restart.
static void test_moved_aside(void)
{
    struct pool_lease *lease = granted(1);
    json_t *list = json_pack("[{s:s, s:s}]", "lease", lease->id, "state", "suspended");
    const char *to = name_beside(lease->holds[0].gpu);
    char id[POOL_NAME_MAX];

    strcpy(id, lease->id);
    is_int(broker_suspend_lease(&broker, lease, "alice"), 0, "a lease is to be suspended");
    is_int(broker_hear_suspensions(&broker, box, list, "box a"), 0, "its box has done that");
    ok(!lease->holds[0].held && lease->holds[0].aside, "it holds nothing");
    is_int(broker_move_lease(&broker, lease, &lease->holds[0], pool_find_gpu(broker.pool, to),
                             "alice"),
           0, "it is moved");
    restart();
    lease = pool_find_lease(broker.pool, id);
    ok(lease->holds[0].moved && !strcmp(lease->holds[0].gpu->uuid, to), "which outlives a restart");
    register_box("a", "a1", 3);
    hear("a", "a1", NULL, NULL);
    box = pool_find_box(broker.pool, "a");
    is_int(broker_resume_lease(&broker, lease, "alice"), 0, "it is resumed");
    ok(lease->holds[0].held && lease->suspension == LEASE_HERE, "there");
    order_move(lease);
    to = lease->holds[0].target->uuid;
    lease->holds[0].moved = false;
    is_int(broker_suspend_lease(&broker, lease, "alice"), 0, "one that is on its way");
    is_int(broker_hear_suspensions(&broker, box, list, "box a"), 0, "is suspended");
    ok(!strcmp(lease->holds[0].gpu->uuid, to) && lease->holds[0].moved && !lease->holds[0].target,
       "and returns where it was to go");
    json_decref(list);
    end(lease);
}

static json_t *refuse(const char *lease)
{
    json_t *list = json_pack("[s, s, s]", lease, lease, "Lother"), *restored;

    if (history_reconcile(&broker, box, list, "box a", &restored))
        bail("no report");
    json_decref(list);
    return restored;
}

static void test_refused(void)
{
    struct pool_lease *lease = granted(1);
    json_t *restored = refuse(lease->id);

    is_int((int64_t)json_array_size(restored), 1, "a lease that a box refuses and that lives");
    is_str(json_string_value(json_array_get(restored, 0)), lease->id, "is to be taken again");
    json_decref(restored);
    lease->epoch--;
    restored = refuse(lease->id);
    is_int((int64_t)json_array_size(restored), 0, "one of an earlier epoch is not");
    is_int(lease->state, LEASE_ENDING, "it had ended before the database was restored");
    json_decref(restored);
    restored = refuse(lease->id);
    is_int((int64_t)json_array_size(restored), 0, "and ends");
    json_decref(restored);
    lease->epoch++;
    hear("a", "a1", NULL, lease->id);
}

// A scheduler that does not ask any more keeps no GPUs.
static void test_plans(void)
{
    struct pool_lease *lease;

    pool_find_gpu(broker.pool, "a-0")->kept = pool_find_gpu(broker.pool, "a-1")->kept = 1;
    broker.pool->planned_count = 1;
    broker.pool->planned_until = clock_seconds() + 100;
    broker.pool->queue->changes++;
    lease = granted(2);
    broker_tick(&broker);
    is_int(lease->state, LEASE_QUEUED, "GPUs are kept for a scheduler's next request");
    broker.pool->planned_until = clock_seconds() - 1;
    broker_tick(&broker);
    is_int(lease->state, LEASE_GRANTED, "until it asks no more");
    end(lease);
}

// A scheduler's plans are no part of what is shown of a GPU.
static void test_shown(void)
{
    struct pool_gpu *gpu = pool_find_gpu(broker.pool, "a-0");
    json_t *shown = json_object();

    gpu->sought = gpu->kept = 3;
    columns_show(gpu_columns, COLUMN_SHOWN, gpu, shown);
    is_int(json_integer_value(json_object_get(shown, "overcommit")), 100,
           "a GPU that is sought promises what it has");
    gpu->sought = gpu->kept = 0;
    json_decref(shown);
}

// A box whose GPUs were replaced has room for the new ones.
static void test_replaced(void)
{
    const char *why;
    json_t *list = json_array(),
           *body = json_pack("{s:s, s:s, s:o}", "instance", "b1", "addresses", "b:1", "gpus", list);
    struct pool_box *other;
    char uuid[64];

    is_int(register_box("b", "b1", 2), 0, "another box");
    for (int i = 0; i < POOL_GPUS_PER_BOX; i++) {
        snprintf(uuid, sizeof(uuid), "new-%d", i);
        json_array_append_new(list, json_pack("{s:s, s:i, s:s, s:I}", "uuid", uuid, "index", i,
                                              "model", "H200", "memory", (json_int_t)GB));
    }
    other = pool_find_box(broker.pool, "b");
    strcpy(other->addresses, "b:1");
    is_int(broker_register(&broker, "b", body, "test", &why), 0, "has as many as there may be");
    ok(!pool_find_gpu(broker.pool, "b-0") && !pool_find_gpu(broker.pool, "b-1"),
       "so those that it had are forgotten");
    is_int(other->gpu_count, POOL_GPUS_PER_BOX, "and not counted");
    json_array_remove(list, 5);
    is_int(broker_register(&broker, "b", body, "test", &why), 0, "one is missing");
    ok(!pool_find_gpu(broker.pool, "new-5")->present, "which is away");
    is_int(other->gpu_count, POOL_GPUS_PER_BOX, "and has its place");
    restart();
    ok(!pool_find_gpu(broker.pool, "b-0"), "also after a restart");
    is_int(register_box("a", "a1", 3), 0, "(registered)");
    hear("a", "a1", NULL, NULL);
    box = pool_find_box(broker.pool, "a");
    json_decref(body);
}

static void test_damaged(void)
{
    struct pool_lease *lease = granted(1), *other = granted(1), *waiting = granted(1), *none;
    struct drain_order drain = {.drained = true, .reason = "works", .actor = "alice"};
    struct pool_gpu *shared = pool_find_gpu(broker.pool, "a-2");
    struct pool_hold *hold = &lease->holds[0];
    struct pool_gpu *to = other->holds[0].gpu;
    char *bundle = NULL;
    json_t *moves;

    end(other);
    is_int(waiting->state, LEASE_GRANTED, "(granted)");
    end(waiting);
    broker.storage.broken = true;
    is_int(acquire("k", 1, false, false, &none), OUTCOME_DATABASE_DAMAGED, "nothing is granted");
    is_int(acquire("k", 3, true, false, &none), OUTCOME_DATABASE_DAMAGED, "nothing waits");
    is_int(broker_renew(&broker, lease, 100, "test"), OUTCOME_DATABASE_DAMAGED, "or is renewed");
    is_int(broker_issue_ticket(&broker, lease, NULL, 7000, "test", &bundle),
           OUTCOME_DATABASE_DAMAGED, "no ticket is issued");
    ok(lease->ticket_until < clock_wall_seconds() + 6900, "or known of");
    is_int(broker_suspend_lease(&broker, lease, "test"), OUTCOME_DATABASE_DAMAGED, "suspended");
    is_int(lease->suspension, LEASE_HERE, "(it stays)");
    is_int(broker_move_lease(&broker, lease, hold, to, "test"), OUTCOME_DATABASE_DAMAGED, "moved");
    ok(!hold->target && !to->holders, "(it stays)");
    is_int(broker_move_off(&broker, box, NULL, "test", &moves), OUTCOME_DATABASE_DAMAGED, "off");
    json_decref(moves);
    is_int(broker_drain_gpu(&broker, shared, &drain), OUTCOME_DATABASE_DAMAGED, "drained");
    ok(!shared->drained && !shared->drain.reason, "(it is in service)");
    is_int(broker_drain_box(&broker, box, &drain), OUTCOME_DATABASE_DAMAGED, "as a box");
    ok(!box->drained && !box->drain.reason, "(it is in service)");
    is_int(report_fault("a-2", "ECC", true), OUTCOME_DATABASE_DAMAGED, "for a fault");
    is_int(report_failed(lease->id, "Xid"), OUTCOME_DATABASE_DAMAGED, "or noted");
    is_int(broker_set_mode(&broker, shared, GPU_EXCLUSIVE, false, "test"), OUTCOME_DATABASE_DAMAGED,
           "or changed");
    is_int(shared->mode, GPU_SHARED, "(it is shared)");
    is_int(register_box("c", "c1", 2), OUTCOME_DATABASE_DAMAGED, "no box registers");
    ok(!pool_find_box(broker.pool, "c"), "(there is none)");
    is_int(history_take_over(&broker), OUTCOME_DATABASE_DAMAGED, "no epoch begins");
    is_int(broker_release_unknown(&broker, KEYS_OF_SCHEDULERS, "u", 0, "test"),
           OUTCOME_DATABASE_DAMAGED, "no key is used up");
    box->heard -= 60;
    broker_tick(&broker);
    ok(!box->connected && !box->known_lost && lease->state == LEASE_GRANTED,
       "a box that is silent has no leases that are known to be lost");
    is_int(broker_remove_box(&broker, box, "test"), OUTCOME_IN_USE, "(its leases are there)");
    is_int(broker_box_gone(&broker, box, "test"), OUTCOME_DATABASE_DAMAGED, "it is not gone");
    box->connected = true;
    box->heard = clock_boot_seconds();
    none = lease;
    is_int(broker_end_lease(&broker, &none, "released", "test"), OUTCOME_DATABASE_DAMAGED,
           "no lease ends");
    is_int(lease->state, LEASE_GRANTED, "(it is granted)");
    is_int(broker_problem(&broker), OUTCOME_DATABASE_DAMAGED, "which the broker says");
    broker.storage.broken = false;
    is_int(hear("a", "a1", NULL, NULL), 0, "the next report");
    end(lease);
    is_int((int64_t)broker.pool->lease_count, 0, "finds all as it was");
}

// After a restore a box has leases elsewhere than the database says.
static void test_taken_place(void)
{
    struct pool_lease *lease = granted(1);
    struct pool_hold *hold = &lease->holds[0];
    struct pool_gpu *from = hold->gpu, *to = pool_find_gpu(broker.pool, name_beside(from));
    json_t *list = json_pack("[{s:s, s:s}]", "lease", lease->id, "state", "suspended");

    is_int(broker_take_place(&broker, lease, hold, to, "test"), 0, "a lease is elsewhere");
    ok(hold->gpu == to && hold->held && hold->moved && !hold->target && from->holders == 0 &&
           to->holders == 1,
       "and holds what it has");
    is_int(broker_suspend_lease(&broker, lease, "alice"), 0, "it is suspended");
    is_int(broker_hear_suspensions(&broker, box, list, "box a"), 0, "by its box");
    is_int(broker_take_place(&broker, lease, hold, from, "test"), 0, "elsewhere again");
    ok(hold->gpu == from && !hold->held && hold->aside && !hold->target && from->holders == 0 &&
           to->holders == 0,
       "it holds nothing");
    json_decref(list);
    end(lease);
}

int main(void)
{
    make_directory();
    open_broker();
    register_box("a", "a1", 3);
    hear("a", "a1", NULL, NULL);
    box = pool_find_box(broker.pool, "a");
    test_accepting();
    test_given_back();
    test_cut_off();
    test_rate();
    test_unknown_session();
    test_verdicts();
    test_full_disk();
    test_failed();
    test_faults();
    test_moves();
    test_moved_off();
    test_moved_aside();
    test_taken_place();
    test_refused();
    test_plans();
    test_shown();
    test_replaced();
    test_damaged();
    remove_directory();
    return done();
}
