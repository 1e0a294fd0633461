// SPDX-License-Identifier: BSD-3-Clause
// A blocking client of the broker's API (docs/reference/broker-api.md), for rgpuctl, the
// scheduler's plugins and tests. Programs that use it link -ljansson -lmunge.
//
// One thread at a time uses a client; a program may have several clients. Every call returns by its
// deadline. After a failure broker_client_error() returns a message for people. Functions return 0
// or -errno unless stated otherwise.
#ifndef RGPU_COMMON_BROKER_CLIENT_H
#define RGPU_COMMON_BROKER_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define BROKER_SOCKET "/run/rgpu-broker/broker.sock"
#define BROKER_ADDRESS_FILE "/etc/rgpu/broker"
#define BROKER_USER "rgpu-broker"

struct broker_client;

struct broker_client_options {
    const char *address;      // "host:port" or "unix:/path"; NULL: see broker_client_open
    const char *key_file;     // with one line "ID HEX64"; NULL: RGPU_BROKER_KEY, else munge
    const char *munge_socket; // NULL: RGPU_MUNGE_SOCKET, else the default socket of munged
    const char *broker_user;  // name or number; NULL: see broker_client_open
    unsigned timeout_ms;      // of each call; 0: 10,000
};

// Finds the broker by the option `address`, else RGPU_BROKER, else the file /etc/rgpu/broker, else
// the socket of a broker on this host. The first call connects. Returns -ENOENT if none of them
// names a broker, -EPERM if the key file is not private, -EBADMSG if it is no key file. Sets
// *client also on failure, except for -ENOMEM, so that the caller can print the error. The caller
// closes *client.
//
// Over TCP the broker authenticates every answer to a signed request, by the shared key or by a
// secret that munge gives only to the broker's user; a call without that fails. The broker's user
// is the option `broker_user`, else RGPU_BROKER_USER, else the second word of /etc/rgpu/broker,
// else "rgpu-broker".
int broker_client_open(const struct broker_client_options *options, struct broker_client **client)
    __attribute__((warn_unused_result));
void broker_client_close(struct broker_client **client);

// Returns the reason of the last failure; never NULL. It is valid until the next call.
const char *broker_client_error(const struct broker_client *client);
// Sets the message for an error that the caller has detected, and returns ERROR.
int broker_client_explain(struct broker_client *client, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *broker_client_address(const struct broker_client *client);

// Sends one request and waits for the answer. BODY (NULL: none) stays the caller's. Returns 0 if
// the HTTP status is below 300; then the caller releases *ANSWER with json_decref. ANSWER may be
// NULL. Errors that the broker reports:
//   -EAGAIN busy; -E2BIG impossible; -ENOENT not found; -ESTALE ended; -EACCES not authenticated;
//   -EPERM forbidden; -EEXIST conflict; -EINVAL bad request; -EREMOTEIO failure of the broker.
// Errors without an answer: -ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT, -EPROTO.
int broker_client_call(struct broker_client *client, const char *method, const char *path,
                       const json_t *body, json_t **answer) __attribute__((warn_unused_result));
// As above, but with the time limit TIMEOUT_MS, for long polls.
int broker_client_call_for(struct broker_client *client, unsigned timeout_ms, const char *method,
                           const char *path, const json_t *body, json_t **answer)
    __attribute__((warn_unused_result));

// ---- leases and tickets, for schedulers ----

struct broker_acquire {
    const char *key;     // e.g. "CLUSTER/JOB/START"; a repeated request with it gets the same lease
    const char *job;     // free text for people
    const char *account; // account of the job in the scheduler; NULL: none
    uid_t owner;
    const char *mode; // "exclusive" or "shared"
    uint32_t count;
    uint64_t memory; // bytes; shared: the budget of each share; exclusive: minimum of each GPU
    const char *protection; // "authenticate" or "privacy"; NULL: the broker's default
    const char *constraint; // see broker_request_constrain; NULL or "": none
    const char *compute;    // percent of the multiprocessors of each GPU, such as "25%"; NULL: all
    const char *near;       // default for the constraint near=; NULL: none
    uint64_t lifetime;      // seconds; 0: until released
    bool queue;             // if no GPUs are free: true queues the request, false refuses it
    bool ticket;            // also issue a ticket
};

struct broker_lease {
    char id[64];
    char state[16];
    char pending[512]; // reason of the wait; "": not queued, or none given
    char *ticket;      // bundle (common/security/ticket.h) or NULL; freed by broker_lease_clear
};

// Creates the JSON object "request" of an acquire; the caller releases it with json_decref. On
// -EINVAL, BAD (SIZE bytes) has the word of the constraint that is invalid.
int broker_acquire_request(const struct broker_acquire *acquire, json_t **request, char *bad,
                           size_t size) __attribute__((warn_unused_result));
int broker_client_acquire(struct broker_client *client, const struct broker_acquire *acquire,
                          struct broker_lease *lease) __attribute__((warn_unused_result));
// Waits at most SECONDS for the lease ID to be granted. Returns 0 also if it is still queued, as
// lease->state shows.
int broker_client_await(struct broker_client *client, const char *id, unsigned seconds,
                        struct broker_lease *lease) __attribute__((warn_unused_result));
// Gets a ticket for the lease with id ID, or with key KEY if ID is NULL, for SECONDS (0: the
// broker's default). The caller frees *bundle.
int broker_client_ticket(struct broker_client *client, const char *id, const char *key,
                         uint64_t seconds, char **bundle) __attribute__((warn_unused_result));
// Gets a ticket with the request BODY (docs/reference/broker-api.md), which this function releases.
// The caller frees *bundle.
int broker_client_ask_ticket(struct broker_client *client, json_t *body, char **bundle)
    __attribute__((warn_unused_result));
// Releases a lease. Returns success also if the lease has ended or, by key, was never acquired.
int broker_client_release(struct broker_client *client, const char *id)
    __attribute__((warn_unused_result));
int broker_client_release_key(struct broker_client *client, const char *key)
    __attribute__((warn_unused_result));
int broker_client_renew(struct broker_client *client, const char *id, uint64_t seconds)
    __attribute__((warn_unused_result));
void broker_lease_clear(struct broker_lease *lease);

// Adds constraints to a "request" object from text such as "model=*H200*,same-box,policy=spread":
// model=, box=, locality= (globs), min-memory=SIZE, min-capability=8.0, near=PLACE|PLACE,
// policy=pack|spread|best-fit, same-box, different-boxes, protection=authenticate|privacy. On
// -EINVAL, BAD (SIZE bytes) has the word that is invalid.
int broker_request_constrain(json_t *request, const char *text, char *bad, size_t size)
    __attribute__((warn_unused_result));

#endif
