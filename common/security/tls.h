// SPDX-License-Identifier: BSD-3-Clause
// TLS 1.3 between two ends with a shared secret (PSK), over a connected stream socket.
//
// There are no certificates. After the handshake both ends have proved that they know the secret,
// and all data are confidential and authenticated. Each handshake derives new keys (X25519), so a
// secret that leaks later does not reveal earlier sessions.
//
// One thread may send and another receive with the same struct tls. No function blocks if the
// socket is non-blocking; after -EAGAIN the caller polls for tls_wants().
#ifndef RGPU_COMMON_TLS_H
#define RGPU_COMMON_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tls;

enum {
    TLS_SECRET_BYTES = 32,
    TLS_IDENTITY_MAX = 16384, // maximum bytes of the identity of a secret
    // The keys are renewed after so many GiB, well before the limit of AES-GCM (RFC 8446, 5.5).
    // They are not renewed if the kernel encrypts, because not every kernel can.
    TLS_RENEW_GIB = 64,
};

// A secret and its identity. The identity is sent in clear text.
struct tls_secret {
    const void *identity;
    size_t identity_size;
    uint8_t key[TLS_SECRET_BYTES];
};

// Sets KEY to the secret with this identity. Returns a negative number if there is none.
typedef int (*tls_find)(void *argument, const void *identity, size_t size,
                        uint8_t key[TLS_SECRET_BYTES]);

// Initializes servers; reads no configuration file and registers no exit handler. tls_server()
// calls it if necessary; a caller that must not wait then calls it earlier.
int tls_prepare_server(void);

// Create an end; sends nothing. FOR_DATA: a lot of data will follow, so the kernel may encrypt, and
// buffers are larger. The secret is copied. Return 0 or -errno.
int tls_client(int fd, const struct tls_secret *secret, bool for_data, struct tls **out)
    __attribute__((warn_unused_result));
int tls_server(int fd, tls_find find, void *argument, bool for_data, struct tls **out)
    __attribute__((warn_unused_result));
// Continues the handshake. Returns 0 when it is done, -EAGAIN, -ECONNRESET if the peer has closed,
// or -EPROTO if the peer does not know the secret or does not speak TLS. tls_problem() then
// describes the error; an alert has been sent to the peer if necessary.
int tls_handshake(struct tls *tls) __attribute__((warn_unused_result));
const char *tls_problem(const struct tls *tls);

// Send or receive at least one byte. Return the number of bytes or -EAGAIN; after -EAGAIN
// tls_send() must be called with the same bytes. tls_receive() returns 0 if the peer has ended TLS,
// -ECONNRESET if it has closed without ending TLS, and -EPROTO for invalid data.
ssize_t tls_send(struct tls *tls, const void *data, size_t size)
    __attribute__((warn_unused_result));
ssize_t tls_receive(struct tls *tls, void *data, size_t size) __attribute__((warn_unused_result));
// Returns true if received data are buffered, which poll() does not report.
bool tls_pending(struct tls *tls);
// Returns the poll() event to wait for after -EAGAIN: POLLIN or POLLOUT.
short tls_wants(const struct tls *tls);
// Makes reads take all available data from the socket, instead of one record. Not allowed if data
// without TLS may follow.
void tls_read_ahead(struct tls *tls);
// Uses the descriptor FD of the same socket from now on.
void tls_use_descriptor(struct tls *tls, int fd);
// Sends the end of TLS and waits for the peer's. Returns 0, -EAGAIN or -errno. After 0 the next
// byte in the socket is the first one that the peer has sent after TLS.
int tls_end(struct tls *tls) __attribute__((warn_unused_result));

// Returns a secret that only the two ends of this TLS session can compute.
int tls_export(struct tls *tls, uint8_t secret[TLS_SECRET_BYTES])
    __attribute__((warn_unused_result));
bool tls_in_kernel(const struct tls *tls); // true: the kernel encrypts sent data
void tls_renew_after(struct tls *tls, uint64_t bytes);

// Frees; sends nothing and leaves the socket open. The name tls_free is in newer versions of
// OpenSSL.
void tls_discard(struct tls **tls);

#endif
