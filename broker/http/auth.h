// SPDX-License-Identifier: BSD-3-Clause
// Authenticates the sender of a request. On the unix socket the kernel reports the sender's user
// id. Over TCP the request carries a munge credential or an HMAC with a shared key:
//
//     Authorization: Munge CREDENTIAL            payload: hex SHA-256 of the text below, secret
//     Authorization: Rgpu KEY TIME NONCE MAC     MAC: hex HMAC-SHA256(key, text || TIME || NONCE)
//     Authorization: RgpuBox NAME KEY TIME NONCE MAC      the same with the box's own key
//     Authorization: Bearer HEX                  a shared key itself, with a role for metrics only
//     Content-SHA256: hex SHA-256 of the body
//
//     text: METHOD " " PATH-WITH-QUERY "\n" hex SHA-256 of the body "\n"
//
// The broker therefore knows the sender before it reads the body. When the body is complete, the
// broker compares it with the digest.
//
// The id of a shared key names the sender's role: "scheduler", "admin" or "metrics", or the sender,
// as "user.NAME". The key of "metrics" travels in the clear, as Prometheus can send nothing else,
// and opens the metrics only. Other answers are authenticated too, with the shared key or with the
// secret in the credential (common/security/api_auth.h).
#ifndef RGPU_BROKER_AUTH_H
#define RGPU_BROKER_AUTH_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "broker/http/broker_settings.h"
#include "broker/pool/outcome.h"
#include "broker/pool/pool.h"
#include "common/security/api_auth.h"
#include "common/security/ticket.h"

enum role { ROLE_NOBODY, ROLE_USER, ROLE_BOX, ROLE_SCHEDULER, ROLE_ADMIN };

// The sender of a request. The roles are flags because one sender can have several: root is often
// box and administrator. An administrator may do everything.
struct identity {
    bool known, admin, scheduler, box;
    bool metrics; // it may read the metrics, and nothing else
    bool local;   // the request came over the unix socket
    // `secret` is set: sender and broker share it to authenticate the answer and to seal secrets
    bool has_secret;
    uint8_t secret[SHA256_SIZE];
    char nonce[API_NONCE_TEXT]; // nonce of the request
    bool has_uid;
    uid_t uid;
    char name[POOL_NAME_MAX + 8]; // name of the sender for the event log
    char box_name[POOL_NAME_MAX]; // set if `box` is
};

struct auth;

// Checks that the users and key files of the settings exist. Logs each problem. Returns 0 or
// -EINVAL.
int auth_settings_check(const struct broker_settings *settings) __attribute__((warn_unused_result));
int auth_new(const struct broker_settings *settings, struct event_base *base, struct auth **auth)
    __attribute__((warn_unused_result));
// Reads users and key files again. Returns -EINVAL, logged, and then changes nothing.
int auth_reload(struct auth *auth, const struct broker_settings *settings)
    __attribute__((warn_unused_result));
// Frees; pending munge queries are cancelled.
void auth_free(struct auth **auth);

struct auth_request {
    bool local; // the request came over the unix socket from user `uid`
    uid_t uid;
    const char *method, *target;
    const char *authorization; // value of the header, or NULL
    const char *body_digest;   // value of the header Content-SHA256, or NULL
    bool has_body;
    const struct ticket_keyring *cluster; // cluster keys, from which the keys of boxes are derived
};

// A pending munge query. Cancelling it frees it and sets *JOB to NULL.
struct auth_job;
void auth_cancel(struct auth_job **job);

// Receives the result. OUTCOME_DONE: *WHO describes the sender; `known` is false if the request has
// no credentials. OUTCOME_UNAUTHORIZED: the credentials are invalid; WHY gives the reason.
// OUTCOME_RESTARTED: the request was signed before the broker started; the sender must sign a new
// one. OUTCOME_MUNGE_SILENT: too many munge queries are pending.
typedef void (*auth_done)(void *argument, enum outcome error, const struct identity *who,
                          const char *why);

// Authenticates a request and calls `done` exactly once: before auth_check returns, or later in the
// event loop. In the second case *JOB is set, and auth_cancel prevents the call.
void auth_check(struct auth *auth, const struct auth_request *request, auth_done done,
                void *argument, struct auth_job **job);

// Encrypts TEXT so that only the signer of the request can read it (common/security/seal.h). The
// caller frees *SEALED. Returns OUTCOME_UNAUTHORIZED if the request was not signed.
enum outcome auth_seal(const struct identity *who, const char *text, char **sealed)
    __attribute__((warn_unused_result));

#endif
