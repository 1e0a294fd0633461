// SPDX-License-Identifier: BSD-3-Clause
// Connected pairs of links of every transport, so that one list of behaviours is run against all:
//
//     for (size_t i = 0; i < PAIR_KINDS; i++) {
//         struct pair pair = pair_open(&pair_kinds[i], NULL);
//         ...
//         ok(..., "%s: ...", pair.name);
//         pair_close(&pair);
//     }
#ifndef RGPU_TESTS_TRANSPORT_PAIRS_H
#define RGPU_TESTS_TRANSPORT_PAIRS_H

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/net/control_stream.h"
#include "proto/wire.h"
#include "tests/tap.h"
#include "transport/link/link.h"
#include "transport/rdma/rdma.h"
#include "transport/vm/vm.h"

struct pair {
    const char *name;
    struct link *worker, *client; // the two ends
    int watch[2];                 // control connection of shm: the worker's and the client's end
    struct shm_memory *staging;   // the worker's blocks on rdma
};

struct pair_kind {
    const char *name;
    // Makes what both ends need before a fork; then each end opens its own.
    void (*prepare)(struct pair *pair, const struct link_options *options);
    void (*open_worker)(struct pair *pair, const struct link_options *options);
    void (*open_client)(struct pair *pair, const struct link_options *options);
    bool in_process; // both ends at once, by prepare
};

static const uint8_t pair_token[32] = "a token that only these two know";

// Descriptors between prepare and open: tcp's two sockets, or shm's listener.
static int pair_fds[2] = {-1, -1};
static struct shm_listener pair_listener = {.fds = {-1, -1}};
static struct shm_memory *pair_memory;

__attribute__((unused)) static void pair_tcp_sockets(int fds[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    fds[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || fds[1] < 0 || bind(listener, (struct sockaddr *)&address, size) ||
        listen(listener, 1) || getsockname(listener, (struct sockaddr *)&address, &size) ||
        connect(fds[1], (struct sockaddr *)&address, size))
        bail("no connected sockets: %s", strerror(errno));
    fds[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fds[0] < 0)
        bail("no connected sockets: %s", strerror(errno));
    close(listener);
}

static void tcp_prepare(struct pair *pair, const struct link_options *options)
{
    pair_tcp_sockets(pair_fds);
}

static void tcp_end(int fd, const struct link_options *options, struct link **out)
{
    int r = link_tcp_open(fd, NULL, options, out);
    if (r)
        bail("link_tcp_open: %s", strerror(-r));
}

static void tcp_open_worker(struct pair *pair, const struct link_options *options)
{
    tcp_end(pair_fds[0], options, &pair->worker);
}

static void tcp_open_client(struct pair *pair, const struct link_options *options)
{
    tcp_end(pair_fds[1], options, &pair->client);
}

static const struct tls_secret pair_secret = {.identity = "pair",
                                              .identity_size = 4,
                                              .key = {1, 2}};

static int pair_find_secret(void *argument, const void *identity, size_t size,
                            uint8_t key[TLS_SECRET_BYTES])
{
    memcpy(key, pair_secret.key, TLS_SECRET_BYTES);
    return 0;
}

// As tcp, inside TLS whose keys are renewed every other mebibyte.
static struct tls *pair_tls(int fd, bool server)
{
    struct control_stream stream = {.fd = fd};

    fcntl(fd, F_SETFL, O_NONBLOCK);
    int r = server ? tls_server(fd, pair_find_secret, NULL, false, &stream.tls)
                   : tls_client(fd, &pair_secret, false, &stream.tls);
    if (!r)
        r = control_secure(&stream, clock_ms() + 10000);
    if (r)
        bail("no TLS: %s", strerror(-r));
    tls_renew_after(stream.tls, 2 << 20);
    return stream.tls;
}

static void tls_end_of(int fd, bool server, const struct link_options *options, struct link **out)
{
    int r = link_tcp_open(fd, pair_tls(fd, server), options, out);
    if (r)
        bail("link_tcp_open: %s", strerror(-r));
}

static void tls_open_worker(struct pair *pair, const struct link_options *options)
{
    tls_end_of(pair_fds[0], true, options, &pair->worker);
}

static void tls_open_client(struct pair *pair, const struct link_options *options)
{
    tls_end_of(pair_fds[1], false, options, &pair->client);
}

// As tcp, with two extra connections from the start.
enum { PAIR_EXTRA = 2 };
static int pair_extra[PAIR_EXTRA][2];

static void extra_prepare(struct pair *pair, const struct link_options *options)
{
    pair_tcp_sockets(pair_fds);
    for (unsigned i = 0; i < PAIR_EXTRA; i++)
        pair_tcp_sockets(pair_extra[i]);
}

static void add_extra(struct link *link, unsigned side, bool tls)
{
    link_tcp_offer(link, PAIR_EXTRA);
    for (unsigned i = 0; i < PAIR_EXTRA; i++) {
        struct tls *own = tls ? pair_tls(pair_extra[i][side], side == 0) : NULL;
        int r = link_tcp_extra(link, i, PAIR_EXTRA, pair_extra[i][side], own);
        if (r)
            bail("link_tcp_extra: %s", strerror(-r));
    }
}

static void extra_open_worker(struct pair *pair, const struct link_options *options)
{
    tcp_open_worker(pair, options);
    add_extra(pair->worker, 0, false);
}

static void extra_open_client(struct pair *pair, const struct link_options *options)
{
    tcp_open_client(pair, options);
    add_extra(pair->client, 1, false);
}

static void tls_extra_open_worker(struct pair *pair, const struct link_options *options)
{
    tls_open_worker(pair, options);
    add_extra(pair->worker, 0, true);
}

static void tls_extra_open_client(struct pair *pair, const struct link_options *options)
{
    tls_open_client(pair, options);
    add_extra(pair->client, 1, true);
}

static void shm_prepare(struct pair *pair, const struct link_options *options)
{
    int r = shm_memory_new(options, &pair_memory);

    if (!r)
        r = shm_listen(NULL, -1, &pair_listener);
    if (!r && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair->watch))
        r = -errno;
    if (r)
        bail("no shared memory: %s", strerror(-r));
}

