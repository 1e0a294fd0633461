// SPDX-License-Identifier: BSD-3-Clause
// A link loses its connection in several ways, again and again, and continues over new queue pairs:
// each record arrives once and in order, RDMA operations are repeated as a whole, and memory that
// the client may use again is not written by them.
#include <sched.h>

#include "common/base/scope.h"
#include "common/net/expected_connection.h"
#include "tests/transport/pairs.h"
#include "transport/rdma/rdma_private.h"

enum {
    WAIT_MS = 30000,
    SIZE = 64 << 10, // of a block
    BLOCKS = 8,
    LOSSES = 10,
    RECORDS_MAX = 1 << 30,
};

static const struct link_options options = {.spin_us = 5,
                                            .block_size = SIZE,
                                            .block_count = BLOCKS};
static const uint8_t secret_of_session[TLS_SECRET_BYTES] = "the secret of the session";
static struct pair pair;

static struct rdma_link *end_of(struct link *link)
{
    return (struct rdma_link *)link;
}

// ---- in place of the supervisor ----

static int gate; // listening socket
static _Atomic bool gate_is_shut;
static _Atomic unsigned refused;

static int give_secret(void *argument, const void *identity, size_t size,
                       uint8_t key[TLS_SECRET_BYTES])
{
    memcpy(key, secret_of_session, TLS_SECRET_BYTES);
    return 0;
}

static int take_connection(struct control_stream *stream)
{
    struct control_peer_taken taken = {.magic = CONTROL_MAGIC};
    struct control_peer_hello hello;
    struct control_resume claim;
    uint8_t secret[TLS_SECRET_BYTES];
    int64_t deadline = clock_ms() + WAIT_MS;

    fcntl(stream->fd, F_SETFL, O_NONBLOCK);
    int r = tls_server(stream->fd, give_secret, NULL, false, &stream->tls);
    if (!r)
        r = control_secure(stream, deadline);
    if (!r)
        r = control_expect(stream, CONTROL_PEER_HELLO, &hello, deadline);
    if (!r)
        r = control_send(stream, CONTROL_PEER_TAKEN, &taken, deadline);
    if (!r)
        r = tls_export(stream->tls, secret);
    tls_discard(&stream->tls);
    if (!r)
        r = control_expect(stream, CONTROL_RESUME, &claim, deadline);
    return r ? r : link_resume(pair.worker, 0, &claim, stream, secret);
}

static void *gate_main(void *argument)
{
    for (;;) {
        struct control_stream stream = {.fd = accept4(gate, NULL, NULL, SOCK_CLOEXEC)};
        if (stream.fd < 0)
            return NULL;
        if (gate_is_shut || take_connection(&stream)) {
            close(stream.fd);
            refused++;
        }
    }
}

static uint16_t open_gate(pthread_t *thread)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);

    gate = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (gate < 0 || bind(gate, (struct sockaddr *)&address, size) || listen(gate, 8) ||
        getsockname(gate, (struct sockaddr *)&address, &size) ||
        pthread_create(thread, NULL, gate_main, NULL))
        bail("no gate: %s", strerror(errno));
    return ntohs(address.sin_port);
}

static void survive(uint16_t port, uint32_t timeout_ms)
{
    struct link_reconnect plan = {.timeout_ms = timeout_ms};

    if (link_rdma_survive(pair.worker, &plan))
        bail("link_rdma_survive");
    snprintf(plan.box, sizeof(plan.box), "127.0.0.1:%u", port);
    memcpy(plan.token, secret_of_session, sizeof(plan.token));
    if (link_rdma_survive(pair.client, &plan))
        bail("link_rdma_survive");
    pair.watch[0] = pair.watch[1] = -1;
}

// ---- losses ----

static void fail_pair(struct rdma_link *rdma, enum rdma_channel channel)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    SCOPED_LOCK(&rdma->pairs_lock);
    if (rdma->end.pairs[channel])
        verbs.ibv_modify_qp(rdma->end.pairs[channel], &attr, IBV_QP_STATE);
}

static void disconnect(struct rdma_link *rdma)
{
    SCOPED_LOCK(&rdma->pairs_lock);
    if (rdma->end.ids[RDMA_COMMANDS])
        verbs.rdma_disconnect(rdma->end.ids[RDMA_COMMANDS]);
}

static const char *const ways[] = {"an error of the worker's queue pair",
                                   "an error of the client's queue pair",
                                   "a disconnect of the worker", "a disconnect of the client",
                                   "the end of the session's connection"};
enum { WAYS = sizeof(ways) / sizeof(*ways), OPERATIONS_FAIL = WAYS };

