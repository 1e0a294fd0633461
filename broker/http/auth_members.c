// SPDX-License-Identifier: BSD-3-Clause
#include "broker/http/auth_members.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

static bool members_find_user(const char *name, uid_t *uid)
{
    const struct passwd *entry = getpwnam(name);
    char *end;
    unsigned long number = strtoul(name, &end, 10);

    if (entry)
        *uid = entry->pw_uid;
    else if (*name && !*end && number < UINT32_MAX)
        *uid = (uid_t)number;
    else
        return false;
    return true;
}

// A name without a user is a mistake in the file, or the name service does not answer. The intended
// user would not have the role, so it is an error. `optional`: the name is the setting's default,
// which need not exist.
static int members_resolve(const char *option, char **names, const char *optional,
                           struct user_list *list)
{
    int error = 0;

    for (; *names; names++) {
        if (list->count == AUTH_USERS_MAX) {
            config_complain(settings_table, "auth", option, "%s: more than %d users", option,
                            AUTH_USERS_MAX);
            return -EINVAL;
        }
        if (members_find_user(*names, &list->uids[list->count]))
            list->count++;
        else if (strcmp(*names, optional)) {
            config_complain(settings_table, "auth", option, "%s: there is no user %s", option,
                            *names);
            error = -EINVAL;
        }
    }
    return error;
}

const char *auth_members_user_of(const char *id)
{
    return strncmp(id, "user.", 5) ? NULL : id + 5;
}

static int members_load_keys(const struct broker_settings *settings, struct auth_members *members)
{
    int error;

    if (!settings->key_file || !*settings->key_file)
        return 0;
    error = ticket_keyring_load(settings->key_file, &members->keys);
    if (error)
        config_complain(settings_table, "auth", "key_file", "key_file=%s: %s", settings->key_file,
                        ticket_keyring_explain(error));
    for (size_t i = 0; !error && i < members->keys.count; i++) {
        const char *user = auth_members_user_of(members->keys.keys[i].id);
        if (!user || members_find_user(user, &members->key_users[i]))
            continue;
        config_complain(settings_table, "auth", "key_file", "key_file=%s: there is no user %s",
                        settings->key_file, user);
        error = -EINVAL;
    }
    return error;
}

int auth_members_read(const struct broker_settings *settings, struct auth_members *members)
{
    int parts[] = {members_resolve("admins", settings->admins, "root", &members->admins),
                   members_resolve("schedulers", settings->schedulers, "slurm",
                                   &members->schedulers),
                   members_load_keys(settings, members)};

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (parts[i])
            return parts[i];
    return 0;
}

bool auth_members_has(const struct user_list *list, uid_t uid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->uids[i] == uid)
            return true;
    return false;
}
