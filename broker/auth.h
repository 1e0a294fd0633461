/*
 * Who is asking. On the unix socket the kernel says so. Over TCP either a munge credential whose
 * payload is the hash of the request, or an HMAC with a shared key over the request:
 *
 *     Authorization: Munge CREDENTIAL            payload: hex SHA-256 of the text below
 *     Authorization: Rgpu KEY TIME NONCE MAC     mac: hex HMAC-SHA256(key, text || TIME || NONCE)
 *
 *     text: METHOD " " PATH-WITH-QUERY "\n" hex SHA-256 of the body "\n"
 *
 * A shared key's id says its role: "box", "scheduler", "admin", or "box.NAME" for one box only.
 */
#ifndef RGPU_BROKER_AUTH_H
#define RGPU_BROKER_AUTH_H

#include <event2/http.h>
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

int auth_new(const struct settings *settings, struct auth **auth)
    __attribute__((warn_unused_result));
void auth_free(struct auth **auth);

/* Fills *who. A request without credentials gives one who is not known. -EACCES: credentials that
 * are wrong, *why says how; -EAGAIN: they are from before the broker's start, others will do. */
int auth_check(struct auth *auth, struct evhttp_request *request, struct identity *who,
               const char **why) __attribute__((warn_unused_result));

/*
 * Puts a secret into an answer: as `name` over the unix socket; over TCP as "sealed_`name`", which
 * only who signed the request can open (common/seal.h, or a munge credential for his uid).
 */
int auth_put_secret(struct auth *auth, const struct identity *who, json_t *answer,
                    const char *name, const char *text) __attribute__((warn_unused_result));

#endif
