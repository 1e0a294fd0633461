// SPDX-License-Identifier: BSD-3-Clause
// Implemented with OpenSSL.
#include "common/security/tls.h"

#include <errno.h>
// OpenSSL 3.5 deprecates the function that copies a method, without a replacement.
#define OPENSSL_API_COMPAT 30000
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/scope.h"

// One way to do it: nothing is negotiated, so nothing can be negotiated down.
static const char cipher_name[] = "TLS_AES_128_GCM_SHA256";
static const uint8_t cipher_number[] = {0x13, 0x01};
static const char group_name[] = "X25519";
static const char export_label[] = "EXPORTER-rgpu-session";

enum {
    READ_AHEAD_BYTES = 128 * 1024,
    // Limit of a handshake: the longest name of a secret and its surroundings. OpenSSL would take a
    // hello of 128 KiB, keep it, and try each of thousands of names in it.
    HANDSHAKE_BYTES_MAX = TLS_IDENTITY_MAX + 4096,
    // Parts of OpenSSL's binary interface that are not in its headers: the control code that makes
    // the kernel encrypt (for sending, or for receiving), and the flag of an alert there.
    CONTROL_SET_KTLS = 72,
    FLAG_KTLS_ALERT = 0x1000,
};

struct tls {
    SSL *ssl;
    pthread_mutex_t lock;   // OpenSSL lets one thread at a time touch a connection
    bool ready, send_again; // handshake done; the last send must be repeated
    uint32_t handshake;     // bytes that the peer has sent before it was done
    short wants;
    uint64_t sent, renew_after;
    char problem[160];
    tls_find find; // the server's
    void *argument;
    void *identity; // the client's secret
    size_t identity_size;
    uint8_t key[TLS_SECRET_BYTES];
};

static struct {
    SSL_CTX *client, *server;
    BIO_METHOD *socket;
} shared;

// ---- the socket ----

// As OpenSSL's own, but a peer that has gone must not end the program by SIGPIPE.
static int socket_write(BIO *bio, const char *data, int size)
{
    int fd = (int)BIO_get_fd(bio, NULL);

    BIO_clear_retry_flags(bio);
    // An alert, which the kernel cannot encrypt here. It is dropped: the connection closes right
    // after it, which the peer notices.
    if (BIO_test_flags(bio, FLAG_KTLS_ALERT)) {
        BIO_clear_flags(bio, FLAG_KTLS_ALERT);
        return size;
    }
    ssize_t n = send(fd, data, (size_t)size, MSG_NOSIGNAL);
    // The kernel encrypts the program's memory, of which some pages may exist only once they are
    // touched.
    if (n < 0 && errno == EFAULT) {
        char copy[4096];
        size_t part = (size_t)size < sizeof(copy) ? (size_t)size : sizeof(copy);
        memcpy(copy, data, part);
        n = send(fd, copy, part, MSG_NOSIGNAL);
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_retry_write(bio);
    return (int)n;
}

// As OpenSSL's own, with a bound for a peer that has proved nothing.
static int socket_read(BIO *bio, char *data, int size)
{
    struct tls *tls = (struct tls *)BIO_get_callback_arg(bio);
    int n = BIO_meth_get_read(BIO_s_socket())(bio, data, size);

    if (n <= 0 || tls->ready)
        return n;
    tls->handshake += (uint32_t)n;
    if (tls->handshake <= HANDSHAKE_BYTES_MAX)
        return n;
    snprintf(tls->problem, sizeof(tls->problem), "the handshake is too long");
    errno = EPROTO;
    return -1;
}

// The kernel may encrypt, but decrypting is ours: it could not follow when the peer renews its
// keys.
static long socket_control(BIO *bio, int command, long number, void *pointer)
{
    if (command == CONTROL_SET_KTLS && !number)
        return 0;
    return BIO_meth_get_ctrl(BIO_s_socket())(bio, command, number, pointer);
}

static BIO_METHOD *make_socket_method(void)
{
    const BIO_METHOD *usual = BIO_s_socket();
    BIO_METHOD *method =
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR,
                     "rgpu socket");

    if (method &&
        (!BIO_meth_set_write(method, socket_write) || !BIO_meth_set_read(method, socket_read) ||
         !BIO_meth_set_ctrl(method, socket_control) ||
         !BIO_meth_set_create(method, BIO_meth_get_create(usual)) ||
         !BIO_meth_set_destroy(method, BIO_meth_get_destroy(usual)))) {
        BIO_meth_free(method);
        method = NULL;
    }
    return method;
}

// ---- what all connections share ----

static SSL_SESSION *session_with(SSL *ssl, const uint8_t key[TLS_SECRET_BYTES])
{
    SSL_SESSION *session = SSL_SESSION_new();
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, cipher_number);

    if (session && cipher && SSL_SESSION_set1_master_key(session, key, TLS_SECRET_BYTES) &&
        SSL_SESSION_set_cipher(session, cipher) &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION))
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

