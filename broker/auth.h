/*
 * Who is asking. On the unix socket the kernel says so. Over TCP either a munge credential whose
 * payload is the hash of the request, or an HMAC with a shared key over the request:
 *
 *     Authorization: Munge CREDENTIAL            payload: hex SHA-256 of the text below
 *     Authorization: Rgpu KEY TIME NONCE MAC     mac: hex HMAC-SHA256(key, text || TIME || NONCE)
 *     Content-SHA256: hex SHA-256 of the body
 *
 *     text: METHOD " " PATH-WITH-QUERY "\n" hex SHA-256 of the body "\n"
 *
 * So who asks is known before there is a body; that it is this body is checked when it has come.
 *
 * A shared key's id says its role: "box", "scheduler", "admin", or "box.NAME" for one box only.
 */
#ifndef RGPU_BROKER_AUTH_H
#define RGPU_BROKER_AUTH_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "broker/settings.h"
#include "common/ticket.h"

enum role { ROLE_NOBODY, ROLE_USER, ROLE_BOX, ROLE_SCHEDULER, ROLE_ADMIN };

/* An administrator may do everything; root is often box and administrator at once, hence flags. */
struct identity {
    bool known, admin, scheduler, box;
    bool local;            /* over the unix socket */
    const struct ticket_key *key; /* that signed the request, or NULL */
    char nonce[33];               /* of that signature */
    bool has_uid;
    uid_t uid;
    char name[64];     /* for the event log */
    char box_name[64]; /* the only box that this identity may speak for; empty: any */
};

struct auth;

int auth_new(const struct settings *settings, struct event_base *base, struct auth **auth)
    __attribute__((warn_unused_result));
/* What is still being asked is forgotten. */
void auth_free(struct auth **auth);

struct auth_request {
    bool local; /* over the unix socket, by this user */
    uid_t uid;
    const char *method, *target;
    const char *authorization; /* or NULL */
    const char *body_digest;   /* as sent, or NULL */
    bool has_body;
};

/* Something that munge has been asked. */
struct auth_job;
void auth_cancel(struct auth_job **job);

/*
 * `error` 0: *who, who is not known where there are no credentials. -EACCES: they are wrong, `why`
 * says how; -EAGAIN: they are from before the broker's start, others will do; -EBUSY: munge has too
 * much to do.
 */
typedef void (*auth_done)(void *context, int error, const struct identity *who, const char *why);

/* Calls `done` once: before it returns, or, with *job set, later unless cancelled. */
void auth_check(struct auth *auth, const struct auth_request *request, auth_done done,
                void *context, struct auth_job **job);

typedef void (*auth_sealed)(void *context, int error, const char *sealed);

/*
 * Seals a secret for who signed the request, as nobody else can open it (common/seal.h, or a munge
 * credential for his uid). Calls `done` as auth_check does.
 */
void auth_seal(struct auth *auth, const struct identity *who, const char *text, auth_sealed done,
               void *context, struct auth_job **job);

#endif