static void lose(unsigned way)
{
    switch (way) {
    case 0: fail_pair(end_of(pair.worker), RDMA_COMMANDS); break;
    case 1: fail_pair(end_of(pair.client), RDMA_COMMANDS); break;
    case 2: disconnect(end_of(pair.worker)); break;
    case 3: disconnect(end_of(pair.client)); break;
    case OPERATIONS_FAIL: fail_pair(end_of(pair.worker), RDMA_BULK); break;
    case 4: shutdown(end_of(pair.client)->watch, SHUT_RDWR); break;
    }
}

static unsigned age_of(struct link *link)
{
    return atomic_load(&end_of(link)->control.age);
}

static bool await_age(unsigned age)
{
    double deadline = seconds_now() + WAIT_MS / 1000.0;

    while (seconds_now() < deadline && !*link_error(pair.worker) && !*link_error(pair.client)) {
        if (age_of(pair.worker) >= age && age_of(pair.client) >= age &&
            !link_reconnecting(pair.worker) && !link_reconnecting(pair.client))
            return true;
        sched_yield();
    }
    return false;
}

// ---- records ----

struct flow {
    struct link *from, *to;
    pthread_t sender, receiver;
    _Atomic uint32_t end; // number of records, once it is known
    _Atomic uint32_t sent, received;
    bool wrong;
};

static uint32_t record_size(uint32_t number)
{
    return number % 97 == 0 ? 16384 : 16 + number % 13 * 8;
}

static void *flow_send(void *argument)
{
    struct flow *flow = argument;

    for (uint32_t i = 1; i <= atomic_load(&flow->end); i++) {
        uint32_t size = record_size(i), *record = link_reserve(flow->from, size);
        if (!record)
            break;
        record[1] = i;
        fill_bytes(record + 2, size - 8, i);
        if (i % 3)
            link_commit(flow->from);
        else
            link_commit_flush(flow->from);
        flow->sent = i;
    }
    link_flush(flow->from);
    return NULL;
}

static void *flow_receive(void *argument)
{
    struct flow *flow = argument;
    static __thread uint32_t record[WIRE_RECORD_MAX / 4];

    while (flow->received < atomic_load(&flow->end) && !flow->wrong) {
        int size = link_receive(flow->to, record, sizeof(record), 200);
        uint32_t number = flow->received + 1;
        if (!size)
            continue;
        flow->wrong = size < 0 || record[1] != number || (uint32_t)size != record_size(number) ||
                      !check_bytes(record + 2, (size_t)size - 8, number);
        flow->received = number;
    }
    return NULL;
}

static void begin_flow(struct flow *flow, struct link *from, struct link *to)
{
    *flow = (struct flow){.from = from, .to = to, .end = RECORDS_MAX};
    if (pthread_create(&flow->sender, NULL, flow_send, flow) ||
        pthread_create(&flow->receiver, NULL, flow_receive, flow))
        bail("no threads");
}

static void end_flow(struct flow *flow, const char *direction)
{
    atomic_store(&flow->end, flow->sent + 100);
    pthread_join(flow->sender, NULL);
    pthread_join(flow->receiver, NULL);
    ok(!flow->wrong && flow->received == flow->sent, "all records to the %s arrive once, in order",
       direction);
    diag("%u records to the %s %s", flow->sent, direction, link_error(flow->to));
}

static void await_records(const struct flow *flow, uint32_t more)
{
    uint32_t until = flow->received + more;
    double deadline = seconds_now() + WAIT_MS / 1000.0;

    while (flow->received < until && !flow->wrong && seconds_now() < deadline)
        sched_yield();
}

static void check_records(void)
{
    struct flow up, down;

    begin_flow(&up, pair.client, pair.worker);
    begin_flow(&down, pair.worker, pair.client);
    for (unsigned i = 0; i < WAYS * 2; i++) {
        await_records(&up, 50 + i * 37);
        await_records(&down, 50 + i * 53);
        unsigned age = age_of(pair.client);
        lose(i % WAYS);
        if (!ok(await_age(age + 1), "the link goes on after %s", ways[i % WAYS]))
            diag("%s; %s", link_error(pair.worker), link_error(pair.client));
    }
    end_flow(&up, "worker");
    end_flow(&down, "client");
}

// While there is no connection, a sender goes on until the ring is full.
static void check_full_ring(void)
{
    struct flow up;
    uint32_t before = UINT32_MAX, record[64];
    unsigned age = age_of(pair.client), seen = refused;

    gate_is_shut = true;
    lose(4);
    while (!link_reconnecting(pair.worker) || !link_reconnecting(pair.client))
        if (link_receive(pair.worker, record, sizeof(record), 10))
            bail("the link ends: %s", link_error(pair.worker));
    begin_flow(&up, pair.client, pair.worker);
    while (refused < seen + 3 || up.sent != before) {
        before = up.sent;
        poll(NULL, 0, 50);
    }
    ok(up.sent > 100 && !up.received, "records gather while there is no connection");
    gate_is_shut = false;
    ok(await_age(age + 1), "which comes back");
    end_flow(&up, "worker");
}

