// SPDX-License-Identifier: BSD-3-Clause
// TLS by a shared secret: only ends that know the secret can connect, the data arrives unchanged,
// the end of TLS is detected, and the rest of the program is not affected.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "tests/tls_pair.h"

static struct tls_secret secret = {.identity = "name", .identity_size = 4, .key = {1, 2, 3}};

struct keeper {
    uint8_t key[TLS_SECRET_BYTES];
    int result;
    char asked[64];
};

static int find(void *argument, const void *identity, size_t size, uint8_t key[TLS_SECRET_BYTES])
{
    struct keeper *keeper = argument;

    snprintf(keeper->asked, sizeof(keeper->asked), "%.*s", (int)size, (const char *)identity);
    memcpy(key, keeper->key, TLS_SECRET_BYTES);
    return keeper->result;
}

static struct keeper good_keeper(void)
{
    struct keeper keeper = {0};

    memcpy(keeper.key, secret.key, sizeof(keeper.key));
    return keeper;
}

static void open_pair(struct tls_pair *pair)
{
    static struct keeper keeper;

    keeper = good_keeper();
    tls_pair_open(pair, &secret, find, &keeper);
    tls_pair_handshake(pair);
    if (pair->errors[0] || pair->errors[1])
        bail("no TLS: %s, %s", tls_problem(pair->ends[0]), tls_problem(pair->ends[1]));
}

static void test_who_is_believed(void)
{
    struct keeper keeper = good_keeper();
    struct tls_pair pair;

    tls_pair_open(&pair, &secret, find, &keeper);
    tls_pair_handshake(&pair);
    ok(!pair.errors[0] && !pair.errors[1], "who knows the secret is believed, both ways");
    is_str(keeper.asked, "name", "the secret's name is told");
    tls_pair_close(&pair);

    keeper.key[31] ^= 1;
    tls_pair_open(&pair, &secret, find, &keeper);
    tls_pair_handshake(&pair);
    ok(pair.errors[0] == -EPROTO && pair.errors[1] == -EPROTO, "another secret, and neither is");
    tls_pair_close(&pair);

    keeper = good_keeper();
    keeper.result = -ENOENT;
    tls_pair_open(&pair, &secret, find, &keeper);
    tls_pair_handshake(&pair);
    ok(pair.errors[0] == -EPROTO && pair.errors[1] == -EPROTO, "nor without one of that name");
    tls_pair_close(&pair);
}

static void test_large_names(void)
{
    static char name[TLS_IDENTITY_MAX + 1];
    struct tls_secret large = {.identity = name,
                               .identity_size = TLS_IDENTITY_MAX,
                               .key = {1, 2, 3}};
    struct keeper keeper = good_keeper();
    struct tls_pair pair;
    struct tls *none;

    memset(name, 'x', sizeof(name));
    tls_pair_open(&pair, &large, find, &keeper);
    tls_pair_handshake(&pair);
    ok(!pair.errors[0] && !pair.errors[1], "a secret's name may be as long as a ticket");
    large.identity_size++;
    is_int(tls_client(pair.fds[0], &large, false, &none), -EINVAL, "but not longer");
    tls_pair_close(&pair);
}

// An unauthenticated peer gets no more space than the longest name needs.
static void test_long_hellos(void)
{
    // A hello of 128,000 bytes, in records of 16 KiB of which the first begins it.
    static const uint8_t head[] = {0x16, 3, 1, 0x40, 0, 1, 1, 0xf4, 0},
                         more[] = {0x16, 3, 1, 0x40, 0};
    static uint8_t record[5 + 16384];
    struct keeper keeper = good_keeper();
    struct tls_pair pair;
    bool sent = true;

    tls_pair_open(&pair, &secret, find, &keeper);
    for (int i = 0; i < 3 && pair.errors[1] == -EAGAIN; i++) {
        memset(record, 0, sizeof(record));
        memcpy(record, i ? more : head, i ? sizeof(more) : sizeof(head));
        sent = send(pair.fds[0], record, sizeof(record), MSG_NOSIGNAL) == sizeof(record) && sent;
        pair.errors[1] = tls_handshake(pair.ends[1]);
    }
    ok(sent, "a stranger sends the beginning of a hello of 128 KB");
    is_int(pair.errors[1], -EPROTO, "and is not heard to its end");
    is_str(tls_problem(pair.ends[1]), "the handshake is too long", "for that reason");
    tls_pair_close(&pair);
}

