// SPDX-License-Identifier: BSD-3-Clause
// How the bytes of a session will move: shared memory where both sides are on one host, else verbs
// where both have a device and a connection comes about, else TCP.
#include "client-lib/session/choose_transport.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client-lib/report/tell.h"
#include "client-lib/session/rdma_settings.h"
#include "common/log.h"

// A connection over verbs mostly stands soon or not at all, so that TCP is taken after a second. Who
// wants nothing else is given what a loaded machine may take.
enum {
    TRANSPORT_TIMEOUT_MS = 5000,
    RDMA_TIMEOUT_MS = 1000,
    RDMA_FORCED_TIMEOUT_MS = 15000,
    SPIN_PROCESSORS = 8,
    SPIN_FOR_GPU_US = 2000,
};

struct word {
    const char *name;
    int value;
};

// The value of the variable's word; -1: it is not one of the COUNT words, which is said.
static int word_of(const char *variable, const struct word *words, size_t count, int unset)
{
    const char *text = getenv(variable);
    if (!text || !*text)
        return unset;
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, words[i].name) == 0)
            return words[i].value;
    char known[160] = "";
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof(known) - used, "%s %s", i ? "," : "", words[i].name);
    }
    tell("%s is not one of%s", variable, known);
    return -1;
}

int transport_choice(enum control_transport *choice)
{
    static const struct word words[] = {{"auto", CONTROL_TRANSPORT_AUTOMATIC},
                                        {"shm", CONTROL_TRANSPORT_SHM},
                                        {"rdma", CONTROL_TRANSPORT_RDMA},
                                        {"tcp", CONTROL_TRANSPORT_TCP}};
    int value = word_of("RGPU_TRANSPORT", words, sizeof(words) / sizeof(words[0]),
                        CONTROL_TRANSPORT_AUTOMATIC);
    *choice = value < 0 ? CONTROL_TRANSPORT_AUTOMATIC : (enum control_transport)value;
    return value < 0 ? -EINVAL : 0;
}

int protection_choice(enum control_protection *choice)
{
    static const struct word words[] = {{"authenticate", CONTROL_PROTECTION_AUTHENTICATE},
                                        {"privacy", CONTROL_PROTECTION_PRIVACY}};
    int value = word_of("RGPU_PROTECTION", words, sizeof(words) / sizeof(words[0]),
                        CONTROL_PROTECTION_NONE);
    *choice = value < 0 ? CONTROL_PROTECTION_NONE : (enum control_protection)value;
    return value < 0 ? -EINVAL : 0;
}

static struct link_options link_settings(void)
{
    struct link_options options = {.spin_us = link_default_spin_us()};
    // A thread that waits for the GPU spins, as it would with a local one, where there are
    // processors for it; the wake-up from sleep costs tens of microseconds.
    if (sysconf(_SC_NPROCESSORS_ONLN) >= SPIN_PROCESSORS)
        options.spin_us = SPIN_FOR_GPU_US;
    const char *text = getenv("RGPU_SPIN_US");
    if (text && *text) {
        char *end;
        unsigned long value = strtoul(text, &end, 10);
        if (*end == 0 && value <= 1000000)
            options.spin_us = (uint32_t)value;
        else
            tell("RGPU_SPIN_US is not a number of microseconds up to 1000000; it is ignored");
    }
    return options;
}

