// SPDX-License-Identifier: BSD-3-Clause
// The core over its database: idempotence, ends that boxes confirm, absence, and restarts.
#include "tests/broker/broker_sample.h"

static void test_idempotence(void)
{
    struct pool_lease *first, *second, *other;
    char id[POOL_NAME_MAX];

    is_int(acquire("job/1", 1, false, false, &first), 0, "a key acquires");
    strcpy(id, first->id);
    is_int(acquire("job/1", 1, false, false, &second), 0, "again");
    ok(first == second, "the same lease");
    is_int(acquire("job/1", 2, false, false, &other), OUTCOME_KEY_REUSED,
           "but not for another request");
    restart();
    register_box("a", "i1", 3);
    hear("a", "i1", NULL, NULL);
    is_int(acquire("job/1", 1, false, false, &second), 0, "after a restart too");
    is_str(second->id, id, "the same lease");
    is_int(broker_end_lease(&broker, &second, "released", "test"), 0, "it is released");
    ok(!second, "at once, for no box has heard of it");
    is_int(acquire("job/1", 1, false, false, &second), OUTCOME_ENDED,
           "its key gives nothing any more");
    is_int(broker_release_unknown(&broker, KEYS_OF_SCHEDULERS, "job/2", 0, "test"), 0,
           "a release overtakes its acquire");
    is_int(broker_release_unknown(&broker, KEYS_OF_SCHEDULERS, "job/2", 0, "test"), 0, "twice");
    restart();
    register_box("a", "i1", 3);
    hear("a", "i1", NULL, NULL);
    is_int(acquire("job/2", 1, false, false, &second), OUTCOME_ENDED, "which then gets nothing");
}

static int acquire_as(int64_t key_owner, uid_t owner, struct pool_lease **lease)
{
    struct acquire acquire = {.key = "slurm/c/7/1",
                              .key_owner = key_owner,
                              .actor = "test",
                              .owner = owner,
                              .request = sample_request(1, GPU_EXCLUSIVE, 0)};

    return broker_acquire(&broker, &acquire, lease);
}

static void test_keys_have_owners(void)
{
    struct pool_lease *squatted, *slurms, *found;

    is_int(acquire_as(1000, 1000, &squatted), 0, "a user takes a lease under a key of Slurm's");
    is_int(acquire_as(KEYS_OF_SCHEDULERS, 1000, &slurms), 0, "Slurm's own request is granted");
    ok(slurms != squatted, "another lease");
    is_int(acquire_as(1000, 1000, &found), 0, "the user");
    ok(found == squatted, "still has his own");
    is_int(broker_end_lease(&broker, &squatted, "released", "test"), 0, "the user's one ends");
    is_int(broker_release_unknown(&broker, 1001, "slurm/c/7/1", 1001, "test"), 0,
           "another user poisons the key");
    is_int(acquire_as(KEYS_OF_SCHEDULERS, 1000, &found), 0, "Slurm");
    ok(found == slurms, "does not notice");
    restart();
    register_box("a", "i1", 3);
    hear("a", "i1", NULL, NULL);
    is_int(acquire_as(1000, 1000, &found), OUTCOME_ENDED,
           "after a restart the user's key is still used up");
    is_int(acquire_as(KEYS_OF_SCHEDULERS, 1000, &found), 0, "and Slurm's lease lives");
    is_int(broker_end_lease(&broker, &found, "released", "test"), 0, "(released)");
}

// The database was restored from a copy that was made before the lease's first ticket.
static void test_ticket_in_the_lost_part(void)
{
    struct pool_lease *lease;

    is_int(acquire("job/lost", 1, false, false, &lease), 0, "a lease has no ticket");
    is_int(history_take_over(&broker), 0, "an epoch begins in which a box may serve it");
    is_int(broker_end_lease(&broker, &lease, "released", "test"), 0, "it is released");
    ok(lease && lease->state == LEASE_ENDING, "and ends when its box has confirmed that");
    register_box("a", "i1", 3);
    hear("a", "i1", NULL, lease ? lease->id : NULL);
    ok(!pool_find_key(broker.pool, KEYS_OF_SCHEDULERS, "job/lost"), "which the box does");
}