static int offer_secret(SSL *ssl, const EVP_MD *digest, const unsigned char **identity,
                        size_t *size, SSL_SESSION **session)
{
    struct tls *tls = SSL_get_app_data(ssl);

    *session = session_with(ssl, tls->key);
    *identity = tls->identity;
    *size = tls->identity_size;
    return *session != NULL;
}

static int tls_find_secret(SSL *ssl, const unsigned char *identity, size_t size,
                           SSL_SESSION **session)
{
    struct tls *tls = SSL_get_app_data(ssl);
    uint8_t key[TLS_SECRET_BYTES];

    *session = NULL;
    if (size > TLS_IDENTITY_MAX || tls->find(tls->argument, identity, size, key))
        return 1; // the handshake goes on without, and ends because there is nothing else
    *session = session_with(ssl, key);
    OPENSSL_cleanse(key, sizeof(key));
    return *session != NULL;
}

static SSL_CTX *tls_make_context(const SSL_METHOD *method)
{
    SSL_CTX *context = SSL_CTX_new(method);

    if (!context)
        return NULL;
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_clear_options(context, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_psk_use_session_callback(context, offer_secret);
    SSL_CTX_set_psk_find_session_callback(context, tls_find_secret);
    if (!SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) ||
        !SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) ||
        !SSL_CTX_set_ciphersuites(context, cipher_name) ||
        !SSL_CTX_set1_groups_list(context, group_name) || !SSL_CTX_set_num_tickets(context, 0) ||
        !SSL_CTX_set_max_early_data(context, 0)) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

static void tls_prepare(void)
{
    if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL) &&
        OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL))
        shared.socket = make_socket_method();
}

static int prepare_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, tls_prepare);
    return shared.socket ? 0 : -ENOMEM;
}

// A process is client or server, so only the context of its own end is created, because that takes
// a while.
static void make_client(void)
{
    shared.client = tls_make_context(TLS_client_method());
    // No authority is trusted, so that no certificate can stand in for the secret.
    if (shared.client)
        SSL_CTX_set_verify(shared.client, SSL_VERIFY_PEER, NULL);
    ERR_clear_error();
}

static void make_server(void)
{
    shared.server = tls_make_context(TLS_server_method());
    ERR_clear_error();
}

static int prepare_client(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int err = prepare_once();

    if (!err)
        pthread_once(&once, make_client);
    return err ? err : shared.client ? 0 : -ENOMEM;
}

int tls_prepare_server(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int err = prepare_once();

    if (!err)
        pthread_once(&once, make_server);
    return err ? err : shared.server ? 0 : -ENOMEM;
}

// ---- a connection ----

static int tls_new(SSL_CTX *context, int fd, bool for_data, struct tls **out)
{
    struct tls *tls = calloc(1, sizeof(*tls));
    SSL *ssl = tls ? SSL_new(context) : NULL;
    BIO *bio = ssl ? BIO_new(shared.socket) : NULL;

    if (!bio) {
        SSL_free(ssl);
        free(tls);
        return -ENOMEM;
    }
    BIO_set_fd(bio, fd, BIO_NOCLOSE);
    BIO_set_callback_arg(bio, (char *)tls);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_app_data(ssl, tls);
    if (for_data) {
        SSL_set_options(ssl, SSL_OP_ENABLE_KTLS);
        SSL_set_default_read_buffer_len(ssl, READ_AHEAD_BYTES);
    }
    tls->ssl = ssl;
    tls->renew_after = (uint64_t)TLS_RENEW_GIB << 30;
    pthread_mutex_init(&tls->lock, NULL);
    *out = tls;
    return 0;
}

int tls_client(int fd, const struct tls_secret *secret, bool for_data, struct tls **out)
{
    struct tls *tls;

    if (!secret->identity_size || secret->identity_size > TLS_IDENTITY_MAX)
        return -EINVAL;
    int err = prepare_client();
    if (!err)
        err = tls_new(shared.client, fd, for_data, &tls);
    if (err)
        return err;
    tls->identity = malloc(secret->identity_size);
    if (!tls->identity) {
        tls_discard(&tls);
        return -ENOMEM;
    }
    memcpy(tls->identity, secret->identity, secret->identity_size);
    memcpy(tls->key, secret->key, sizeof(tls->key));
    tls->identity_size = secret->identity_size;
    SSL_set_connect_state(tls->ssl);
    *out = tls;
    return 0;
}

int tls_server(int fd, tls_find find, void *argument, bool for_data, struct tls **out)
{
    struct tls *tls;
    int err = tls_prepare_server();

    if (!err)
        err = tls_new(shared.server, fd, for_data, &tls);
    if (err)
        return err;
    tls->find = find;
    tls->argument = argument;
    SSL_set_accept_state(tls->ssl);
    *out = tls;
    return 0;
}

