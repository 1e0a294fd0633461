// SPDX-License-Identifier: BSD-3-Clause
// Transports: what each one offers, when it cannot be used, and how it creates links.
//
// A transport is one struct in the file of its name (such as shm_row.c), and one line `transport
// NAME` of proto/control.spec, which adds it to the table. Client and worker use the table only. No
// function pointer is NULL.
#ifndef RGPU_TRANSPORT_TRANSPORT_H
#define RGPU_TRANSPORT_TRANSPORT_H

#include "common/net/control.h"
#include "common/net/control_stream.h"
#include "proto/wire.h"
#include "common/net/vm_window.h"
#include "transport/link/link.h"

// The next step after a failed connection.
enum transport_failure {
    TRANSPORT_TRY_NEXT,    // try another transport for the same session
    TRANSPORT_NEW_SESSION, // another session may use another transport
    TRANSPORT_GIVE_UP,     // no transport will work
};

struct transport_window {
    int fd;                             // memory of the window; -1: none
    int doorbells[VM_WINDOW_DOORBELLS]; // eventfds
};

// Worker's state. `setup` is always valid, memory and staging once the memory is allocated, the
// rest once a client has connected.
struct transport_worker {
    const struct control_setup *setup;
    // Memory of the staging blocks. A link that uses it takes ownership and sets it to NULL.
    struct shm_memory **memory;
    const struct link_staging *staging;
    const struct control_grant *grant;
    const struct transport_window *window; // window of the client's virtual machine
    // Registers staging memory that a link has allocated with the GPU. Returns 0 or -errno.
    int (*show)(const struct link_staging *staging);
    struct control_stream *stream; // connection over which the session was opened
    struct link_options options;
};

// Client's state.
struct transport_client {
    const char *box;                   // name of the box, for messages
    const struct control_offer *offer; // offer of the box, or NULL
    const uint8_t *boot_id;            // boot id of the box's kernel
    const char *sockets;               // directory with the sockets of workers on this host
    enum control_protection protection;
    uint64_t session;
    bool forced;          // the user demands this transport
    unsigned connections; // number of connections of a tcp session; 0: default for this machine
    // address of the box, the offer of connections that continue lost ones (NULL: none), and how
    // long these are waited for
    const char *address;
    const struct control_offer *resume;
    uint32_t reconnect_ms;
    struct control_stream *stream;
    struct link_options options;
};

// State of two workers that are connected and try to create a faster link.
struct transport_peer {
    const struct control_setup *setup;
    bool privacy;                  // encrypt data on a network
    struct control_stream *stream; // their connection, open as long as the link
    const uint8_t *boot_id;        // boot id of the called worker's kernel; only set for the caller
    // Caller only: returns a socket connected to NAME, which this process may not open itself; or
    // -errno.
    int (*reach)(const char *name);
    struct link_options options;
};

struct transport {
    const char *name;
    const char *words; // name for messages
    enum transport_failure failure;

    // ---- worker; each is called once, in this order ----
    //   Called while the process can create sockets (before it is confined).
    int (*listen)(const struct transport_worker *worker);
    // Called when the staging memory exists, before a client connects. If the transport is
    // unavailable, logs the reason and does not offer it.
    void (*prepare)(const struct transport_worker *worker);
    // Fills in *OFFER, whose token is set, for the client. Returns false if there is nothing to
    // offer.
    bool (*offer)(const struct transport_worker *worker, struct control_offer *offer);
    // Called when the client has chosen this transport. Waits until the link is connected. TEXT
    // receives a description of the link.
    int (*accept)(struct transport_worker *worker, const struct control_offer *offer,
                  int64_t deadline, struct link **out, char *text, size_t room);
    // Frees what no link has taken. May be called without prepare.
    void (*withdraw)(void);

    // ---- client ----
    //   Writes the transport's part of the client's greeting to the empty TEXT.
    void (*introduce)(char *text, size_t room);
    // Returns NULL if the transport can be tried, else the reason, or "" for a trivial reason.
    // REASON receives an argument for this transport, if there is a specific one.
    const char *(*obstacle)(const struct transport_client *client, char *reason, size_t room);
    // TEXT receives a description of the link, or the error.
    int (*connect)(struct transport_client *client, struct link **out, char *text, size_t room);

    // ---- between two workers; one link at a time ----
    uint32_t peer_way; // one of enum wire_peer_way
    // Called worker: fills in *OFFER, whose token is set. Returns false with the reason in TEXT if
    // there is nothing to offer.
    bool (*offer_peer)(const struct transport_peer *peer, struct control_offer *offer, char *text,
                       size_t room);
    // Called worker: waits for the link that the caller has chosen. Returns -ECANCELED if the
    // caller chooses another one. TEXT receives a description of the link.
    int (*accept_peer)(const struct transport_peer *peer, const struct control_offer *offer,
                       int timeout_ms, struct link **out, char *text, size_t room);
    void (*withdraw_peer)(void);
    // Calling worker: connects. TEXT receives a description of the link, or the error.
    int (*connect_peer)(const struct transport_peer *peer, const struct control_offer *offer,
                        int timeout_ms, struct link **out, char *text, size_t room);
};

// Best first, NULL at the end. The last one (tcp) needs only the existing connection.
extern const struct transport *const transports[];
// Writes the client's greeting: the parts of all transports.
void transports_introduce(char *text, size_t room);
// Returns NULL if there is no such transport.
const struct transport *transport_named(const char *name);

// Lets a link of the client survive lost connections, by a function of its transport. The link owns
// the client's connection from then on.
int transport_survive(const struct transport_client *client, struct link *link,
                      int (*survive)(struct link *link, const struct link_reconnect *plan));

// For transports that have nothing to do in a step.
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
