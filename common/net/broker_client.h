// SPDX-License-Identifier: BSD-3-Clause
// A blocking client of the broker's API (docs/reference/broker-api.md), for rgpuctl, the
// scheduler's plugins and tests. Programs that use it link -ljansson -lmunge.
//
// One client is for one thread at a time; any number of clients may exist. Every call ends within
// its deadline. A call that fails leaves a sentence for people in broker_client_error.
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
    const char *address;  // "host:port" or "unix:/path"; NULL: see broker_client_open
    const char *key_file; // a shared key, one "ID HEX64" line; NULL: RGPU_BROKER_KEY, else munge
    const char *munge_socket; // NULL: RGPU_MUNGE_SOCKET, else munged's usual place
    const char *broker_user;  // name or number; NULL: RGPU_BROKER_USER, else see below
    unsigned timeout_ms;      // of each call; 0: 10 s
};

// Over TCP every answer to a signed request is proven, or the call fails: by the shared key, or by
// a secret that munge hands to `broker_user` alone. The broker's user is the option, else
// RGPU_BROKER_USER, else the second word of /etc/rgpu/broker, else "rgpu-broker".
//
// Finds the broker: the option, else RGPU_BROKER, else the file /etc/rgpu/broker, else the socket
// of a broker on this host. Connects with the first call. -ENOENT: nothing says where the broker
// is; -EPERM, -EBADMSG: the key file is not private, or is not one. *client is set in any case but
// -ENOMEM, so that its error can be shown; broker_client_close it.
int broker_client_open(const struct broker_client_options *options, struct broker_client **client)
    __attribute__((warn_unused_result));
void broker_client_close(struct broker_client **client);

// Why the last call failed; never NULL.
const char *broker_client_error(const struct broker_client *client);
// For callers that find an error themselves: sets the sentence, returns `error`.
int broker_client_explain(struct broker_client *client, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *broker_client_address(const struct broker_client *client);

// One request. `body` is borrowed and may be NULL. 0: the broker answered with a status below 300,
// and *answer (may be NULL) is its JSON, to be decref'ed. Refusals of the broker:
//   -EAGAIN busy; -E2BIG impossible; -ENOENT not found; -ESTALE ended; -EACCES not authenticated;
//   -EPERM forbidden; -EEXIST conflict; -EINVAL bad request; -EREMOTEIO it failed.
// No answer: -ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT, -EPROTO.
int broker_client_call(struct broker_client *client, const char *method, const char *path,
                       const json_t *body, json_t **answer) __attribute__((warn_unused_result));
// The same with a deadline of its own, for long polls.
int broker_client_call_for(struct broker_client *client, unsigned timeout_ms, const char *method,
                           const char *path, const json_t *body, json_t **answer)
    __attribute__((warn_unused_result));

// ---- what schedulers need ----

struct broker_acquire {
    const char *key;     // the caller's, e.g. "CLUSTER/JOB/START"; makes a repeat harmless
    const char *job;     // for people
    const char *account; // that the job is charged to; NULL: none
    uid_t owner;
    const char *mode; // "exclusive" or "shared"
    uint32_t count;
    uint64_t memory;        // budget per share in bytes; for exclusive the least the GPU must have
    const char *protection; // "authenticate" or "privacy"; NULL: the broker's default
    const char *constraint; // see broker_request_constrain; NULL or "": none
    const char *compute;    // percent of the multiprocessors of each GPU, such as "25%"; NULL: all
    const char *near;       // the constraint near=, unless `constraint` has one; or NULL
    uint64_t lifetime;      // seconds; 0: until released
    bool queue;             // wait in the broker's queue rather than be refused
    bool ticket;
};

struct broker_lease {
    char id[64];
    char state[16];
    char pending[512]; // why it waits, where the broker says so
    char *ticket;      // the bundle, or NULL; freed by broker_lease_clear
};

// The "request" of an acquire, for the caller to decref. -EINVAL: the word of its constraint that
// was not understood is in *bad (of `size` bytes).
int broker_acquire_request(const struct broker_acquire *acquire, json_t **request, char *bad,
                           size_t size) __attribute__((warn_unused_result));
int broker_client_acquire(struct broker_client *client, const struct broker_acquire *acquire,
                          struct broker_lease *lease) __attribute__((warn_unused_result));
// Waits at most `seconds` for a queued lease; `lease->state` says how it stands.
int broker_client_await(struct broker_client *client, const char *id, unsigned seconds,
                        struct broker_lease *lease) __attribute__((warn_unused_result));
// A ticket for a lease by id, or by key where id is NULL; `seconds` 0: the broker's default.
int broker_client_ticket(struct broker_client *client, const char *id, const char *key,
                         uint64_t seconds, char **bundle) __attribute__((warn_unused_result));
// The same with a request BODY (docs/reference/broker-api.md), which this function releases. The
// caller frees *bundle.
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
// policy=pack|spread|best-fit, same-box, different-boxes, protection=authenticate|privacy. -EINVAL
// with the word that was not understood in *bad (of `size` bytes).
int broker_request_constrain(json_t *request, const char *text, char *bad, size_t size)
    __attribute__((warn_unused_result));

#endif
