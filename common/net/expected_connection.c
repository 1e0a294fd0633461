// SPDX-License-Identifier: BSD-3-Clause
#include "common/net/expected_connection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/net/control_stream.h"

// "rgpu-peer:SESSION:NUMBER"; 16 and 8 digits.
static const char name_format[] = "rgpu-peer:%016llx:%08x";
enum { NAME_BYTES = EXPECTED_CONNECTION_NAME_BYTES, NAME_BEGINNING = 10 };

bool expected_connection_is_name(const void *identity, size_t size)
{
    return size == NAME_BYTES && !memcmp(identity, name_format, NAME_BEGINNING);
}

int expected_connection_parse(const void *identity, uint64_t *session, uint32_t *number)
{
    char name[NAME_BYTES + 1] = "";
    unsigned long long session_read;
    unsigned number_read;

    memcpy(name, identity, NAME_BYTES);
    if (sscanf(name, name_format, &session_read, &number_read) != 2)
        return -EINVAL;
    *session = session_read;
    *number = number_read;
    return 0;
}

static int greet(const struct control_stream *stream, int64_t deadline)
{
    struct control_peer_hello hello = {.magic = CONTROL_MAGIC, .list = CONTROL_VERSION};
    struct control_peer_taken taken;
    struct control_frame frame = {0};
    int err = control_send(stream, CONTROL_PEER_HELLO, &hello, deadline);

    if (!err)
        err = control_receive(stream, &frame, deadline);
    if (!err)
        err = control_decode(&frame, CONTROL_PEER_TAKEN, &taken);
    if (!err && taken.magic != CONTROL_MAGIC)
        err = -EBADMSG;
    control_frame_free(&frame);
    return err;
}

int expected_connection_prove(int fd, uint64_t session, uint32_t number,
                              const uint8_t token[CONTROL_TOKEN_BYTES], int64_t deadline,
                              uint8_t secret[TLS_SECRET_BYTES])
{
    struct control_stream stream = {.fd = fd};
    struct tls_secret proof;
    char name[NAME_BYTES + 1];

    snprintf(name, sizeof(name), name_format, (unsigned long long)session, number);
    proof.identity = name;
    proof.identity_size = NAME_BYTES;
    memcpy(proof.key, token, sizeof(proof.key));
    int err = tls_client(fd, &proof, false, &stream.tls);
    explicit_bzero(&proof, sizeof(proof));
    if (!err)
        err = control_secure(&stream, deadline);
    if (!err)
        err = greet(&stream, deadline);
    if (!err)
        err = tls_export(stream.tls, secret);
    tls_discard(&stream.tls);
    return err;
}

static int expected_connection_give_secret(void *secret, const void *identity, size_t size,
                                           uint8_t key[TLS_SECRET_BYTES])
{
    memcpy(key, secret, TLS_SECRET_BYTES);
    return 0;
}

int expected_connection_protect(int fd, bool called, uint8_t secret[TLS_SECRET_BYTES],
                                int64_t deadline, struct tls **out)
{
    static const char name[] = "worker";
    struct tls_secret shared = {.identity = name, .identity_size = sizeof(name) - 1};
    struct control_stream stream = {.fd = fd};

    memcpy(shared.key, secret, sizeof(shared.key));
    int err = called ? tls_server(fd, expected_connection_give_secret, secret, true, &stream.tls)
                     : tls_client(fd, &shared, true, &stream.tls);
    explicit_bzero(&shared, sizeof(shared));
    if (!err)
        err = control_secure(&stream, deadline);
    if (err)
        tls_discard(&stream.tls);
    *out = stream.tls;
    return err;
}
