// SPDX-License-Identifier: BSD-3-Clause
// Blocking client of the broker's API (docs/reference/broker-api.md), for rgpuctl, the scheduler's
// plugins and tests. Link with -ljansson -lmunge.
//
// A client is used by one thread at a time. Every call returns by its deadline. Functions return 0
// or -errno unless stated otherwise; after a failure broker_client_error() returns a message for
// users.
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
    const char *key_file;     // file with one line "ID HEX64"; NULL: RGPU_BROKER_KEY, else munge
    const char *munge_socket; // NULL: RGPU_MUNGE_SOCKET, else the default socket of munged
    const char *broker_user;  // name or number; NULL: see broker_client_open
    unsigned timeout_ms;      // limit for each call; 0: 10,000
};

// Finds the broker: by option `address`, else RGPU_BROKER, else the file /etc/rgpu/broker, else the
// socket of a broker on this host. The first call connects. -ENOENT: none of them names a broker;
// -EPERM: other users can read the key file; -EBADMSG: it is no key file. *CLIENT is also set on
// failure, except for -ENOMEM, for broker_client_error(). The caller closes *CLIENT.
//
// Over TCP every answer must be authenticated: by the shared key, or by a secret that munge reveals
// only to the broker's user. That user is option `broker_user`, else RGPU_BROKER_USER, else the
// second word of /etc/rgpu/broker, else "rgpu-broker".
int broker_client_open(const struct broker_client_options *options, struct broker_client **client)
    __attribute__((warn_unused_result));
void broker_client_close(struct broker_client **client);

// Returns the reason of the last failure, never NULL; valid until the next call.
const char *broker_client_error(const struct broker_client *client);
// Sets the message for an error of the caller, and returns ERROR.
int broker_client_explain(struct broker_client *client, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *broker_client_address(const struct broker_client *client);

// Sends a request and waits for the answer. BODY may be NULL and stays with the caller. Returns 0
// if the HTTP status is below 300; the caller then owns a reference to *ANSWER. ANSWER may be NULL.
// Errors reported by the broker:
//   -EAGAIN busy; -E2BIG impossible; -ENOENT not found; -ESTALE ended; -EACCES not authenticated;
//   -EPERM forbidden; -EEXIST conflict; -EINVAL bad request; -EREMOTEIO failure of the broker.
// Errors without an answer: -ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT, -EPROTO.
int broker_client_call(struct broker_client *client, const char *method, const char *path,
                       const json_t *body, json_t **answer) __attribute__((warn_unused_result));
// As broker_client_call(), with the limit TIMEOUT_MS, for long polls.
int broker_client_call_for(struct broker_client *client, unsigned timeout_ms, const char *method,
                           const char *path, const json_t *body, json_t **answer)
    __attribute__((warn_unused_result));

// ---- leases and tickets, for schedulers ----

struct broker_acquire {
    // such as "CLUSTER/JOB/START"; a repeated request with the same key returns the same lease
    const char *key;
    const char *job;     // free text for people
    const char *account; // account of the job in the scheduler; NULL: none
    uid_t owner;
    const char *mode; // "exclusive" or "shared"
    uint32_t count;
    uint64_t memory;        // bytes; shared: of each share; exclusive: minimum of each GPU
    const char *protection; // "authenticate" or "privacy"; NULL: the broker's default
    const char *constraint; // see broker_request_constrain; NULL or "": none
    const char *compute;    // percent of the multiprocessors of each GPU, such as "25%"; NULL: all
    const char *near;       // value of the constraint near= if `constraint` has none; NULL: none
    uint64_t lifetime;      // seconds; 0: until released
    bool queue;             // if no GPUs are free, queue the request instead of refusing it
    bool ticket;            // also return a ticket
};

struct broker_lease {
    char id[64];
    char state[16];
    char pending[512]; // why the lease waits, or ""
    char *ticket;      // bundle (common/security/ticket.h) or NULL; freed by broker_lease_clear
    json_t *gpus;      // that it has, as the broker shows them; released by broker_lease_clear
};

// Creates the JSON object "request" of an acquire; the caller owns the reference. On -EINVAL, BAD
// (SIZE bytes) contains the invalid word of the constraint.
int broker_acquire_request(const struct broker_acquire *acquire, json_t **request, char *bad,
                           size_t size) __attribute__((warn_unused_result));
int broker_client_acquire(struct broker_client *client, const struct broker_acquire *acquire,
                          struct broker_lease *lease) __attribute__((warn_unused_result));
// Waits at most SECONDS until lease ID is granted. Also returns 0 if it is still queued: see
// lease->state.
int broker_client_await(struct broker_client *client, const char *id, unsigned seconds,
                        struct broker_lease *lease) __attribute__((warn_unused_result));
// Gets a ticket, valid for SECONDS (0: the broker's default), for the lease with id ID or, if ID is
// NULL, with key KEY. The caller frees *BUNDLE.
int broker_client_ticket(struct broker_client *client, const char *id, const char *key,
                         uint64_t seconds, char **bundle) __attribute__((warn_unused_result));
// Gets a ticket with request BODY (docs/reference/broker-api.md), whose reference it takes over.
// The caller frees *BUNDLE.
int broker_client_ask_ticket(struct broker_client *client, json_t *body, char **bundle)
    __attribute__((warn_unused_result));
// Release a lease. Succeed also if the lease has ended or the key was never used.
int broker_client_release(struct broker_client *client, const char *id)
    __attribute__((warn_unused_result));
int broker_client_release_key(struct broker_client *client, const char *key)
    __attribute__((warn_unused_result));
int broker_client_renew(struct broker_client *client, const char *id, uint64_t seconds)
    __attribute__((warn_unused_result));
void broker_lease_clear(struct broker_lease *lease);

// The constraints, for people; a part of formats.
#define BROKER_CONSTRAINTS \
    "model=, box=, locality= (patterns), near=PLACE, min-memory=SIZE, min-capability=8.0, " \
    "compute=25%%, policy=pack|spread|best-fit, protection=authenticate|privacy, index=NUMBER, " \
    "same-box, different-boxes, drained"

// Adds constraints to a "request" object. TEXT is a list of BROKER_CONSTRAINTS such as
// "model=*H200*,same-box,policy=spread". On -EINVAL, BAD (SIZE bytes) contains the invalid word.
int broker_request_constrain(json_t *request, const char *text, char *bad, size_t size)
    __attribute__((warn_unused_result));

#endif
