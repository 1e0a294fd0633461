// SPDX-License-Identifier: BSD-3-Clause
// A transport as a whole: its offer, the obstacles to its use, and the ways in which its links are
// established.
//
// Each is one row, in the file of its name (shm_row.c), and one line `transport NAME` of
// proto/control.spec, which puts the row into the table. Client and worker go through the table and
// know no transport by name. No function of a row is NULL.
#ifndef RGPU_TRANSPORT_TRANSPORT_H
#define RGPU_TRANSPORT_TRANSPORT_H

#include "common/net/control.h"
#include "common/net/control_stream.h"
#include "proto/wire.h"
#include "common/net/vm_window.h"
#include "transport/link/link.h"

// The outcome of a failed connection.
enum transport_failure {
    TRANSPORT_TRY_NEXT,    // another transport may be proposed on the same session
    TRANSPORT_NEW_SESSION, // another session may try another transport
    TRANSPORT_GIVE_UP,     // nothing else can be had either
};

struct transport_window {
    int fd;                             // of its memory; -1: there is none
    int doorbells[VM_WINDOW_DOORBELLS]; // event files
};

// The state of a worker's side of a transport. `setup` is there from the start, memory and staging
// once the memory has been made, the rest once a client has come.
struct transport_worker {
    const struct control_setup *setup;
    // memory of the staging blocks; a link that shares it takes it, and leaves NULL
    struct shm_memory **memory;
    const struct link_staging *staging;
    const struct control_grant *grant;
    const struct transport_window *window; // into the client's machine
    // Has the GPU take the staging memory that a link brings with it. -errno.
    int (*show)(const struct link_staging *staging);
    struct control_stream *stream; // the connection over which the session was opened
    struct link_options options;
};

// The state of a client's side.
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

// The state of either of two workers that have a connection and look for a nearer way.
struct transport_peer {
    const struct control_setup *setup;
    bool privacy;                  // data that cross a network must be encrypted
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
    // Prepares the transport with the memory, before a client connects. If the transport is not
    // available, it logs the reason and is not offered.
    void (*prepare)(const struct transport_worker *worker);
    // Fills in *OFFER, which already has its token, for this client. Returns false if the transport
    // has no offer for it.
    bool (*offer)(const struct transport_worker *worker, struct control_offer *offer);
    // Called after the client has proposed this transport: waits until the link is established.
    // TEXT gets a description of the link.
    int (*accept)(struct transport_worker *worker, const struct control_offer *offer,
                  int64_t deadline, struct link **out, char *text, size_t room);
    // Frees the resources that no link has taken over; may be called without prepare.
    void (*withdraw)(void);

    // ---- the client's side ----
    // Writes this transport's part of the client's greeting to TEXT, which is still empty.
    void (*introduce)(char *text, size_t room);
    // Returns NULL if the transport may be tried, else the reason in words, or "" if that is not
    // worth a message. REASON gets the argument for this transport, if it is more than the lack of
    // another.
    const char *(*obstacle)(const struct transport_client *client, char *reason, size_t room);
    // TEXT gets a description of the link, or the error.
    int (*connect)(struct transport_client *client, struct link **out, char *text, size_t room);

    // ---- between two workers; one rendezvous at a time ----
    uint32_t peer_way; // of enum wire_peer_way
    // The called worker fills in *OFFER, which already has its token. Returns false if it has no
    // offer; TEXT says why.
    bool (*offer_peer)(const struct transport_peer *peer, struct control_offer *offer, char *text,
                       size_t room);
    // The calling worker has proposed this transport. -ECANCELED: it proposes another one. TEXT
    // gets a description of the link.
    int (*accept_peer)(const struct transport_peer *peer, const struct control_offer *offer,
                       int timeout_ms, struct link **out, char *text, size_t room);
    void (*withdraw_peer)(void);
    // Connects the calling worker. TEXT gets a description of the link, or the error.
    int (*connect_peer)(const struct transport_peer *peer, const struct control_offer *offer,
                        int timeout_ms, struct link **out, char *text, size_t room);
};

// Best first; the end is NULL. The last one needs nothing but the connection.
extern const struct transport *const transports[];
// Writes the client's description of itself, which any of them may use.
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
