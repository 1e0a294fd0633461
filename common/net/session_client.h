// SPDX-License-Identifier: BSD-3-Clause
// The client's side of opening a session: connect, versions, authentication, waiting for a worker.
// Depends on nothing but libc, the control protocol and the client's half of tickets.
#ifndef RGPU_COMMON_SESSION_CLIENT_H
#define RGPU_COMMON_SESSION_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "common/net/control_stream.h"
#include "common/net/endpoint.h"

enum {
    SESSION_CONNECT_TIMEOUT_MS = 5000, // unless RGPU_CONNECT_TIMEOUT says otherwise
    SESSION_START_TIMEOUT_MS = 120000, // unless RGPU_START_TIMEOUT: longest wait in the box's queue
};

struct session_request {
    struct endpoint endpoint;
    const char *token;                  // this box's whole ticket token, NULL without one
    const char *box;                    // the box's name in the ticket
    enum control_protection protection; // the least that will do; none: what box and ticket say
    const char *windows;                // that this machine has, with commas; NULL: none
    int connect_timeout_ms;             // per step; 0: RGPU_CONNECT_TIMEOUT or 5 s
    int start_timeout_ms;               // 0: RGPU_START_TIMEOUT or 120 s
};

struct session_welcome {
    uint16_t version;
    uint64_t session;
    enum control_protection protection; // the session's protection
    char box[128];
    char release[64];                       // of rgpu there; empty: the first
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES]; // of the box's kernel
    struct control_welcome offer;           // transports and snapshot (a view into frame)
    struct control_frame frame;
};

struct session_error {
    int result;     // the CUresult to report
    char text[640]; // one line: what is wrong and what to do
};

// Opens a session; blocks at most for the time-outs. On success 0, *stream is the connection to the
// worker (non-blocking, close-on-exec) and OUT is filled; else -1 and *error. Any thread.
// With a ticket everything is said inside TLS, and only to the box that the ticket is for.
int session_open(const struct session_request *request, struct session_welcome *out,
                 struct control_stream *stream, struct session_error *error)
    __attribute__((warn_unused_result));
void session_stream_close(struct control_stream *stream);

// Asks a box without opening a session: connects and, with a ticket, proves it. 0, or -1 and
// *error.
int session_ask_open(const struct session_request *request, struct control_stream *stream,
                     struct session_error *error) __attribute__((warn_unused_result));
// Looks at a GPU of the lease. One after the other may be asked for within the box's
// handshake_timeout. FRAME holds what views of *out point to. 0, or -1 and *error.
int session_query_figures(const struct session_request *request,
                          const struct control_stream *stream, unsigned gpu,
                          struct control_frame *frame, struct control_figures *out,
                          struct session_error *error) __attribute__((warn_unused_result));

// Publishes a value to other processes of the lease, or waits for one, as MEET says, within WAIT_MS
// (0: the usual time of an answer). A published value stands for as long as *stream is open.
// Returns 0, or -1 and *error.
int session_rendezvous(const struct session_request *request, const struct control_stream *stream,
                       const struct control_rendezvous *meet, int wait_ms,
                       struct control_rendezvous_reply *out, struct session_error *error)
    __attribute__((warn_unused_result));

void session_welcome_free(struct session_welcome *welcome);

// Proposes a transport to the worker, with the reason, and waits for its agreement. Returns -1 on
// failure. If error->result is 0, the worker does not agree, and another transport may be proposed;
// otherwise the connection cannot be used further.
int session_propose_transport(const struct control_stream *stream, const char *transport,
                              const char *reason, struct session_error *error)
    __attribute__((warn_unused_result));

// After the agreement on the connection itself: where its data are not to be protected TLS ends,
// else it goes on and *tls is for the link.
int session_stream_release(struct control_stream *stream, enum control_protection protection,
                           struct tls **tls) __attribute__((warn_unused_result));

#endif
