// SPDX-License-Identifier: BSD-3-Clause
// Who is asking. On the unix socket the kernel says so. Over TCP either a munge credential whose
// payload is the hash of the request, or an HMAC with a shared key over the request:
//
//     Authorization: Munge CREDENTIAL            payload: hex SHA-256 of the text below, and a secret
//     Authorization: Rgpu KEY TIME NONCE MAC     mac: hex HMAC-SHA256(key, text || TIME || NONCE)
//     Authorization: RgpuBox NAME KEY TIME NONCE MAC      the same with a key of the box itself
//     Content-SHA256: hex SHA-256 of the body
//
//     text: METHOD " " PATH-WITH-QUERY "\n" hex SHA-256 of the body "\n"
//
// So who asks is known before there is a body; that it is this body is checked when it has come.
//
// A shared key's id says its role: "scheduler" or "admin". What the asker has in common with the broker
// (the key, or the secret in the credential) proves the answer (common/api_auth.h).
#ifndef RGPU_BROKER_AUTH_H
#define RGPU_BROKER_AUTH_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "broker/broker_settings.h"
#include "broker/outcome.h"
#include "broker/pool.h"
#include "common/api_auth.h"
#include "common/ticket.h"

enum role { ROLE_NOBODY, ROLE_USER, ROLE_BOX, ROLE_SCHEDULER, ROLE_ADMIN };

// An administrator may do everything; root is often box and administrator at once, hence flags.
struct identity {
    bool known, admin, scheduler, box;
    bool local;      // over the unix socket
    bool has_secret; // in common with the broker: it proves the answer, and seals
    uint8_t secret[SHA256_SIZE];
    char nonce[API_NONCE_TEXT]; // of the request
    bool has_uid;
    uid_t uid;
    char name[POOL_NAME_MAX + 8]; // for the event log
    char box_name[POOL_NAME_MAX]; // the box that this is
};

struct auth;

// Whether users and keys of the settings are there; what is wrong is logged.
int auth_settings_check(const struct broker_settings *settings) __attribute__((warn_unused_result));
int auth_new(const struct broker_settings *settings, struct event_base *base, struct auth **auth)
    __attribute__((warn_unused_result));
// Questions that munge has not answered yet are dropped.
void auth_free(struct auth **auth);

struct auth_request {
    bool local; // over the unix socket, by this user
    uid_t uid;
    const char *method, *target;
    const char *authorization; // or NULL
    const char *body_digest;   // as sent, or NULL
    bool has_body;
    const struct ticket_keyring *cluster; // from which the keys of boxes follow
};

// Something that munge has been asked.
struct auth_job;
void auth_cancel(struct auth_job **job);

// OUTCOME_DONE: *who, who is not known where there are no credentials. OUTCOME_UNAUTHORIZED: they are
// wrong, `why` says how; OUTCOME_RESTARTED: they are from before the broker's start, others will do;
// OUTCOME_MUNGE_SILENT: munge has too much to do.
typedef void (*auth_done)(void *argument, enum outcome error, const struct identity *who,
                          const char *why);

// Calls `done` once: before it returns, or, with *job set, later unless cancelled.
void auth_check(struct auth *auth, const struct auth_request *request, auth_done done,
                void *argument, struct auth_job **job);

// Seals a secret so that only who signed the request can open it (common/seal.h); the caller frees
// *sealed. OUTCOME_UNAUTHORIZED: nobody did.
enum outcome auth_seal(const struct identity *who, const char *text, char **sealed)
    __attribute__((warn_unused_result));

#endif