static void test_exported_secrets(void)
{
    uint8_t secrets[2][2][TLS_SECRET_BYTES];
    struct tls_pair pair;

    for (int i = 0; i < 2; i++) {
        open_pair(&pair);
        for (int end = 0; end < 2; end++)
            is_int(tls_export(pair.ends[end], secrets[i][end]), 0, "a secret is exported");
        is_mem(secrets[i][0], secrets[i][1], TLS_SECRET_BYTES, "the same on both ends");
        tls_pair_close(&pair);
    }
    ok(memcmp(secrets[0][0], secrets[1][0], TLS_SECRET_BYTES), "another one for each session");
}

// Sends SIZE bytes through the pair, both ends in this thread; how many came as they were sent.
static size_t carry(struct tls_pair *pair, size_t size)
{
    uint8_t *from = malloc(size), *to = calloc(1, size);
    size_t sent = 0, received = 0, right = 0;

    for (size_t i = 0; i < size; i++)
        from[i] = (uint8_t)(i * 7 + i / 251);
    while (received < size) {
        ssize_t n = sent < size ? tls_send(pair->ends[0], from + sent, size - sent) : -EAGAIN;
        if (n > 0)
            sent += (size_t)n;
        ssize_t m = tls_receive(pair->ends[1], to + received, size - received);
        if (m > 0)
            received += (size_t)m;
        if ((n < 0 && n != -EAGAIN) || (m <= 0 && m != -EAGAIN))
            break;
    }
    while (right < received && from[right] == to[right])
        right++;
    free(from);
    free(to);
    return right;
}

static void test_keys_are_renewed(void)
{
    struct tls_pair pair;

    open_pair(&pair);
    tls_renew_after(pair.ends[0], 100000);
    is_int(carry(&pair, 3 << 20), 3 << 20, "data arrive while keys are renewed again and again");
    tls_read_ahead(pair.ends[1]);
    is_int(carry(&pair, 3 << 20), 3 << 20, "also where the receiver reads ahead");
    tls_pair_close(&pair);
}

static void test_changed_data(void)
{
    uint8_t record[256];
    struct tls_pair pair;

    open_pair(&pair);
    is_int(tls_send(pair.ends[0], "hello", 5), 5, "a record is sent");
    ssize_t n = recv(pair.fds[1], record, sizeof(record), 0);
    record[n - 1] ^= 1;
    // Into the other direction of the socket pair, from which the server reads.
    is_int(send(pair.fds[0], record, (size_t)n, 0), n, "and comes with one bit changed");
    is_int(tls_receive(pair.ends[1], record, sizeof(record)), -EPROTO, "which is noticed");
    ok(*tls_problem(pair.ends[1]), "and said: %s", tls_problem(pair.ends[1]));
    tls_pair_close(&pair);
}

static void test_ends(void)
{
    char text[16] = "";
    struct tls_pair pair;

    open_pair(&pair);
    is_int(tls_end(pair.ends[0]), -EAGAIN, "the end of TLS waits for the peer's");
    is_int(tls_end(pair.ends[1]), 0, "who has both");
    is_int(send(pair.fds[1], "plain", 5, 0), 5, "what follows is plain");
    is_int(tls_end(pair.ends[0]), 0, "and belongs to neither end of TLS");
    is_int(recv(pair.fds[0], text, sizeof(text), 0), 5, "but to the socket");
    is_str(text, "plain", "as it was");
    tls_pair_close(&pair);

    open_pair(&pair);
    shutdown(pair.fds[0], SHUT_WR);
    is_int(tls_receive(pair.ends[1], text, sizeof(text)), -ECONNRESET,
           "a connection that ends without a word was cut");
    tls_pair_close(&pair);
}

static void test_no_signal(void)
{
    static char much[65536];
    struct tls_pair pair;
    ssize_t n;

    signal(SIGPIPE, SIG_DFL);
    open_pair(&pair);
    close(pair.fds[1]);
    while ((n = tls_send(pair.ends[0], much, sizeof(much))) > 0)
        ;
    is_int(n, -EPIPE, "a peer that has gone is an error, not a signal");
    pair.fds[1] = dup(pair.fds[0]);
    tls_pair_close(&pair);
}

int main(void)
{
    // A file that would make OpenSSL fail, were it read.
    char path[] = "/tmp/rgpu-openssl.XXXXXX";
    static const char nonsense[] = "openssl_conf = x\n[x]\nssl_conf = y\n[y\nthis is nonsense\n";
    int fd = mkstemp(path);

    if (fd < 0 || write(fd, nonsense, sizeof(nonsense) - 1) < 0 || setenv("OPENSSL_CONF", path, 1))
        bail("no file");
    close(fd);
    is_int(tls_prepare_server(), 0, "OpenSSL's configuration file does not count");
    unlink(path);
    test_who_is_believed();
    test_large_names();
    test_long_hellos();
    test_exported_secrets();
    test_keys_are_renewed();
    test_changed_data();
    test_ends();
    test_no_signal();
    return done();
}