// ---- RDMA operations ----

struct stage {
    uint8_t *local, *remote; // blocks of the worker and of the client
    _Atomic uint32_t *flags; // of the client
    uint32_t key;
    uint64_t flags_remote;
};

static struct stage stage_of(void)
{
    const struct link_staging *mine = shm_memory_staging(pair.staging),
                              *theirs = link_staging(pair.client);
    struct stage stage = {.local = (uint8_t *)mine->base + mine->blocks_offset,
                          .remote = (uint8_t *)theirs->base + theirs->blocks_offset,
                          .flags = (_Atomic uint32_t *)theirs->flags,
                          .flags_remote = (uintptr_t)theirs->flags};

    if (link_expose_staging(pair.client, &stage.key))
        bail("link_expose_staging");
    return stage;
}

static void *block_at(uint8_t *blocks, uint32_t number)
{
    return blocks + (size_t)(number % BLOCKS) * SIZE;
}

static bool holds(const uint8_t *block, uint8_t byte)
{
    for (size_t i = 0; i < SIZE; i++)
        if (block[i] != byte)
            return false;
    return true;
}

static void start(struct link_transfer transfer)
{
    while (link_transfer_start(pair.worker, &transfer) == -EAGAIN)
        sched_yield();
}

// The worker writes block NUMBER and then its flag, as after a copy from the GPU.
static void write_block(const struct stage *stage, uint32_t number)
{
    void *local = block_at(stage->local, number);

    memset(local, (int)(number & 0x7f), SIZE);
    start((struct link_transfer){.write = true,
                                 .local = local,
                                 .size = SIZE,
                                 .remote = (uintptr_t)block_at(stage->remote, number),
                                 .key = stage->key,
                                 .cookie = local});
    start((struct link_transfer){.write = true,
                                 .local = &number,
                                 .size = sizeof(number),
                                 .remote = stage->flags_remote + number % BLOCKS * 4,
                                 .key = stage->key,
                                 .cookie = local});
}

static bool await_transfers(int count)
{
    double deadline = seconds_now() + WAIT_MS / 1000.0;

    while (count > 0 && seconds_now() < deadline) {
        void *cookies[8];
        int r = link_transfer_poll(pair.worker, cookies, 8);
        if (r < 0)
            return false;
        count -= r;
    }
    return count == 0;
}

static bool await_flag(const struct stage *stage, uint32_t number)
{
    double deadline = seconds_now() + WAIT_MS / 1000.0;

    while (stage->flags[number % BLOCKS] != number && seconds_now() < deadline)
        sched_yield();
    return stage->flags[number % BLOCKS] == number;
}

static unsigned descriptors(void)
{
    DIR *list = opendir("/proc/self/fd");
    unsigned count = 0;

    while (list && readdir(list))
        count++;
    if (list)
        closedir(list);
    return count;
}

static unsigned descriptors_before;

enum { OWN = 0xee }; // what the client puts into a block that is its again

static void read_block(const struct stage *stage, uint32_t number)
{
    start((struct link_transfer){.local = block_at(stage->local, number),
                                 .size = SIZE,
                                 .remote = (uintptr_t)block_at(stage->remote, number),
                                 .key = stage->key});
}

// The client has seen the flag of the first block and uses that again, when the connection is lost
// before the worker learns that the write is complete. Data of a read before it may be lost.
static void check_seen(const struct stage *stage)
{
    unsigned age = age_of(pair.client);

    memset(block_at(stage->remote, 3), 3, SIZE);
    read_block(stage, 3);
    write_block(stage, 1);
    ok(await_flag(stage, 1) && holds(block_at(stage->remote, 1), 1), "a block arrives");
    memset(block_at(stage->remote, 1), OWN, SIZE);
    memset(block_at(stage->local, 3), OWN, SIZE);
    lose(1);
    ok(await_age(age + 1), "the connection is lost and made again");
    ok(await_transfers(3), "the operations are complete");
    ok(holds(block_at(stage->remote, 1), OWN),
       "the write was not repeated, as the client had seen its flag");
    ok(holds(block_at(stage->local, 3), 3), "but the read before it");
}

static void check_reads(const struct stage *stage)
{
    bool right = true;

    for (unsigned i = 0; i < LOSSES / 2; i++) {
        unsigned age = age_of(pair.client);
        for (uint32_t n = 0; n < BLOCKS; n++) {
            memset(block_at(stage->remote, n), (int)(i * BLOCKS + n), SIZE);
            memset(block_at(stage->local, n), OWN, SIZE);
            read_block(stage, n);
        }
        lose(i % WAYS);
        right = right && await_age(age + 1) && await_transfers(BLOCKS);
        for (uint32_t n = 0; n < BLOCKS; n++)
            right = right && holds(block_at(stage->local, n), (uint8_t)(i * BLOCKS + n));
    }
    ok(right, "what is read while the connection is lost is right");
}