static void shm_open_worker(struct pair *pair, const struct link_options *options)
{
    int r = link_shm_accept(&pair_listener, pair_token, &pair_memory, pair->watch[0], 10000,
                            options, &pair->worker);
    if (r)
        bail("link_shm_accept: %s", strerror(-r));
    shm_listener_close(&pair_listener);
}

static void shm_open_client(struct pair *pair, const struct link_options *options)
{
    int r = link_shm_connect(pair_listener.name, NULL, pair_token, pair->watch[1], 10000, options,
                             &pair->client);
    if (r)
        bail("link_shm_connect: %s", strerror(-r));
}

// A window of one session, with the doorbells that the machine's device would ring.
static struct vm_window pair_window = {.memory = -1};
static struct vm_part pair_part;

static void vm_prepare(struct pair *pair, const struct link_options *options)
{
    int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

    pair_part = (struct vm_part){
        .place = VM_WINDOW_HEAD,
        .block_size = options && options->block_size ? options->block_size : WIRE_BLOCK_SIZE,
        .block_count = options && options->block_count ? options->block_count : 32,
    };
    // The memory of a window that this machine has (tests/vm), or of a file.
    const char *file = getenv("RGPU_TEST_WINDOW");
    pair_window = (struct vm_window){
        .size = VM_WINDOW_HEAD + vm_window_session(pair_part.block_size, pair_part.block_count),
        .memory = file ? open(file, O_RDWR | O_CLOEXEC) : memfd_create("window", MFD_CLOEXEC)};
    for (int i = 0; i < VM_WINDOW_DOORBELLS; i++)
        pair_window.events[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pair_window.memory < 0 ||
        (!file && ftruncate(pair_window.memory, (off_t)pair_window.size)) ||
        socketpair(AF_UNIX, kind, 0, pair->watch))
        bail("no window: %s", strerror(errno));
    int r = vm_map_worker(pair_window.memory, &pair_part, pair_window.events, &pair_memory);
    if (r)
        bail("the window does not map: %s", strerror(-r));
}

