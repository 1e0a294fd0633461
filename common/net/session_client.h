// SPDX-License-Identifier: BSD-3-Clause
// Client's side of opening a session: connect, agree on versions, authenticate, wait for a worker.
// Depends only on libc, the control protocol and the client's part of tickets.
#ifndef RGPU_COMMON_SESSION_CLIENT_H
#define RGPU_COMMON_SESSION_CLIENT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/net/control_stream.h"
#include "common/net/endpoint.h"

enum {
    SESSION_CONNECT_TIMEOUT_MS = 5000, // default of RGPU_CONNECT_TIMEOUT
    // default of RGPU_START_TIMEOUT: maximum wait in the box's queue
    SESSION_START_TIMEOUT_MS = 120000,
};

struct session_request {
    struct endpoint endpoint;
    const char *token;                  // token of the ticket for this box, or NULL
    const char *box;                    // name of the box in the ticket
    enum control_protection protection; // minimum protection; none: what box and ticket require
    // ids of this machine's windows, separated by commas; NULL: none
    const char *windows;
    uint32_t reconnect_ms;  // how long a lost connection is waited for; 0: not at all
    int connect_timeout_ms; // for each step; 0: RGPU_CONNECT_TIMEOUT or the default
    int start_timeout_ms;   // 0: RGPU_START_TIMEOUT or the default
};

struct session_welcome {
    uint16_t version;
    uint64_t session;
    enum control_protection protection; // protection of the session
    char box[128];
    char release[64];                       // release of rgpu on the box; "" for the first one
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES]; // boot id of the box's kernel
    struct control_welcome offer;           // transports and snapshot; points into `frame`
    struct control_frame frame;
};

// Returns true if the peer has closed the connection: another one may succeed.
static inline bool session_was_cut(int err)
{
    return err == -ECONNRESET || err == -EPIPE;
}

struct session_error {
    int result;     // CUresult for the program
    bool lost;      // the connection broke before the session stood; another one may succeed
    char text[640]; // one line: the problem and its remedy
};

// Opens a session; blocks at most for the timeouts. Returns 0, the connection to the worker
// (*STREAM, non-blocking, close-on-exec) and *OUT; or -1 and *ERROR. Thread-safe. With a ticket
// everything is sent inside TLS, to the box of the ticket only.
int session_open(const struct session_request *request, struct session_welcome *out,
                 struct control_stream *stream, struct session_error *error)
    __attribute__((warn_unused_result));
void session_stream_close(struct control_stream *stream);

// Connects to a box for queries, without opening a session; authenticates with the ticket, if there
// is one. Returns 0, or -1 and *ERROR.
int session_ask_open(const struct session_request *request, struct control_stream *stream,
                     struct session_error *error) __attribute__((warn_unused_result));
// Queries the figures of GPU number GPU of the lease. Several queries can follow each other within
// the box's handshake_timeout. *OUT points into FRAME. Returns 0, or -1 and *ERROR.
int session_query_figures(const struct session_request *request,
                          const struct control_stream *stream, unsigned gpu,
                          struct control_frame *frame, struct control_figures *out,
                          struct session_error *error) __attribute__((warn_unused_result));

// Publishes a value to other processes of the lease, or waits for one, as MEET says, for at most
// WAIT_MS (0: the usual time of an answer). A published value exists while *STREAM is open. Returns
// 0, or -1 and *ERROR.
int session_rendezvous(const struct session_request *request, const struct control_stream *stream,
                       const struct control_rendezvous *meet, int wait_ms,
                       struct control_rendezvous_reply *out, struct session_error *error)
    __attribute__((warn_unused_result));

void session_welcome_free(struct session_welcome *welcome);

// Proposes a transport to the worker, with the reason for it, and waits for the answer. Returns 0
// or -1. If error->result is 0, the worker has refused, and another transport can be proposed;
// otherwise the connection is unusable.
int session_propose_transport(const struct control_stream *stream, const char *transport,
                              const char *reason, struct session_error *error)
    __attribute__((warn_unused_result));

// Prepares the connection for data, after both sides have agreed to use it as transport. TLS ends
// if PROTECTION does not cover data; otherwise it continues, and *TLS is for the link.
int session_stream_release(struct control_stream *stream, enum control_protection protection,
                           struct tls **tls) __attribute__((warn_unused_result));

#endif
