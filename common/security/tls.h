// SPDX-License-Identifier: BSD-3-Clause
// TLS 1.3 between two ends that share a secret, over a connected stream socket.
//
// There are no certificates: an end that finishes the handshake has proved that it knows the
// secret, both ways, and every byte is confidential and authenticated from then on. Each handshake
// makes keys of its own (X25519), so a secret that leaks later opens nothing that was recorded
// before.
//
// A struct tls may be used by one sending and one receiving thread at once. No function blocks: the
// socket should be non-blocking, and after -EAGAIN the caller polls for tls_wants() first.
#ifndef RGPU_COMMON_TLS_H
#define RGPU_COMMON_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tls;

enum {
    TLS_SECRET_BYTES = 32,
    TLS_IDENTITY_MAX = 16384, // longest name of a secret
    // The keys are renewed after this amount, well before AES-GCM reaches its limit of records (RFC
    // 8446, 5.5). If the kernel encrypts, the keys stay, because not every kernel can renew them.
    TLS_RENEW_GIB = 64,
};

// The secret and its name, which everybody on the way can read.
struct tls_secret {
    const void *identity;
    size_t identity_size;
    uint8_t key[TLS_SECRET_BYTES];
};

// Puts the key of the secret that a client names into KEY; < 0: there is none.
typedef int (*tls_find)(void *argument, const void *identity, size_t size,
                        uint8_t key[TLS_SECRET_BYTES]);

// Prepares servers, without reading a configuration file and without work at exit. tls_server()
// calls it if needed; a caller that must not wait then calls it before.
int tls_prepare_server(void);

// Creates the client's end, and sends nothing before tls_handshake(). FOR_DATA: much will follow,
// so the kernel may encrypt the sent data, and more memory is taken for reading ahead. The secret
// is copied. -errno.
int tls_client(int fd, const struct tls_secret *secret, bool for_data, struct tls **out)
    __attribute__((warn_unused_result));
int tls_server(int fd, tls_find find, void *argument, bool for_data, struct tls **out)
    __attribute__((warn_unused_result));
// 0: done; -EAGAIN; -ECONNRESET: the peer closed; -EPROTO: the peer does not prove that it knows
// the secret, or does not speak TLS. tls_problem() describes the error, and OpenSSL has sent an
// alert to the peer if it needs one.
int tls_handshake(struct tls *tls) __attribute__((warn_unused_result));
const char *tls_problem(const struct tls *tls);

// Some of the bytes, at least one. -EAGAIN on sending: the next call must bring the same bytes.
// tls_receive() gives 0 where the peer has ended TLS, -ECONNRESET where it has gone without that,
// -EPROTO for bytes that the peer did not send so.
ssize_t tls_send(struct tls *tls, const void *data, size_t size)
    __attribute__((warn_unused_result));
ssize_t tls_receive(struct tls *tls, void *data, size_t size) __attribute__((warn_unused_result));
// Returns true if received data lie here, where poll() cannot see them.
bool tls_pending(struct tls *tls);
// Returns the event to poll the socket for after -EAGAIN: POLLIN or POLLOUT.
short tls_wants(const struct tls *tls);
// From now on reads from the socket as much as there is, rather than record by record: not where
// bytes that are no TLS may follow.
void tls_read_ahead(struct tls *tls);
// Sends the end of TLS and waits for that of the peer: 0, -EAGAIN, -errno. After 0 the socket
// contains exactly the bytes that the peer sent after TLS.
int tls_end(struct tls *tls) __attribute__((warn_unused_result));

// A secret that only the two ends of this session know.
int tls_export(struct tls *tls, uint8_t secret[TLS_SECRET_BYTES])
    __attribute__((warn_unused_result));
bool tls_in_kernel(const struct tls *tls); // sending
void tls_renew_after(struct tls *tls, uint64_t bytes);

// Sends nothing and leaves the socket open. Not tls_free: newer archives of OpenSSL have that.
void tls_discard(struct tls **tls);

#endif