static void vm_forget_window(void)
{
    for (int i = 0; i < VM_WINDOW_DOORBELLS && pair_window.memory >= 0; i++)
        close(pair_window.events[i]);
    if (pair_window.memory >= 0)
        close(pair_window.memory);
    pair_window.memory = -1;
}

static void vm_open_worker(struct pair *pair, const struct link_options *options)
{
    int r = vm_link_worker(&pair_memory, pair->watch[0], options, &pair->worker);
    if (r)
        bail("vm_link_worker: %s", strerror(-r));
}

static void vm_open_client(struct pair *pair, const struct link_options *options)
{
    struct shm_memory *memory;
    int r = vm_map_client(&pair_window, &pair_part, &memory);

    if (!r)
        r = vm_link_client(&memory, &pair_window, &pair_part, pair->watch[1], options,
                           &pair->client);
    if (r)
        bail("vm_link_client: %s", strerror(-r));
}

static void loop_prepare(struct pair *pair, const struct link_options *options)
{
    int r = link_loop_pair(options, &pair->worker, &pair->client);
    if (r)
        bail("link_loop_pair: %s", strerror(-r));
}

// The worker says its port through a pipe, as its device must be opened in its own process.
static void rdma_prepare(struct pair *pair, const struct link_options *options)
{
    if (pipe2(pair_fds, O_CLOEXEC) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair->watch))
        bail("no pipe: %s", strerror(errno));
    // The reading end is the client's, as pair_fork() has it.
    int reading = pair_fds[0];
    pair_fds[0] = pair_fds[1];
    pair_fds[1] = reading;
}

static void rdma_open_worker(struct pair *pair, const struct link_options *options)
{
    struct rdma_options rdma = {.devices = getenv("RDMA_VM_ADDRESS_0"),
                                .gid_index = -1,
                                .service_level = -1};
    const struct link_staging *staging;
    struct rdma_listener *listener;
    struct shm_memory *memory;
    char text[300];
    int r = shm_memory_new(options, &memory);

    if (r)
        bail("no staging blocks: %s", strerror(-r));
    staging = shm_memory_staging(memory);
    r = rdma_listener_new(&rdma, staging, &listener, text, sizeof(text));
    if (r)
        bail("rdma_listener_new: %s (%s)", text, strerror(-r));
    uint16_t port = rdma_listener_port(listener);
    if (write(pair_fds[0], &port, sizeof(port)) != sizeof(port))
        bail("the port cannot be told");
    close(pair_fds[0]);
    r = link_rdma_accept(&listener, pair_token, pair->watch[0], 10000, options, &pair->worker);
    if (r)
        bail("link_rdma_accept: %s", strerror(-r));
    pair->staging = memory;
}

static void rdma_open_client(struct pair *pair, const struct link_options *options)
{
    struct rdma_options rdma = {.devices = getenv("RDMA_VM_ADDRESS_1"),
                                .gid_index = -1,
                                .service_level = -1};
    struct link_options none = {.spin_us = link_default_spin_us()};
    const char *address = getenv("RDMA_VM_ADDRESS_0");
    uint16_t port = 0;
    char text[300];

    if (read(pair_fds[1], &port, sizeof(port)) != sizeof(port))
        bail("the worker did not tell its port");
    close(pair_fds[1]);
    int r = link_rdma_connect(address, port, pair_token, pair->watch[1], 10000,
                              options ? options : &none, &rdma, &pair->client, text, sizeof(text));
    if (r)
        bail("link_rdma_connect: %s (%s)", text, strerror(-r));
}

static const struct pair_kind pair_all_kinds[] = {
    {"tcp", tcp_prepare, tcp_open_worker, tcp_open_client, false},
    {"tls", tcp_prepare, tls_open_worker, tls_open_client, false},
    {"extra connections", extra_prepare, extra_open_worker, extra_open_client, false},
    {"tls extra connections", extra_prepare, tls_extra_open_worker, tls_extra_open_client, false},
    {"shm", shm_prepare, shm_open_worker, shm_open_client, false},
    {"vm", vm_prepare, vm_open_worker, vm_open_client, false},
    {"loop", loop_prepare, NULL, NULL, true},
    {"rdma", rdma_prepare, rdma_open_worker, rdma_open_client, false},
};