// Whether the worker's abstract socket can be reached at all: same kernel, same network namespace.
static bool reaches(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    if (!length || length > sizeof(address.sun_path) - 1)
        return false;
    memcpy(address.sun_path + 1, name, length);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    int connected = connect(fd, (void *)&address,
                            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
    close(fd);
    return connected == 0;
}

static bool same_kernel(const uint8_t boot_id[CONTROL_BOOT_ID_BYTES])
{
    uint8_t ours[CONTROL_BOOT_ID_BYTES];
    return control_boot_id(ours) == 0 && memcmp(ours, boot_id, sizeof(ours)) == 0;
}

// Why shm cannot be had, or NULL when it can.
static const char *shm_obstacle(const struct session_welcome *welcome)
{
    if (!welcome->offer.shm_socket[0])
        return "the box offers none";
    if (!same_kernel(welcome->boot_id))
        return "the box is another host";
    if (!reaches(welcome->offer.shm_socket))
        return "the box is in another network namespace of this host";
    return NULL;
}

// One attempt's outcome beyond "it works" (0): the next best may be tried, or nothing can be.
enum { TRY_NEXT = 1, GIVE_UP = -1 };

struct choice {
    struct box_session *session;
    const struct session_welcome *welcome;
    enum control_transport wanted;
    struct link_options options;
    char reason[256]; // for the transport; collects what stood in the way of others
    struct session_error *error;
};

static int obstacle(struct choice *choice, const char *transport, const char *text)
{
    size_t used = strlen(choice->reason);
    snprintf(choice->reason + used, sizeof(choice->reason) - used, "%sno %s: %s", used ? "; " : "",
             transport, text);
    return TRY_NEXT;
}

static int propose(struct choice *choice, enum control_transport transport)
{
    return session_propose_transport(&choice->session->stream, transport, choice->reason,
                                     choice->error);
}

static int try_shm(struct choice *choice)
{
    const char *text = shm_obstacle(choice->welcome);
    if (text)
        return obstacle(choice, "shared memory", text);
    snprintf(choice->reason, sizeof(choice->reason), "same host, shared memory maps");
    if (propose(choice, CONTROL_TRANSPORT_SHM) != 0)
        return GIVE_UP;
    int err = link_shm_connect(choice->welcome->offer.shm_socket,
                               choice->welcome->offer.shm_token, choice->session->stream.fd,
                               TRANSPORT_TIMEOUT_MS, &choice->options, &choice->session->link);
    if (!err)
        return 0;
    // The worker has given its memory away; only another session can use TCP.
    choice->error->result = 0;
    snprintf(choice->error->text, sizeof(choice->error->text),
             "shared memory of box %s does not map: %s", choice->session->box, strerror(-err));
    return GIVE_UP;
}

static int try_rdma(struct choice *choice)
{
    const struct control_welcome *offer = &choice->welcome->offer;
    struct rdma_settings fabric;
    char before[160], text[320] = "";
    if (choice->welcome->protection == CONTROL_PROTECTION_PRIVACY)
        return obstacle(choice, "rdma", "protection=privacy, and RDMA sends data as they are");
    if (!offer->rdma_port)
        return obstacle(choice, "rdma", "the box offers none");
    snprintf(before, sizeof(before), "%.*s", (int)sizeof(before) - 1, choice->reason);
    snprintf(choice->reason, sizeof(choice->reason), "%s%sthe box has a device at %.60s", before,
             *before ? "; " : "", offer->rdma_address);
    if (propose(choice, CONTROL_TRANSPORT_RDMA) != 0)
        return GIVE_UP;
    rdma_settings_read(&fabric, choice->session->id);
    int timeout_ms = choice->wanted == CONTROL_TRANSPORT_RDMA ? RDMA_FORCED_TIMEOUT_MS
                                                              : RDMA_TIMEOUT_MS;
    int err = link_rdma_connect(offer->rdma_address, offer->rdma_port, offer->rdma_token,
                                choice->session->stream.fd, timeout_ms, &choice->options,
                                &fabric.options, &choice->session->link, text, sizeof(text));
    if (!err) {
        link_rdma_describe(choice->session->link, text, sizeof(text));
        log_info("rdma device=\"%s\" box=%s at=%s", text, choice->session->box,
                 offer->rdma_address);
        return 0;
    }
    snprintf(choice->reason, sizeof(choice->reason), "%s", before);
    if (choice->wanted == CONTROL_TRANSPORT_AUTOMATIC)
        log_info("no rdma box=%s reason=\"%s\"", choice->session->box, text);
    return obstacle(choice, "rdma", text);
}

static int use_tcp(struct choice *choice)
{
    if (propose(choice, CONTROL_TRANSPORT_TCP) != 0)
        return GIVE_UP;
    struct box_session *session = choice->session;
    struct tls *tls = NULL;
    int err = session_stream_release(&session->stream, choice->welcome->protection, &tls);
    if (!err)
        err = link_tcp_open(session->stream.fd, tls, &choice->options, &session->link);
    if (err) {
        tls_discard(&tls);
        choice->error->result = CUDA_ERROR_SYSTEM_NOT_READY;
        snprintf(choice->error->text, sizeof(choice->error->text),
                 "cannot use the connection to box %s: %s", choice->session->box, strerror(-err));
        return GIVE_UP;
    }
    session->stream.fd = -1;
    return 0;
}

static int refuse(struct choice *choice, const char *name)
{
    choice->error->result = CUDA_ERROR_SYSTEM_NOT_READY;
    snprintf(choice->error->text, sizeof(choice->error->text),
             "RGPU_TRANSPORT=%s, but %s (box %s); use RGPU_TRANSPORT=auto", name, choice->reason,
             choice->session->box);
    return GIVE_UP;
}

static int take(struct choice *choice)
{
    int r;
    switch (choice->wanted) {
    case CONTROL_TRANSPORT_SHM:
        r = try_shm(choice);
        return r == TRY_NEXT ? refuse(choice, "shm") : r;
    case CONTROL_TRANSPORT_RDMA:
        r = try_rdma(choice);
        return r == TRY_NEXT ? refuse(choice, "rdma") : r;
    case CONTROL_TRANSPORT_TCP:
        snprintf(choice->reason, sizeof(choice->reason), "asked for by RGPU_TRANSPORT=tcp");
        return use_tcp(choice);
    case CONTROL_TRANSPORT_AUTOMATIC:
    case CONTROL_TRANSPORT_LOOP:
        break;
    }
    r = try_shm(choice);
    if (r == TRY_NEXT)
        r = try_rdma(choice);
    return r == TRY_NEXT ? use_tcp(choice) : r;
}

int session_choose_link(struct box_session *session, const struct session_welcome *welcome,
                        enum control_transport wanted, struct session_error *error)
{
    struct choice choice = {.session = session, .welcome = welcome, .wanted = wanted,
                            .options = link_settings(), .error = error};
    session->spin_us = choice.options.spin_us;
    if (take(&choice) != 0)
        return -1;
    // What is still said on the connection is its end.
    tls_discard(&session->stream.tls);
    snprintf(session->transport_reason, sizeof(session->transport_reason), "%s", choice.reason);
    log_info("session opened box=%s session=%llu protection=%s transport=%s reason=\"%s\"",
             session->box, (unsigned long long)session->id,
             control_protection_name(welcome->protection), link_name(session->link), choice.reason);
    return 0;
}
