// SPDX-License-Identifier: BSD-3-Clause
// Measures this machine's TCP without rgpu: bytes over one or several connections, each with a
// thread at either end, and the round trip of a small message. Prints JSON lines; bench/tcp
// compares them with copies.
//
//   build/bench/streams [--at ADDRESS] [--listen PORT | --connect PORT] [--streams N] [--seconds S]
//                       [--block KIB] [--buffer MIB] [--zerocopy] [--from] [--trips BYTES] [--spin]
//
// Without --listen or --connect it runs both ends over loopback. Each thread cycles through a
// buffer of --buffer MiB, like copies of that size, in calls of --block KiB. --from: the listening
// end sends.
#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STREAMS_MAX = 64, TRIPS_MAX = 200000, ROUND_OF_TRIPS = 64 };

static struct {
    const char *at;
    int port;
    int streams;
    double seconds;
    size_t block, buffer, trip;
    bool zerocopy, from, spin;
} want = {.at = "127.0.0.1", .streams = 1, .seconds = 2, .block = 512 << 10, .buffer = 32 << 20};

struct stream {
    int fd;
    pthread_t thread;
    uint8_t *buffer;
    uint64_t bytes;
    uint64_t sent, over, copied; // calls with MSG_ZEROCOPY
};

static struct stream streams[STREAMS_MAX];