// A restored copy says so by its last event.
static void test_restored(void)
{
    struct store_event event = {.kind = HISTORY_RESTORED, .actor = "test"};
    struct pool_lease *lease;

    restart();
    ok(!broker.lost, "a database that was not restored has lost nothing");
    if (store_begin(broker.store) || store_add_event(broker.store, 1, &event) ||
        store_commit(broker.store))
        bail("no event");
    restart();
    ok(broker.lost, "one that was restored has");
    register_box("a", "i1", 3);
    hear("a", "i1", NULL, NULL);
    is_int(acquire("job/after", 1, false, false, &lease), 0, "a lease is granted");
    is_int(broker_end_lease(&broker, &lease, "released", "test"), 0, "and released");
    restart();
    ok(!broker.lost, "then the restored state is behind");
    register_box("a", "i1", 3);
    hear("a", "i1", NULL, NULL);
}

static int register_with(int64_t epoch, const char *run, int64_t event)
{
    return register_seen("a", "i1", 3,
                         json_pack("{s:I, s:s, s:I}", "epoch", (json_int_t)epoch, "run", run,
                                   "event", (json_int_t)event));
}

// A box that lies about what it has seen begins one epoch for each start of the broker.
static void test_few_epochs(void)
{
    int64_t epoch = broker.epoch;

    register_box("a", "i1", 3);
    is_int(register_with(epoch, broker.run, broker.last_event), 0, "a box has seen what there is");
    is_int(register_with(epoch, broker.run, broker.last_event + 1000), 0, "or what there is not");
    is_int(register_with(epoch, "deadbeef", 1), 0, "or another run");
    is_int(register_with(epoch + 1, broker.run, 1), 0, "or a later epoch");
    is_int(broker.epoch, epoch, "which it cannot have from this process");
    restart();
    is_int(register_with(epoch, broker.run, broker.last_event), 0, "after a restart it may have");
    is_int(broker.epoch, epoch, "seen what there is");
    restart();
    is_int(register_with(epoch, broker.run, broker.last_event + 1), 0, "or what is lost");
    ok(broker.epoch > epoch && broker.lost, "which begins an epoch");
    epoch = broker.epoch;
    is_int(register_with(epoch + 1000, "deadbeef", 2), 0, "another loss");
    is_int(broker.epoch, epoch, "is no news");
    is_int(register_with(epoch, "0123456789abcdef0123456789abcdef0", 1), OUTCOME_BAD_REQUEST,
           "a run has a name of 32 letters");
    hear("a", "i1", NULL, NULL);
}

// The epochs from which on the box takes tickets of earlier epochs, separated by spaces.
static const char *live_leases(void)
{
    static char text[200];
    json_t *answer = json_object(), *epochs;

    history_put_leases(&broker, pool_find_box(broker.pool, "a"), answer);
    epochs = json_object_get(answer, "lease_epochs");
    is_int(json_array_size(json_object_get(answer, "leases")), json_array_size(epochs),
           "each lease has its epoch");
    *text = '\0';
    for (size_t i = 0; i < json_array_size(epochs); i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%lld", i ? " " : "",
                 (long long)json_integer_value(json_array_get(epochs, i)));
    json_decref(answer);
    return text;
}

// In a lost part of the history a request that waits may have been granted other GPUs, for which
// its user has tickets.
static void test_granted_in_the_lost_part(void)
{
    struct pool_lease *first, *waiting;
    char since[24];

    is_int(acquire("job/first", 2, false, false, &first), 0, "a lease is granted");
    is_int(acquire("job/waiting", 2, true, false, &waiting), 0, "another waits");
    snprintf(since, sizeof(since), "%lld", (long long)broker.epoch);
    first->granted = broker.epoch;
    is_int(history_take_over(&broker), 0, "an epoch begins");
    is_int(history_take_over(&broker), 0, "and another");
    is_str(live_leases(), since,
           "in which the box takes the tickets of the first one since the epoch of its grant");
    register_box("a", "i1", 3);
    hear("a", "i1", NULL, NULL);
    is_int(broker_end_lease(&broker, &first, "released", "test"), 0, "that is released");
    hear("a", "i1", NULL, first->id);
    is_int(waiting->state, LEASE_GRANTED, "then the other one is granted");
    waiting->granted = broker.epoch; // which may be ahead of the clock, after several in a second
    snprintf(since, sizeof(since), "%lld", (long long)broker.epoch);
    is_str(live_leases(), since, "of which the box takes no tickets of earlier epochs");
    is_int(broker_end_lease(&broker, &waiting, "released", "test"), 0, "(released)");
    hear("a", "i1", NULL, waiting ? waiting->id : NULL);
}

