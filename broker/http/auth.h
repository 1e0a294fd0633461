// SPDX-License-Identifier: BSD-3-Clause
// Authenticates the sender of a request. On the unix socket the kernel reports the user. Over TCP
// the request carries either a munge credential whose payload is a hash of the request, or an HMAC
// of the request with a shared key:
//
//     Authorization: Munge CREDENTIAL            payload: hex SHA-256 of the text below, and a
//                                                secret
//     Authorization: Rgpu KEY TIME NONCE MAC     mac: hex HMAC-SHA256(key, text || TIME || NONCE)
//     Authorization: RgpuBox NAME KEY TIME NONCE MAC      the same with a key of the box itself
//     Content-SHA256: hex SHA-256 of the body
//
//     text: METHOD " " PATH-WITH-QUERY "\n" hex SHA-256 of the body "\n"
//
// The broker therefore knows the sender before it reads the body. When the body is complete, it
// compares the body with the digest.
//
// The id of a shared key names its role: "scheduler" or "admin". A secret that sender and broker
// share (the key, or the secret in the credential) also authenticates the answer
// (common/security/api_auth.h).
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

// An administrator may do everything. These are flags because root is often box and administrator
// at once.
struct identity {
    bool known, admin, scheduler, box;
    bool local; // came over the unix socket
    // shares a secret with the broker, which authenticates the answer and seals secrets
    bool has_secret;
    uint8_t secret[SHA256_SIZE];
    char nonce[API_NONCE_TEXT]; // of the request
    bool has_uid;
    uid_t uid;
    char name[POOL_NAME_MAX + 8]; // for the event log
    char box_name[POOL_NAME_MAX]; // name of the box, if this is one
};

struct auth;

// Checks that the users and keys of the settings exist; logs each problem.
int auth_settings_check(const struct broker_settings *settings) __attribute__((warn_unused_result));
int auth_new(const struct broker_settings *settings, struct event_base *base, struct auth **auth)
    __attribute__((warn_unused_result));
// Drops queries that munge has not answered yet.
void auth_free(struct auth **auth);

struct auth_request {
    bool local; // came over the unix socket from user `uid`
    uid_t uid;
    const char *method, *target;
    const char *authorization; // or NULL
    const char *body_digest;   // as sent, or NULL
    bool has_body;
    const struct ticket_keyring *cluster; // the keys of boxes are derived from it
};

// A pending query to munge.
struct auth_job;
void auth_cancel(struct auth_job **job);

// OUTCOME_DONE: *WHO describes the sender; `known` is false if the request has no credentials.
// OUTCOME_UNAUTHORIZED: the credentials are wrong, for the reason `why`. OUTCOME_RESTARTED: the
// request is older than the broker's start; a new one will be accepted. OUTCOME_MUNGE_SILENT: too
// many queries wait for munge.
typedef void (*auth_done)(void *argument, enum outcome error, const struct identity *who,
                          const char *why);

// Calls `done` once: before it returns or, if it sets *job, later unless the job is cancelled.
void auth_check(struct auth *auth, const struct auth_request *request, auth_done done,
                void *argument, struct auth_job **job);

// Seals a secret so that only the signer of the request can open it (common/security/seal.h); the
// caller frees *sealed. OUTCOME_UNAUTHORIZED: the request was not signed.
enum outcome auth_seal(const struct identity *who, const char *text, char **sealed)
    __attribute__((warn_unused_result));

#endif