void tls_discard(struct tls **tls)
{
    struct tls *old = *tls;

    if (!old)
        return;
    *tls = NULL;
    SSL_free(old->ssl);
    OPENSSL_cleanse(old->key, sizeof(old->key));
    free(old->identity);
    free(old);
}

// ---- outcomes ----

static int tls_note_problem(struct tls *tls)
{
    unsigned long error = ERR_peek_error();
    const char *reason = ERR_reason_error_string(error);
    int result = -EPROTO;

    if (ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        result = -ECONNRESET;
    if (!*tls->problem)
        snprintf(tls->problem, sizeof(tls->problem), "%s", reason ? reason : "malformed");
    ERR_clear_error();
    return result;
}

// Translates the RESULT of an SSL_ function: -EAGAIN or the end; 0 for the peer's orderly end.
static int tls_outcome(struct tls *tls, int result, int system_error)
{
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_WANT_READ: tls->wants = POLLIN; return -EAGAIN;
    case SSL_ERROR_WANT_WRITE: tls->wants = POLLOUT; return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN: return 0;
    case SSL_ERROR_SYSCALL: ERR_clear_error(); return system_error ? -system_error : -ECONNRESET;
    }
    return tls_note_problem(tls);
}

int tls_handshake(struct tls *tls)
{
    ERR_clear_error();
    errno = 0;
    int result = SSL_do_handshake(tls->ssl);
    if (result == 1) {
        // By the secret, and not in any other way that OpenSSL may know or learn.
        if (!SSL_session_reused(tls->ssl) || SSL_version(tls->ssl) != TLS1_3_VERSION) {
            snprintf(tls->problem, sizeof(tls->problem), "the peer does not use the secret");
            return -EPROTO;
        }
        OPENSSL_cleanse(tls->key, sizeof(tls->key));
        tls->ready = true;
        return 0;
    }
    int err = tls_outcome(tls, result, errno);
    return err ? err : -ECONNRESET;
}

const char *tls_problem(const struct tls *tls)
{
    return tls->problem;
}

// Under lock. Each side renews the keys with which it sends.
static int tls_renew(struct tls *tls)
{
    if (tls->sent < tls->renew_after || tls_in_kernel(tls))
        return 0;
    if (SSL_key_update(tls->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
        return tls_note_problem(tls);
    tls->sent = 0;
    return 0;
}

ssize_t tls_send(struct tls *tls, const void *data, size_t size)
{
    size_t done = 0;

    SCOPED_LOCK(&tls->lock);
    ERR_clear_error();
    int err = tls->send_again ? 0 : tls_renew(tls);
    if (!err) {
        errno = 0;
        int result = SSL_write_ex(tls->ssl, data, size, &done);
        if (result != 1) {
            err = tls_outcome(tls, result, errno);
            err = err ? err : -ECONNRESET;
        }
        tls->sent += done;
        tls->send_again = err == -EAGAIN;
    }
    return err ? err : (ssize_t)done;
}

ssize_t tls_receive(struct tls *tls, void *data, size_t size)
{
    size_t done = 0;
    int err = 0;

    SCOPED_LOCK(&tls->lock);
    ERR_clear_error();
    errno = 0;
    int result = SSL_read_ex(tls->ssl, data, size, &done);
    if (result != 1)
        err = tls_outcome(tls, result, errno);
    return done ? (ssize_t)done : err;
}

bool tls_pending(struct tls *tls)
{
    SCOPED_LOCK(&tls->lock);
    return SSL_has_pending(tls->ssl);
}

short tls_wants(const struct tls *tls)
{
    return tls->wants;
}

void tls_read_ahead(struct tls *tls)
{
    SSL_set_read_ahead(tls->ssl, 1);
}

void tls_use_descriptor(struct tls *tls, int fd)
{
    BIO_set_fd(SSL_get_rbio(tls->ssl), fd, BIO_NOCLOSE);
}

int tls_end(struct tls *tls)
{
    ERR_clear_error();
    errno = 0;
    int result = SSL_shutdown(tls->ssl);
    // 0: ours is out; the next call reads the peer's.
    if (result == 0) {
        errno = 0;
        result = SSL_shutdown(tls->ssl);
    }
    if (result == 1)
        return 0;
    int err = tls_outcome(tls, result, errno);
    return err ? err : -ECONNRESET;
}

int tls_export(struct tls *tls, uint8_t secret[TLS_SECRET_BYTES])
{
    if (!tls->ready || SSL_export_keying_material(tls->ssl, secret, TLS_SECRET_BYTES, export_label,
                                                  strlen(export_label), NULL, 0, 0) != 1)
        return -EPROTO;
    return 0;
}

bool tls_in_kernel(const struct tls *tls)
{
    return BIO_get_ktls_send(SSL_get_wbio(tls->ssl));
}

void tls_renew_after(struct tls *tls, uint64_t bytes)
{
    tls->renew_after = bytes;
}