static void test_ticket_lifetimes(void)
{
    struct pool_lease *lease;
    char *bundle = NULL;

    is_int(acquire(NULL, 1, false, false, &lease), 0, "a lease");
    is_int(broker_issue_ticket(&broker, lease, NULL, 7200, "test", &bundle), 0,
           "a ticket of the longest lifetime");
    free(bundle);
    is_int(broker_issue_ticket(&broker, lease, NULL, 7201, "test", &bundle), OUTCOME_TOO_LONG,
           "not longer");
    is_int(broker_issue_ticket(&broker, lease, NULL, INT64_MAX, "test", &bundle), OUTCOME_TOO_LONG,
           "nor much");
    is_int(broker_issue_ticket(&broker, lease, NULL, -1, "test", &bundle), OUTCOME_TOO_LONG,
           "nor before now");
    is_int(broker_write_ticket(&broker, lease, NULL, clock_wall_seconds() + 10000, &bundle),
           OUTCOME_TOO_LONG, "whichever way it is written");
    ok(lease->ticket_until <= clock_wall_seconds() + 7200, "boxes are never told of a later end");
    is_int(broker_end_lease(&broker, &lease, "released", "test"), 0, "(released)");
    hear("a", "i1", NULL, lease->id);
}

// A ticket says all that its box must know of the lease.
static void test_ticket_contents(void)
{
    json_t *asked = json_pack("{s:s}", "job", "job 7");
    struct acquire wanted = {.actor = "test",
                             .owner = 1000,
                             .asked = asked,
                             .request = sample_request(2, GPU_EXCLUSIVE, 0)};
    struct ticket_keyring ring;
    struct ticket_check check = {.ring = &ring, .box = "a", .now = clock_wall_seconds()};
    struct ticket_bundle bundle;
    struct pool_lease *lease;
    struct ticket ticket;
    uint8_t secret[SHA256_SIZE];
    char *text = NULL, long_name[600];

    memset(long_name, 'x', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    is_int(broker_acquire(&broker, &wanted, &lease), 0, "a lease has two GPUs of a box");
    is_int(broker_issue_ticket(&broker, lease, NULL, 0, "test", &text), 0, "and a ticket");
    if (ticket_bundle_parse(text, strlen(text), &bundle))
        bail("no bundle");
    is_int((int64_t)bundle.count, 1, "for the box, once");
    ticket_keyring_derive(&broker.keys, "a", &ring);
    is_int(ticket_recompute(&check, bundle.entries[0].token, bundle.entries[0].public_size, secret,
                            &ticket),
           0, "the box reads it");
    ok(!strcmp(ticket.job, "job 7") && ticket.owner == 1000 && ticket.gpu_count == 2,
       "it names job, owner and GPUs");
    ok(!strcmp(ticket.addresses, "h:1") && !strcmp(ticket.box, "a"), "and where the box is");
    for (uint32_t i = 0; i < 2; i++)
        ok(ticket.gpus[i].index == i && ticket.gpus[i].ordinal == i &&
               !strcmp(ticket.gpus[i].uuid, lease->holds[i].gpu->uuid) &&
               ticket.gpus[i].mode == TICKET_EXCLUSIVE,
           "GPU %u", i);
    ok(ticket.expires >= clock_wall_seconds() + 3500 && ticket.epoch == broker.epoch, "and when");
    is_int(broker_end_lease(&broker, &lease, "released", "test"), 0, "(released)");
    hear("a", "i1", NULL, lease->id);
    json_object_set_new(asked, "job", json_string(long_name));
    is_int(broker_acquire(&broker, &wanted, &lease), OUTCOME_BAD_REQUEST, "a name may be too long");
    json_decref(asked);
    ticket_bundle_free(&bundle);
    free(text);
}

static void test_confirmed_end(void)
{
    struct pool_lease *both, *next;
    char id[POOL_NAME_MAX];
    json_t *orders, *none = json_array();

    is_int(acquire(NULL, 2, false, true, &both), 0, "both GPUs are granted");
    strcpy(id, both->id);
    is_int(hear("a", "i1", id, NULL), 0, "the box runs a session of it");
    is_int(broker_end_lease(&broker, &both, "released", "test"), 0, "it is released");
    ok(both && both->state == LEASE_ENDING, "but not over before the box says so");
    is_int(acquire(NULL, 1, false, false, &next), OUTCOME_BUSY, "its GPUs are not granted again");
    orders = broker_revocations(&broker, pool_find_box(broker.pool, "a"), none, NULL, NULL);
    is_str(json_string_value(json_object_get(json_array_get(orders, 0), "reason")), "released",
           "the box gets the reason of the end");
    ok(json_integer_value(json_object_get(json_array_get(orders, 0), "until")) ==
           both->ticket_until,
       "and until when to refuse the lease");
    json_decref(orders);
    orders = broker_revocations(&broker, pool_find_box(broker.pool, "a"), none, NULL, NULL);
    is_int(json_array_size(orders), 1, "the box is told");
    is_int(hear("a", "i1", id, id), 0, "a box that still runs it");
    is_int(acquire(NULL, 1, false, false, &next), OUTCOME_BUSY, "is not believed");
    ok(pool_find_lease(broker.pool, id), "the lease is not over");
    restart();
    register_box("a", "i1", 3);
    hear("a", "i1", id, NULL);
    is_int(acquire(NULL, 1, false, false, &next), OUTCOME_BUSY, "nor does a restart forget it");
    is_int(acquire("waiting", 1, true, false, &next), 0, "somebody waits");
    ok(next->state == LEASE_QUEUED, "in the queue");
    is_int(hear("a", "i1", NULL, id), 0, "the box has ended the sessions");
    ok(next->state == LEASE_GRANTED, "who waited gets the GPU");
    is_int(broker_end_lease(&broker, &next, "released", "test"), 0, "and gives it back");
    json_decref(orders);
    json_decref(none);
}

static void test_absence(void)
{
    struct pool_lease *lease, *next;
    struct pool_box *box;
    char id[POOL_NAME_MAX];

    is_int(acquire("absent", 2, false, true, &lease), 0, "a lease");
    strcpy(id, lease->id);
    box = pool_find_box(broker.pool, "a");
    box->heard -= 60;
    broker_tick(&broker);
    is_int(lease->state, LEASE_LOST, "its box falls silent: the lease is lost");
    restart();
    lease = pool_find_lease(broker.pool, id);
    is_int(lease->state, LEASE_LOST, "also after a restart");
    is_int(acquire(NULL, 1, false, false, &next), OUTCOME_BUSY, "its GPUs stay with it");
    is_int(register_box("a", "i2", 3), 0, "the box comes back, started anew");
    is_int(hear("a", "i1", NULL, NULL), OUTCOME_UNREGISTERED,
           "reports of its former self do not count");
    is_int(hear("a", "i2", NULL, NULL), 0, "its own do");
    is_int(lease->state, LEASE_GRANTED, "the lease is as before");
    is_int(register_box("a", "i3", 1), 0, "it comes back with one GPU less");
    is_int(lease->state, LEASE_ENDING, "which ends the lease");
    is_int(hear("a", "i3", NULL, id), 0, "and the box confirms");
    ok(!pool_find_lease(broker.pool, id), "it is over");
    is_int(acquire(NULL, 2, false, false, &next), OUTCOME_BUSY, "the missing GPU is not granted");
    is_int(register_box("a", "i4", 3), 0, "the GPU is back");
    is_int(hear("a", "i4", "Lforeign", NULL), 0, "with a session that nobody knows");
    is_int(acquire(NULL, 1, false, false, &next), OUTCOME_BUSY, "nothing is granted beside that");
    is_int(hear("a", "i4", NULL, NULL), 0, "until it has ended");
    is_int(acquire(NULL, 2, false, true, &next), 0, "then all is");
}

static void test_gone(void)
{
    struct pool_box *box = pool_find_box(broker.pool, "a");
    struct pool_lease *next;

    is_int(broker_box_gone(&broker, box, "test"), OUTCOME_CONNECTED,
           "a box that is there is not gone");
    box->heard -= 60;
    broker_tick(&broker);
    is_int(broker_remove_box(&broker, box, "test"), OUTCOME_IN_USE,
           "one with leases is not removed");
    is_int(broker_box_gone(&broker, box, "test"), 0, "an absent one is, if the administrator says");
    is_int(broker.pool->lease_count, 0, "its leases are over");
    is_int(register_box("a", "i5", 3), 0, "it may come back");
    hear("a", "i5", NULL, NULL);
    is_int(acquire(NULL, 2, false, false, &next), 0, "and be granted");
    is_int(register_box("b", "j1", 0), 0, "another box");
    is_int(hear("b", "j1", NULL, NULL), 0, "reports");
    pool_find_box(broker.pool, "b")->connected = false;
    is_int(broker_remove_box(&broker, pool_find_box(broker.pool, "b"), "test"), 0, "is removed");
    restart();
    ok(!pool_find_box(broker.pool, "b"), "for good");
}

// The box that was gone comes back while another box of the lease has not confirmed its end.
static void test_gone_before_the_end(void)
{
    struct pool_lease *lease;
    json_t *revoked;

    register_box("a", "i6", 3);
    hear("a", "i6", NULL, NULL);
    TAILQ_FOREACH(lease, &broker.pool->leases, all)
        if (lease->state == LEASE_GRANTED)
            break;
    is_int(broker_end_lease(&broker, &lease, "released", "test"), 0, "all GPUs are free");
    register_box("b", "j2", 2);
    hear("b", "j2", NULL, NULL);
    is_int(acquire(NULL, 4, false, true, &lease), 0, "a lease of two boxes has a ticket");
    is_int(broker_end_lease(&broker, &lease, "released", "test"), 0, "it is to end");
    pool_find_box(broker.pool, "b")->connected = false;
    is_int(broker_box_gone(&broker, pool_find_box(broker.pool, "b"), "test"), 0, "one box is gone");
    is_int(lease->state, LEASE_ENDING, "the other has not confirmed");
    is_int(register_box("b", "j3", 2), 0, "the box comes back");
    revoked = store_revocations(broker.store, "b", 0, broker.epoch, 0);
    is_int((int64_t)json_array_size(revoked), 1, "and must refuse one lease");
    is_str(json_string_value(json_object_get(json_array_get(revoked, 0), "lease")), lease->id,
           "whose ticket is valid");
    json_decref(revoked);
    is_int(hear("a", "i6", NULL, lease->id), 0, "the other box confirms");
    is_int(broker.pool->lease_count, 0, "the lease is over");
    is_int(acquire(NULL, 2, false, false, &lease), 0, "and its GPUs are granted");
    is_int(broker_end_lease(&broker, &lease, "released", "test"), 0, "(released)");
    pool_find_box(broker.pool, "b")->connected = false;
    is_int(broker_remove_box(&broker, pool_find_box(broker.pool, "b"), "test"), 0, "(removed)");
}

static size_t events_of(const char *kind)
{
    json_t *events = store_events(broker.store, 0, 10000), *event;
    size_t count = 0, i;

    json_array_foreach(events, i, event)
        count += !strcmp(json_string_value(json_object_get(event, "kind")), kind);
    json_decref(events);
    return count;
}

static int register_from(const char *addresses)
{
    const char *why;
    json_t *body = json_pack("{s:s, s:s, s:[]}", "instance", "x", "addresses", addresses, "gpus");
    int error = broker_register(&broker, "a", body, "test", &why);

    json_decref(body);
    return error;
}

static void test_impostor(void)
{
    is_int(register_from("other:1"), OUTCOME_TAKEN, "another host has the key of a box");
    is_int(register_from("other:1"), OUTCOME_TAKEN, "and tries again");
    is_int(events_of("box.refused"), 1, "one event says so");
    ok(pool_find_box(broker.pool, "a")->impostor, "and the box");
    pool_find_box(broker.pool, "a")->hung_up = true;
    is_int(register_from("other:1"), 0, "a box whose connection is closed may have moved");
    pool_find_box(broker.pool, "a")->written = 0;
    pool_find_box(broker.pool, "a")->hung_up = true;
    is_int(register_box("a", "i7", 3), 0, "(it moves back)");
    ok(!pool_find_box(broker.pool, "a")->impostor && !pool_find_box(broker.pool, "a")->hung_up,
       "it is there, and alone");
    hear("a", "i7", NULL, NULL);
}

static void test_modes(void)
{
    struct pool_gpu *gpu = pool_find_gpu(broker.pool, "a-0");
    struct pool_lease *lease;
    size_t before = events_of("gpu.mode");

    is_int(broker_set_mode(&broker, gpu, GPU_EXCLUSIVE, false, "test"), 0, "the mode that it has");
    is_int(events_of("gpu.mode"), before, "is no change");
    is_int(broker_set_mode(&broker, gpu, GPU_SHARED, false, "test"), 0, "another mode");
    is_int(gpu->mode, GPU_SHARED, "holds");
    is_int(broker_set_mode(&broker, gpu, GPU_EXCLUSIVE, true, "test"), 0, "an automatic mode");
    ok(gpu->mode == GPU_SHARED && gpu->automatic, "begins with the present one");
    is_int(acquire(NULL, 2, false, true, &lease), 0, "a lease takes it");
    is_int(broker_set_mode(&broker, gpu, GPU_SHARED, false, "test"), OUTCOME_IN_USE,
           "a GPU in use keeps its mode");
    is_int(broker_set_mode(&broker, gpu, GPU_EXCLUSIVE, false, "test"), 0, "which may be fixed");
    ok(!gpu->automatic, "for good");
    is_int(broker_end_lease(&broker, &lease, "released", "test"), 0, "(released)");
    is_int(hear("a", "i7", NULL, lease->id), 0, "(confirmed)");
    restart();
    gpu = pool_find_gpu(broker.pool, "a-0");
    ok(gpu->mode == GPU_EXCLUSIVE && !gpu->automatic, "also after a restart");
    register_box("a", "i7", 3);
    hear("a", "i7", NULL, NULL);
    is_int(acquire(NULL, 2, false, false, &lease), 0, "and can be had");
}

static void test_time(void)
{
    struct pool_lease *lease;
    struct acquire acquire_short = {
        .actor = "test", .owner = 1, .lifetime = 100, .request = sample_request(1, GPU_SHARED, GB)};
    int64_t expires;

    register_box("a", "i6", 3);
    hear("a", "i6", NULL, NULL);
    is_int(broker_acquire(&broker, &acquire_short, &lease), 0, "a lease of 100 s");
    expires = lease->expires;
    broker.wall_minus_steady -= 1000;
    broker_tick(&broker);
    ok(lease->expires == expires + 1000 && broker.pool->lease_count == 2,
       "the wall clock jumps forward: the lease lives on");
    broker.wall_minus_steady += 5000;
    broker_tick(&broker);
    ok(lease->expires == expires - 4000 && broker.pool->lease_count == 2,
       "backward: it ends no later");
    is_int(broker_renew(&broker, lease, 200, "test"), 0, "it is renewed");
    ok(lease->expires >= expires + 99, "from now on");
    lease->deadline = clock_boot_seconds() - 1;
    broker_tick(&broker);
    is_int(broker.pool->lease_count, 1, "when its time is up, it ends");
}

// If the broker was stopped, or its host slept, no client counts as silent for that time.
static void test_own_absence(void)
{
    struct acquire acquire_short = {
        .actor = "test", .owner = 1, .lifetime = 100, .request = sample_request(1, GPU_SHARED, GB)};
    struct pool_box *box = pool_find_box(broker.pool, "a");
    struct pool_lease *lease;
    double heard;

    is_int(broker_acquire(&broker, &acquire_short, &lease), 0, "a lease that is renewed in time");
    broker_tick(&broker);
    box->heard = heard = clock_boot_seconds() - 5;
    broker.last_tick -= 30;
    lease->deadline = clock_boot_seconds() - 1;
    box->heard -= 30;
    broker_tick(&broker);
    ok(box->connected && !box->known_lost, "a box is not lost for the broker's own absence");
    ok(box->heard > heard - 1 && box->heard < heard + 3, "but is as late as it was before");
    is_int(broker.pool->lease_count, 2, "nor does a lease end that nobody could renew meanwhile");
    lease->deadline = clock_boot_seconds() - 1;
    box->heard = clock_boot_seconds() - 60;
    broker_tick(&broker);
    is_int(broker.pool->lease_count, 1, "later it does");
    ok(!box->connected, "and a box that is silent itself is lost");
}

int main(void)
{
    make_directory();
    open_broker();
    if (register_box("a", "i1", 3) || hear("a", "i1", NULL, NULL))
        bail("no box");
    test_idempotence();
    test_keys_have_owners();
    test_ticket_in_the_lost_part();
    test_granted_in_the_lost_part();
    test_restored();
    test_few_epochs();
    test_ticket_lifetimes();
    test_ticket_contents();
    test_confirmed_end();
    test_absence();
    test_gone();
    test_gone_before_the_end();
    test_impostor();
    test_modes();
    test_time();
    test_own_absence();
    remove_directory();
    return done();
}