enum { PAIR_KINDS_MAX = sizeof(pair_all_kinds) / sizeof(pair_all_kinds[0]) };

// RGPU_TEST_TRANSPORT names the only one to be tested; rdma, which needs devices, is tested on
// request.
static struct pair_kind pair_kinds[PAIR_KINDS_MAX];
__attribute__((unused)) static size_t pair_kind_count(void)
{
    static size_t count;

    if (!count) {
        const char *only = getenv("RGPU_TEST_TRANSPORT");
        for (size_t i = 0; i < PAIR_KINDS_MAX; i++)
            if (only ? !strcmp(only, pair_all_kinds[i].name)
                     : strcmp("rdma", pair_all_kinds[i].name) != 0)
                pair_kinds[count++] = pair_all_kinds[i];
        if (!count)
            bail("RGPU_TEST_TRANSPORT=%s is no transport", only);
    }
    return count;
}
#define PAIR_KINDS pair_kind_count()

// One kind by its name, for behaviour of its own.
__attribute__((unused)) static const struct pair_kind *pair_kind_named(const char *name)
{
    for (size_t i = 0; i < PAIR_KINDS_MAX; i++)
        if (!strcmp(name, pair_all_kinds[i].name))
            return &pair_all_kinds[i];
    bail("%s is no transport", name);
    return NULL;
}

struct pair_opening {
    const struct pair_kind *kind;
    struct pair *pair;
    const struct link_options *options;
};

static void *pair_worker_thread(void *argument)
{
    struct pair_opening *opening = argument;

    opening->kind->open_worker(opening->pair, opening->options);
    return NULL;
}

// Both ends in this process.
__attribute__((unused)) static struct pair pair_open(const struct pair_kind *kind,
                                                     const struct link_options *options)
{
    struct pair pair = {.name = kind->name, .watch = {-1, -1}};
    struct pair_opening opening = {kind, &pair, options};
    pthread_t thread;

    kind->prepare(&pair, options);
    if (!kind->in_process) {
        if (pthread_create(&thread, NULL, pair_worker_thread, &opening))
            bail("no thread");
        kind->open_client(&pair, options);
        pthread_join(thread, NULL);
    }
    return pair;
}

__attribute__((unused)) static void pair_close(struct pair *pair)
{
    link_free(&pair->worker);
    link_free(&pair->client);
    shm_memory_free(&pair->staging);
    for (int i = 0; i < 2; i++)
        if (pair->watch[i] >= 0)
            close(pair->watch[i]);
    if (!strcmp(pair->name, "vm"))
        vm_forget_window();
}

// The end that is the other process's.
__attribute__((unused)) static void pair_close_side(const struct pair_kind *kind, struct pair *pair,
                                                    unsigned side)
{
    if (pair_fds[side] >= 0)
        close(pair_fds[side]);
    if (pair->watch[side] >= 0)
        close(pair->watch[side]);
    pair->watch[side] = -1;
    for (unsigned i = 0; i < PAIR_EXTRA && kind->prepare == extra_prepare; i++)
        close(pair_extra[i][side]);
}

// The worker's end in a child process, which runs BODY and exits. Only for kinds that can.
__attribute__((unused)) static pid_t pair_fork(const struct pair_kind *kind, struct pair *pair,
                                               const struct link_options *options,
                                               void (*body)(struct link *worker))
{
    pid_t pid;

    *pair = (struct pair){.name = kind->name, .watch = {-1, -1}};
    kind->prepare(pair, options);
    fflush(stdout);
    pid = fork();
    if (pid < 0)
        bail("no process");
    if (!pid) {
        pair_close_side(kind, pair, 1);
        kind->open_worker(pair, options);
        body(pair->worker);
        _exit(0);
    }
    pair_close_side(kind, pair, 0);
    shm_memory_free(&pair_memory);
    kind->open_client(pair, options);
    pair_fds[0] = pair_fds[1] = -1;
    shm_listener_close(&pair_listener);
    return pid;
}

