// SPDX-License-Identifier: BSD-3-Clause
// The users and shared keys that the settings name. Names are resolved once, at the start.
#ifndef RGPU_BROKER_HTTP_AUTH_MEMBERS_H
#define RGPU_BROKER_HTTP_AUTH_MEMBERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "broker/http/broker_settings.h"
#include "common/security/ticket.h"

#define AUTH_USERS_MAX 64

struct user_list {
    uid_t uids[AUTH_USERS_MAX];
    size_t count;
};

struct auth_members {
    struct user_list admins, schedulers;
    struct ticket_keyring keys;
    uid_t key_users[TICKET_KEYS_MAX]; // owner of each key whose id begins with "user."
};

// All that is wrong is logged. Returns 0 or a negative error number.
int auth_members_read(const struct broker_settings *settings, struct auth_members *members)
    __attribute__((warn_unused_result));
bool auth_members_has(const struct user_list *list, uid_t uid);
// Returns the user's name or number in the id of a key, or NULL if the key is of another role.
const char *auth_members_user_of(const char *id);

#endif