struct consumer {
    const struct stage *stage;
    _Atomic uint32_t taken;
    _Atomic bool ends, wrong;
};

// Takes each block when its flag is there, and uses its memory again.
static void *consume_main(void *argument)
{
    struct consumer *consumer = argument;
    const struct stage *stage = consumer->stage;

    for (uint32_t number = 2; !consumer->ends; number++) {
        while (stage->flags[number % BLOCKS] != number && !consumer->ends)
            sched_yield();
        if (consumer->ends)
            break;
        consumer->wrong |= !holds(block_at(stage->remote, number), number & 0x7f);
        memset(block_at(stage->remote, number), OWN, SIZE);
        for (uint32_t back = 1; back < BLOCKS / 2 && number >= back + 2; back++)
            consumer->wrong |= !holds(block_at(stage->remote, number - back), OWN);
        consumer->taken = number;
    }
    return NULL;
}

// The client takes blocks later than they come, and the worker does not overtake it.
static void write_in_turn(const struct consumer *consumer, uint32_t number)
{
    while (number > consumer->taken + BLOCKS / 2 && !consumer->wrong)
        sched_yield();
    write_block(consumer->stage, number);
}

static void check_writes(const struct stage *stage)
{
    struct consumer consumer = {.stage = stage, .taken = 1};
    pthread_t thread;
    uint32_t number = 2;
    bool complete = true;

    if (pthread_create(&thread, NULL, consume_main, &consumer))
        bail("no thread");
    for (unsigned i = 0; i < LOSSES; i++) {
        unsigned age = age_of(pair.client);
        for (unsigned n = 0; n < 20 && complete; n += 2) {
            write_in_turn(&consumer, number++);
            write_in_turn(&consumer, number++);
            if (n == 2 * i % 20)
                lose(i % (WAYS + 1));
            complete = await_transfers(4);
        }
        complete = complete && await_age(age + 1);
    }
    ok(complete && await_flag(stage, number - 1), "all operations end, over %d losses", LOSSES);
    while (complete && consumer.taken != number - 1 && !consumer.wrong)
        sched_yield();
    consumer.ends = true;
    pthread_join(thread, NULL);
    ok(!consumer.wrong, "each block arrives, and none is written after its flag was seen");
}

// As in a session, threads receive at both ends.
static void *attend_main(void *argument)
{
    uint32_t record[64];

    while (!link_receive(argument, record, sizeof(record), -1))
        ;
    return NULL;
}

static void check_operations(void)
{
    struct stage stage = stage_of();
    pthread_t attending[2];

    if (pthread_create(&attending[0], NULL, attend_main, pair.worker) ||
        pthread_create(&attending[1], NULL, attend_main, pair.client))
        bail("no threads");
    check_seen(&stage);
    check_writes(&stage);
    check_reads(&stage);
    is_int(descriptors(), descriptors_before, "as many descriptors are open as before");
    link_shutdown(pair.worker);
    link_shutdown(pair.client);
    for (int i = 0; i < 2; i++)
        pthread_join(attending[i], NULL);
}

// ---- ends ----

static void check_end(uint16_t port)
{
    uint32_t record[64];

    pair = pair_open(pair_kind_named("rdma"), &options);
    survive(port, 500);
    gate_is_shut = true;
    lose(4);
    is_int(link_receive(pair.worker, record, sizeof(record), -1), -EPIPE,
           "a connection that does not come back ends the link of the worker");
    ok(link_receive(pair.client, record, sizeof(record), -1) < 0, "and that of the client");
    is_str(link_error(pair.client), "the peer has gone", "with the usual words");
    gate_is_shut = false;
    pair_close(&pair);
    pair = pair_open(pair_kind_named("rdma"), &options);
    survive(port, 3600000);
    link_goodbye(pair.client);
    link_free(&pair.client);
    is_int(link_receive(pair.worker, record, sizeof(record), -1), -EPIPE,
           "a client that leaves is not waited for");
    pair_close(&pair);
}

int main(void)
{
    pthread_t thread;
    uint16_t port = open_gate(&thread);

    pair = pair_open(pair_kind_named("rdma"), &options);
    survive(port, WAIT_MS);
    descriptors_before = descriptors();
    check_records();
    check_full_ring();
    check_operations();
    ok(age_of(pair.client) >= 2 * WAYS + 1 + LOSSES + LOSSES / 2 + 1,
       "the connection was lost often");
    pair_close(&pair);
    check_end(port);
    shutdown(gate, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(gate);
    return done();
}