// A record of SIZE bytes whose content follows from SEED.
__attribute__((unused)) static void fill_bytes(void *at, size_t size, uint32_t seed)
{
    uint8_t *bytes = at;

    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
}

__attribute__((unused)) static bool check_bytes(const void *at, size_t size, uint32_t seed)
{
    const uint8_t *bytes = at;

    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525u + 1013904223u;
        if (bytes[i] != (uint8_t)(seed >> 24))
            return false;
    }
    return true;
}

// Sends a record of SIZE bytes that carries VALUE, and flushes it.
__attribute__((unused)) static bool send_value(struct link *link, uint32_t size, uint32_t value)
{
    uint32_t *record = link_reserve(link, size);

    if (!record)
        return false;
    record[1] = value;
    return link_commit_flush(link) == 0;
}

// The value of the next record; -1 when none came within TIMEOUT_MS, else link_receive's error.
__attribute__((unused)) static int64_t receive_value(struct link *link, int timeout_ms)
{
    static _Thread_local uint32_t record[WIRE_RECORD_MAX / 4];
    int n = link_receive(link, record, sizeof(record), timeout_ms);

    return n > 0 ? (int64_t)record[1] : n ? n : -1;
}

__attribute__((unused)) static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    if (!dir)
        bail("no /proc/self/fd");
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

__attribute__((unused)) static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// ---- threads that wait ----

struct waiter {
    pthread_t thread;
    void (*body)(struct waiter *waiter);
    struct link *link;
    int64_t result;
    double ended; // when the body was done
    _Atomic int tid;
    _Atomic bool done;
};

__attribute__((unused)) static void *waiter_main(void *argument)
{
    struct waiter *waiter = argument;

    atomic_store(&waiter->tid, (int)gettid());
    waiter->body(waiter);
    waiter->ended = seconds_now();
    atomic_store(&waiter->done, true);
    return NULL;
}

__attribute__((unused)) static void
waiter_start(struct waiter *waiter, void (*body)(struct waiter *waiter), struct link *link)
{
    *waiter = (struct waiter){.body = body, .link = link};
    if (pthread_create(&waiter->thread, NULL, waiter_main, waiter))
        bail("no thread");
}

// The text of a file of /proc for a thread of this process.
__attribute__((unused)) static bool read_task_file(int tid, const char *name, char *text,
                                                   size_t room)
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, room - 1);
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return false;
    text[n] = 0;
    return true;
}

__attribute__((unused)) static long task_switches(int tid)
{
    char text[4096], *at;

    if (!read_task_file(tid, "status", text, sizeof(text)))
        return -1;
    at = strstr(text, "\nvoluntary_ctxt_switches:");
    return at ? atol(at + 25) : -1;
}

__attribute__((unused)) static bool task_sleeps(int tid)
{
    char text[1024], *at;

    if (!read_task_file(tid, "stat", text, sizeof(text)))
        return false;
    at = strrchr(text, ')');
    return at && at[1] && at[2] == 'S';
}

// Waits until the thread sleeps in the kernel and goes on doing so; false if it ended instead.
__attribute__((unused)) static bool waiter_await_sleep(struct waiter *waiter)
{
    double deadline = seconds_now() + 20;
    long before = -2;
    int quiet = 0;

    while (quiet < 3 && seconds_now() < deadline && !atomic_load(&waiter->done)) {
        int tid = atomic_load(&waiter->tid);
        long switches = tid ? task_switches(tid) : -2;
        quiet = tid && task_sleeps(tid) && switches == before ? quiet + 1 : 0;
        before = switches;
        poll(NULL, 0, 2);
    }
    return quiet == 3;
}

__attribute__((unused)) static int64_t waiter_join(struct waiter *waiter)
{
    pthread_join(waiter->thread, NULL);
    return waiter->result;
}

__attribute__((unused)) static void wait_for_value(struct waiter *waiter)
{
    waiter->result = receive_value(waiter->link, -1);
}

// Sends records until the link is down; the result is how many have been committed.
__attribute__((unused)) static void send_for_ever(struct waiter *waiter)
{
    while (send_value(waiter->link, 4096, (uint32_t)waiter->result))
        waiter->result++;
}

#endif