static _Noreturn void bail(const char *what)
{
    fprintf(stderr, "streams: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// ---- bytes ----

static void reap(struct stream *stream)
{
    for (;;) {
        uint8_t control[128];
        struct msghdr message = {.msg_control = control, .msg_controllen = sizeof(control)};
        if (recvmsg(stream->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
            return;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        const struct sock_extended_err *notice = head ? (const void *)CMSG_DATA(head) : NULL;
        if (!notice || notice->ee_origin != SO_EE_ORIGIN_ZEROCOPY)
            continue;
        uint64_t count = notice->ee_data - notice->ee_info + 1;
        stream->over += count;
        stream->copied += notice->ee_code & SO_EE_CODE_ZEROCOPY_COPIED ? count : 0;
    }
}

static ssize_t send_block(struct stream *stream, size_t at, size_t size)
{
    int flags = MSG_NOSIGNAL | (want.zerocopy ? MSG_ZEROCOPY : 0);

    for (;;) {
        ssize_t n = send(stream->fd, stream->buffer + at, size, flags);
        if (want.zerocopy)
            reap(stream);
        if (n >= 0) {
            stream->sent++;
            return n;
        }
        if (errno != ENOBUFS && errno != EINTR)
            bail("send");
    }
}

static void *send_all(void *argument)
{
    struct stream *stream = argument;
    double until = now() + want.seconds;
    size_t at = 0;
    uint8_t byte;

    while (now() < until) {
        size_t size = want.buffer - at < want.block ? want.buffer - at : want.block;
        ssize_t n = send_block(stream, at, size);
        stream->bytes += (uint64_t)n;
        at = (at + (size_t)n) % want.buffer;
    }
    shutdown(stream->fd, SHUT_WR);
    while (recv(stream->fd, &byte, 1, 0) < 0 && errno == EINTR)
        ; // the other end has received all bytes
    while (want.zerocopy && stream->over < stream->sent) {
        struct pollfd notice = {.fd = stream->fd};
        poll(&notice, 1, 1000);
        reap(stream);
    }
    return NULL;
}

static void *take_all(void *argument)
{
    struct stream *stream = argument;
    size_t at = 0;

    for (;;) {
        size_t size = want.buffer - at < want.block ? want.buffer - at : want.block;
        ssize_t n = recv(stream->fd, stream->buffer + at, size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        at = (at + (size_t)n) % want.buffer;
    }
    shutdown(stream->fd, SHUT_WR);
    return NULL;
}

static void carry(bool sends)
{
    uint64_t bytes = 0, calls = 0, copied = 0;

    for (int i = 0; i < want.streams; i++) {
        streams[i].buffer = malloc(want.buffer);
        if (!streams[i].buffer)
            bail("malloc");
        memset(streams[i].buffer, i, want.buffer);
    }
    double start = now();
    for (int i = 0; i < want.streams; i++)
        if ((errno = pthread_create(&streams[i].thread, NULL, sends ? send_all : take_all,
                                    &streams[i])))
            bail("pthread_create");
    for (int i = 0; i < want.streams; i++) {
        pthread_join(streams[i].thread, NULL);
        bytes += streams[i].bytes;
        calls += streams[i].sent;
        copied += streams[i].copied;
    }
    if (!sends)
        return;
    printf("{\"bench\":\"streams\",\"streams\":%d,\"zerocopy\":%s,\"way\":\"%s\",\"GBps\":%.3f",
           want.streams, want.zerocopy ? "true" : "false", want.from ? "from" : "to",
           (double)bytes / (now() - start) / 1e9);
    if (want.zerocopy)
        printf(",\"copied_all_the_same\":%.3f", (double)copied / (double)calls);
    puts("}");
    fflush(stdout);
}

// ---- round trips ----

static bool take(int fd, uint8_t *to, size_t size)
{
    for (size_t have = 0; have < size;) {
        ssize_t n = recv(fd, to + have, size - have, want.spin ? MSG_DONTWAIT : 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n <= 0)
            return false;
        have += (size_t)n;
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void answer(int fd)
{
    uint8_t *message = malloc(want.trip);

    while (take(fd, message, want.trip) &&
           send(fd, message, want.trip, MSG_NOSIGNAL) == (ssize_t)want.trip)
        ;
    free(message);
}

static void ask(int fd)
{
    static double trips[TRIPS_MAX];
    uint8_t *message = calloc(1, want.trip);
    double until = now() + want.seconds;
    int count = 0;

    for (; count < TRIPS_MAX && (count < ROUND_OF_TRIPS || now() < until); count++) {
        double start = now();
        if (send(fd, message, want.trip, MSG_NOSIGNAL) < 0 || !take(fd, message, want.trip))
            bail("round trip");
        trips[count] = now() - start;
    }
    qsort(trips, (size_t)count, sizeof(*trips), compare);
    printf(
        "{\"bench\":\"streams\",\"trip\":%zu,\"spin\":%s,\"median_us\":%.2f,\"tenth_us\":%.2f}\n",
        want.trip, want.spin ? "true" : "false", trips[count / 2] * 1e6, trips[count / 10] * 1e6);
    fflush(stdout);
    free(message);
}

// ---- both ends ----

static struct sockaddr_in address_of(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    if (inet_pton(AF_INET, want.at, &address.sin_addr) != 1) {
        errno = EINVAL;
        bail(want.at);
    }
    return address;
}

static int listen_at(int port)
{
    struct sockaddr_in address = address_of(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, STREAMS_MAX))
        bail("listen");
    return fd;
}

static void prepare(struct stream *stream, int fd)
{
    int one = 1;

    if (fd < 0)
        bail("connection");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (want.zerocopy && setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
        bail("SO_ZEROCOPY");
    stream->fd = fd;
}

static void run_listening(int listener)
{
    for (int i = 0; i < want.streams; i++)
        prepare(&streams[i], accept4(listener, NULL, NULL, SOCK_CLOEXEC));
    if (want.trip)
        answer(streams[0].fd);
    else
        carry(want.from);
}

static void run_connecting(int port)
{
    struct sockaddr_in address = address_of(port);

    for (int i = 0; i < want.streams; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
            bail("connect");
        prepare(&streams[i], fd);
    }
    if (want.trip)
        ask(streams[0].fd);
    else
        carry(!want.from);
    for (int i = 0; i < want.streams; i++)
        close(streams[i].fd);
}

static void run_both(void)
{
    int listener = listen_at(0), status = 0;
    struct sockaddr_in address;
    socklen_t size = sizeof(address);

    if (getsockname(listener, (struct sockaddr *)&address, &size))
        bail("getsockname");
    pid_t child = fork();
    if (child < 0)
        bail("fork");
    if (!child) {
        run_listening(listener);
        exit(0);
    }
    run_connecting(ntohs(address.sin_port));
    if (waitpid(child, &status, 0) < 0 || status)
        bail("the other end");
}

int main(int argc, char **argv)
{
    bool listens = false, connects = false;

    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (!strcmp(name, "--zerocopy")) {
            want.zerocopy = true;
        } else if (!strcmp(name, "--from")) {
            want.from = true;
        } else if (!strcmp(name, "--spin")) {
            want.spin = true;
        } else if (++i == argc) {
            errno = EINVAL;
            bail(name);
        } else if (!strcmp(name, "--at")) {
            want.at = argv[i];
        } else if (!strcmp(name, "--listen") || !strcmp(name, "--connect")) {
            listens = !strcmp(name, "--listen");
            connects = !listens;
            want.port = atoi(argv[i]);
        } else if (!strcmp(name, "--streams")) {
            want.streams = atoi(argv[i]);
        } else if (!strcmp(name, "--seconds")) {
            want.seconds = atof(argv[i]);
        } else if (!strcmp(name, "--block")) {
            want.block = (size_t)atoi(argv[i]) << 10;
        } else if (!strcmp(name, "--buffer")) {
            want.buffer = (size_t)atoi(argv[i]) << 20;
        } else if (!strcmp(name, "--trips")) {
            want.trip = (size_t)atoi(argv[i]);
        } else {
            errno = EINVAL;
            bail(name);
        }
    }
    if (want.streams < 1 || want.streams > STREAMS_MAX || !want.block || !want.buffer) {
        errno = EINVAL;
        bail("--streams, --block or --buffer");
    }
    if (listens)
        run_listening(listen_at(want.port));
    else if (connects)
        run_connecting(want.port);
    else
        run_both();
    return 0;
}
