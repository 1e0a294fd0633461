// SPDX-License-Identifier: BSD-3-Clause
// A client that breaks the handshake in one of many ways and prints how the box takes it:
// "refused code=... result=... text", "answered version=N", "closed" or "gone".
// usage: hostile_client HOST:PORT MISCHIEF
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/net/control_stream.h"
#include "common/net/endpoint.h"

enum { TIMEOUT_MS = 10000 };

static int fd;
static uint8_t frame[64 * 1024];

static void put(const void *data, size_t size)
{
    if (send(fd, data, size, MSG_NOSIGNAL) != (ssize_t)size) {
        printf("gone\n");
        exit(0);
    }
}

static struct control_hello good_hello(void)
{
    return (struct control_hello){.magic = CONTROL_MAGIC,
                                  .version_oldest = CONTROL_VERSION_OLDEST,
                                  .version_newest = CONTROL_VERSION,
                                  .pid = 1,
                                  .library = "0",
                                  .host = "hostile",
                                  .program = "hostile"};
}

static size_t encode(enum control_message_type type, const void *message)
{
    int size = control_encode(type, message, frame, sizeof(frame));

    if (size < 0)
        exit(2);
    return (size_t)size;
}

static size_t encode_hello(void)
{
    struct control_hello hello = good_hello();

    return encode(CONTROL_HELLO, &hello);
}

static void set_body_size(uint32_t size)
{
    size = htole32(size);
    memcpy(frame, &size, sizeof(size));
}

static void garbage(void)
{
    memset(frame, 0xa5, 64);
    put(frame, 64);
}

static void http(void)
{
    put("GET / HTTP/1.1\r\n\r\n", 18);
}

static void bad_magic(void)
{
    struct control_hello hello = good_hello();

    hello.magic++;
    put(frame, encode(CONTROL_HELLO, &hello));
}

static void oversized(void)
{
    encode_hello();
    set_body_size(0x7fffffff);
    put(frame, CONTROL_HEADER_BYTES);
}

static void short_body(void)
{
    size_t size = encode_hello();

    set_body_size((uint32_t)(size - CONTROL_HEADER_BYTES - 3));
    put(frame, size - 3);
}

// The length of the first string is behind magic, two versions, a byte, protection, boot id and
// pid.
static void long_string(void)
{
    size_t size = encode_hello(), at = CONTROL_HEADER_BYTES + 4 + 2 + 2 + 1 + 16 + 4;
    uint32_t length = htole32(64);

    memcpy(frame + at, &length, sizeof(length));
    memset(frame + size, 'x', 200);
    set_body_size((uint32_t)(size + 200 - CONTROL_HEADER_BYTES));
    put(frame, size + 200);
}

static void control_characters(void)
{
    struct control_hello hello = good_hello();

    strcpy(hello.program, "forged\nrgpud: info: all is well");
    put(frame, encode(CONTROL_HELLO, &hello));
}

static void reply_first(void)
{
    struct control_hello_reply reply = {.magic = CONTROL_MAGIC};

    put(frame, encode(CONTROL_HELLO_REPLY, &reply));
}

static void hello_twice(void)
{
    size_t size = encode_hello();

    memcpy(frame + size, frame, size);
    put(frame, 2 * size);
}

static void worker_message(void)
{
    struct control_ended ended = {0};

    put(frame, encode(CONTROL_ENDED, &ended));
}

// Without the ticket of a lease.
static void meet(void)
{
    struct control_rendezvous nobody = {.magic = CONTROL_MAGIC};

    put(frame, encode(CONTROL_RENDEZVOUS, &nobody));
}

static void extended_hello(void)
{
    size_t size = encode_hello();

    memset(frame + size, 7, 100);
    set_body_size((uint32_t)(size + 100 - CONTROL_HEADER_BYTES));
    put(frame, size + 100);
}

static void truncated(void)
{
    put(frame, encode_hello() - 10);
    shutdown(fd, SHUT_WR);
}

static void silent(void)
{
}

static void slow(void)
{
    size_t size = encode_hello();

    for (size_t i = 0; i < size; i++) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        put(frame + i, 1);
        if (poll(&wait, 1, 200) > 0)
            return;
    }
}

static void reset(void)
{
    struct linger linger = {.l_onoff = 1};

    put(frame, encode_hello() - 4);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    close(fd);
    printf("gone\n");
    exit(0);
}

static void versions(uint16_t oldest, uint16_t newest)
{
    struct control_hello hello = good_hello();

    hello.version_oldest = oldest;
    hello.version_newest = newest;
    put(frame, encode(CONTROL_HELLO, &hello));
}

static void future(void)
{
    versions(99, 100);
}

static void ancient_and_future(void)
{
    versions(1, 100);
}

static const struct {
    const char *name;
    void (*run)(void);
} mischiefs[] = {
    {"garbage", garbage},
    {"http", http},
    {"bad-magic", bad_magic},
    {"oversized", oversized},
    {"short-body", short_body},
    {"long-string", long_string},
    {"control-characters", control_characters},
    {"reply-first", reply_first},
    {"hello-twice", hello_twice},
    {"worker-message", worker_message},
    {"meet", meet},
    {"extended-hello", extended_hello},
    {"truncated", truncated},
    {"silent", silent},
    {"slow", slow},
    {"reset", reset},
    {"future", future},
    {"ancient-and-future", ancient_and_future},
};

// Prints the messages after a greeting that was answered.
static void print_answer(const struct control_stream *stream, struct control_frame *reply,
                         unsigned version)
{
    struct control_refused refused;

    if (!control_receive(stream, reply, clock_ms() + TIMEOUT_MS) &&
        !control_decode(reply, CONTROL_REFUSED, &refused))
        printf("refused code=%s result=%d %s\n", control_refusal_name(refused.code), refused.result,
               refused.text);
    else
        printf("answered version=%u\n", version);
}

static void print_outcome(void)
{
    struct control_frame reply = {0};
    struct control_refused refused;
    struct control_hello_reply answer;
    struct control_stream stream = {.fd = fd};
    int err = control_receive(&stream, &reply, clock_ms() + TIMEOUT_MS);

    if (err)
        printf("%s\n", err == -ECONNRESET ? "closed" : strerror(-err));
    else if (!control_decode(&reply, CONTROL_REFUSED, &refused))
        printf("refused code=%s result=%d %s\n", control_refusal_name(refused.code), refused.result,
               refused.text);
    else if (!control_decode(&reply, CONTROL_HELLO_REPLY, &answer))
        print_answer(&stream, &reply, answer.version);
    else
        printf("strange reply\n");
    control_frame_free(&reply);
}

int main(int argc, char **argv)
{
    struct endpoint endpoint;

    if (argc != 3 || endpoint_parse(argv[1], 0, &endpoint))
        return 2;
    fd = endpoint_connect(&endpoint, TIMEOUT_MS);
    if (fd < 0)
        return 2;
    for (size_t i = 0; i < sizeof(mischiefs) / sizeof(mischiefs[0]); i++) {
        if (!strcmp(mischiefs[i].name, argv[2])) {
            mischiefs[i].run();
            print_outcome();
            close(fd);
            return 0;
        }
    }
    return 2;
}
