// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into clients and workers: moves queue pairs to the error state before a message is
// posted, right after that, and when its completion was there, for messages of every kind. The file
// that CUT_VERBS names is shared by all of them and counts (struct table). cut_campaign.py makes it
// and reads it. A kind that lacks a cut in one of the places gets that first; others are cut at
// random.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum place { BEFORE, INSIDE, AFTER, PLACES };
enum { ROWS = 4096, EVENTS = 2048, OTHERS = 3072, RECORD_MAX = 72 * 1024, HEAD = 24 };
enum { RANDOMLY = 400, PAUSE_MS = 100 };
// Kinds beside requests and events; those of the worker follow those of the client.
enum other { PAYLOAD, CREDIT, KEEPALIVE, READ, WRITE, WRITE_FLAG, READ_FLAG, OTHER_KINDS };

struct table {
    _Atomic uint32_t cuts, wanted;
    struct row {
        _Atomic uint32_t seen, cuts[PLACES];
    } rows[ROWS];
};

static struct table *table;
static bool is_worker;
static int (*real_post)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
static int (*real_poll)(struct ibv_cq *, int, struct ibv_wc *);
static int (*modify)(struct ibv_qp *, struct ibv_qp_attr *, int);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of the following
static uint64_t quiet_until;
static unsigned randomness;
static struct {
    bool waits;
    unsigned row;
    uint64_t id;
    // A copy, as the pair may be gone when its last completions are polled.
    union {
        struct ibv_qp pair;
        uint8_t room[1024];
    };
} after;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("CUT_VERBS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *at = fd < 0 ? MAP_FAILED
                      : mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd >= 0)
        close(fd);
    table = at == MAP_FAILED ? NULL : at;
    is_worker = !strcmp(program_invocation_short_name, "rgpu-worker");
    randomness = (unsigned)getpid();
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void end_pair(struct ibv_qp *pair)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    modify(pair, &attr, IBV_QP_STATE);
}

static uint32_t least(const struct row *row)
{
    uint32_t count = UINT32_MAX;

    for (int place = 0; place < PLACES; place++)
        if (row->cuts[place] < count)
            count = row->cuts[place];
    return count;
}

static unsigned other_row(enum other kind)
{
    return OTHERS + (is_worker ? OTHER_KINDS : 0) + kind;
}

// Counts the records of a message. Returns the row of that which was cut least.
static unsigned records_row(const struct ibv_sge *part)
{
    const uint8_t *at = (const uint8_t *)(uintptr_t)part->addr, *end = at + part->length;
    unsigned found = other_row(PAYLOAD);
    uint32_t best = UINT32_MAX;

    while (end - at >= HEAD) {
        uint32_t size;
        uint16_t number;
        memcpy(&size, at, sizeof(size));
        memcpy(&number, at + 4, sizeof(number));
        unsigned row = number + (is_worker ? EVENTS : 0);
        if (size < HEAD || size % 8 || size > (uint32_t)(end - at) || !number ||
            number >= (is_worker ? 64 : EVENTS))
            break; // of a payload
        table->rows[row].seen++;
        if (least(&table->rows[row]) < best) {
            best = least(&table->rows[row]);
            found = row;
        }
        at += size;
    }
    if (best == UINT32_MAX)
        table->rows[found].seen++;
    return found;
}

static unsigned row_of(const struct ibv_send_wr *send)
{
    uint32_t size = send->num_sge ? send->sg_list->length : 0;
    enum other kind;

    if (send->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && size)
        return records_row(send->sg_list);
    if (send->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
        kind = CREDIT;
    else if (send->opcode == IBV_WR_RDMA_READ)
        kind = size > 8 ? READ : READ_FLAG;
    else
        kind = size > 8 ? WRITE : size ? WRITE_FLAG : KEEPALIVE;
    unsigned row = other_row(kind);
    table->rows[row].seen++;
    return row;
}

// Under lock. Returns the place at which the message is cut, or PLACES.
static enum place choose(struct row *row)
{
    enum place place = BEFORE;

    if (after.waits || now_ms() < quiet_until)
        return PLACES;
    if (least(row))
        return table->cuts < table->wanted && rand_r(&randomness) % RANDOMLY == 0
                   ? (enum place)(rand_r(&randomness) % PLACES)
                   : PLACES;
    while (row->cuts[place])
        place++;
    return place;
}

// Under lock.
static void note(unsigned row, enum place place)
{
    table->rows[row].cuts[place]++;
    table->cuts++;
    after.waits = false;
    quiet_until = now_ms() + (uint64_t)rand_r(&randomness) % PAUSE_MS;
}

static int cut_post(struct ibv_qp *pair, struct ibv_send_wr *send, struct ibv_send_wr **bad)
{
    pthread_mutex_lock(&lock);
    unsigned row = row_of(send);
    enum place place = choose(&table->rows[row]);
    if (place == BEFORE)
        end_pair(pair);
    if (place == AFTER) {
        send->send_flags |= IBV_SEND_SIGNALED;
        after.waits = true;
        after.row = row;
        after.id = send->wr_id;
        after.pair = *pair;
    }
    int r = real_post(pair, send, bad);
    if (place == INSIDE)
        end_pair(pair);
    if (place == BEFORE || place == INSIDE)
        note(row, place);
    pthread_mutex_unlock(&lock);
    return r;
}

static int cut_poll(struct ibv_cq *queue, int room, struct ibv_wc *completions)
{
    int count = real_poll(queue, room, completions);

    if (count <= 0)
        return count;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count && after.waits; i++) {
        const struct ibv_wc *wc = &completions[i];
        bool ours = wc->qp_num == after.pair.qp_num;
        if (ours && wc->status != IBV_WC_SUCCESS) {
            after.waits = false;
        } else if (ours && !(wc->opcode & IBV_WC_RECV) && wc->wr_id == after.id) {
            end_pair(&after.pair);
            note(after.row, AFTER);
        }
    }
    pthread_mutex_unlock(&lock);
    return count;
}

__attribute__((visibility("default"))) struct ibv_context *
ibv_open_device(struct ibv_device *device)
{
    void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);
    struct ibv_context *(*open_device)(struct ibv_device *) =
        (__typeof__(open_device))dlsym(library, "ibv_open_device");
    struct ibv_context *context = open_device(device);

    if (!context || !table)
        return context;
    modify = (__typeof__(modify))dlsym(library, "ibv_modify_qp");
    real_post = context->ops.post_send;
    real_poll = context->ops.poll_cq;
    context->ops.post_send = cut_post;
    context->ops.poll_cq = cut_poll;
    return context;
}
