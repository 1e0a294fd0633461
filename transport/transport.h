// SPDX-License-Identifier: BSD-3-Clause
// A transport as a whole: what it offers, what stands in its way, and how its links come about.
//
// Each is one row, in the file of its name (shm_row.c), and one line `transport NAME` of proto/control.spec,
// which puts the row into the table. Client and worker go through the table and know no transport by name.
// No function of a row is NULL.
#ifndef RGPU_TRANSPORT_TRANSPORT_H
#define RGPU_TRANSPORT_TRANSPORT_H

#include "common/control.h"
#include "common/control_stream.h"
#include "proto/wire.h"
#include "common/vm_window.h"
#include "transport/link.h"

// What a connection that did not come about leaves.
enum transport_failure {
    TRANSPORT_TRY_NEXT,    // another transport may be proposed on the same session
    TRANSPORT_NEW_SESSION, // another session may try another transport
    TRANSPORT_GIVE_UP,     // nothing else can be had either
};

struct transport_window {
    int fd;                     // of its memory; -1: there is none
    int bells[VM_WINDOW_BELLS]; // event files
};

// What a worker's side of a transport works with. `setup` is there from the start, memory and staging once
// the memory has been made, the rest once a client has come.
struct transport_worker {
    const struct control_setup *setup;
    // Of the staging blocks; a link that shares it takes it, and leaves NULL.
    struct shm_memory **memory;
    const struct link_staging *staging;
    const struct control_grant *grant;
    const struct transport_window *window; // into the client's machine
    // Has the GPU take the staging memory that a link brings with it. -errno.
    int (*show)(const struct link_staging *staging);
    struct control_stream *stream; // the connection over which the session was opened
    struct link_options options;
};

// What a client's side works with.
struct transport_client {
    const char *box;                   // for messages
    const struct control_offer *offer; // the box's; NULL: it makes none
    const uint8_t *boot_id;            // of the box's kernel
    const char *sockets;               // directory in which workers of this host have sockets
    enum control_protection protection;
    uint64_t session;
    bool forced;          // nothing else will do
    unsigned connections; // that a session over tcp may have; 0: as this machine suits
    struct control_stream *stream;
    struct link_options options;
};

// What either of two workers works with that have a connection and look for a nearer way.
struct transport_peer {
    const struct control_setup *setup;
    bool privacy;                  // what crosses a network is to be encrypted
    struct control_stream *stream; // their connection, which stays for as long as the link
    const uint8_t *boot_id;        // of the called one's kernel; only the caller has it
    // The caller's: a connection to the socket of that name, which it may not make itself; -errno.
    int (*reach)(const char *name);
    struct link_options options;
};

struct transport {
    const char *name;
    const char *words; // the name in a sentence
    enum transport_failure failure;

    // ---- the worker's side; once each and in this order ----
    // While sockets can be made.
    int (*listen)(const struct transport_worker *worker);
    // Before a client comes, with the memory. What cannot be had is said in the log, and not offered.
    void (*prepare)(const struct transport_worker *worker);
    // Fills in *OFFER, whose token is there, for this client. False: there is none for it.
    bool (*offer)(const struct transport_worker *worker, struct control_offer *offer);
    // The client has proposed it: waits until its link stands. TEXT: what there is to say of the link.
    int (*accept)(struct transport_worker *worker, const struct control_offer *offer,
                  int64_t deadline, struct link **out, char *text, size_t room);
    // Gives up what no link has taken over; also where nothing was ever prepared.
    void (*withdraw)(void);

    // ---- the client's side ----
    // What the client says for its sake when it greets the box, where TEXT is still empty.
    void (*introduce)(char *text, size_t room);
    // Why it cannot be had here, in words, or "" where that is not worth a word; NULL: it may be tried. REASON gets what
    // speaks for it, if it is more than that nothing else can be had.
    const char *(*obstacle)(const struct transport_client *client, char *reason, size_t room);
    // TEXT: on success what there is to say of the link; else what is wrong.
    int (*connect)(struct transport_client *client, struct link **out, char *text, size_t room);

    // ---- between two workers; one meeting at a time ----
    uint32_t peer_way; // of enum wire_peer_way
    // The one that was called fills in *OFFER, whose token is there. False: there is none, TEXT says why.
    bool (*offer_peer)(const struct transport_peer *peer, struct control_offer *offer, char *text,
                       size_t room);
    // The caller has proposed it. -ECANCELED: it proposes something else. TEXT: what there is to say of the link.
    int (*accept_peer)(const struct transport_peer *peer, const struct control_offer *offer,
                       int timeout_ms, struct link **out, char *text, size_t room);
    void (*withdraw_peer)(void);
    // The caller. TEXT: on success what there is to say of the link; else what is wrong.
    int (*connect_peer)(const struct transport_peer *peer, const struct control_offer *offer,
                        int timeout_ms, struct link **out, char *text, size_t room);
};

// Best first; the end is NULL. The last one needs nothing but the connection.
extern const struct transport *const transports[];
// What the client says of itself for the sake of any of them.
void transports_introduce(char *text, size_t room);
// NULL: there is none of that name.
const struct transport *transport_named(const char *name);

// For rows that have nothing to do there.
int transport_listen_nowhere(const struct transport_worker *worker);
void transport_prepare_nothing(const struct transport_worker *worker);
void transport_withdraw_nothing(void);
bool transport_offer_no_peer(const struct transport_peer *peer, struct control_offer *offer,
                             char *text, size_t room);
int transport_accept_no_peer(const struct transport_peer *peer, const struct control_offer *offer,
                             int timeout_ms, struct link **out, char *text, size_t room);
int transport_connect_no_peer(const struct transport_peer *peer, const struct control_offer *offer,
                              int timeout_ms, struct link **out, char *text, size_t room);
void transport_introduce_nothing(char *text, size_t room);

#endif
