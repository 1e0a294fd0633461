// SPDX-License-Identifier: BSD-3-Clause
#include "broker/pool/names.h"

#include <pwd.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/service/helper.h"

enum { WAITING_MAX = 4096 };

struct name {
    uid_t uid;
    char number[16];
    char *text; // once the service has answered, if it knows the user
};

struct names {
    struct helper *helper;
    void *by_uid;
};

struct query {
    struct helper_job job;
    struct names *names;
    uid_t uid;
    char *text;
};

static int names_compare(const void *a, const void *b)
{
    uid_t left = ((const struct name *)a)->uid, right = ((const struct name *)b)->uid;

    return left < right ? -1 : left > right;
}

static struct name *names_find(struct names *names, uid_t uid)
{
    const struct name key = {.uid = uid};
    struct name **found = tfind(&key, &names->by_uid, names_compare);

    return found ? *found : NULL;
}

static void names_run(struct helper_job *job)
{
    struct query *query = (struct query *)job;
    struct passwd entry, *found = NULL;
    char buffer[16384];

    if (getpwuid_r(query->uid, &entry, buffer, sizeof(buffer), &found) == 0 && found)
        query->text = strdup(found->pw_name);
}

static void names_finish_query(struct helper_job *job)
{
    struct query *query = (struct query *)job;
    struct name *name = names_find(query->names, query->uid);

    if (name)
        name->text = query->text;
    else
        free(query->text);
    free(query);
}

struct names *names_new(void)
{
    struct names *names = calloc(1, sizeof(*names));

    if (names && !(names->helper = helper_new(1, WAITING_MAX))) {
        free(names);
        return NULL;
    }
    return names;
}

static void name_free(void *pointer)
{
    struct name *name = pointer;

    free(name->text);
    free(name);
}

void names_free(struct names **pointer)
{
    struct names *names = *pointer;

    if (!names)
        return;
    helper_free(&names->helper);
    tdestroy(names->by_uid, name_free);
    free(names);
    *pointer = NULL;
}

static struct name *want(struct names *names, uid_t uid)
{
    struct query *query = calloc(1, sizeof(*query));
    struct name *name = calloc(1, sizeof(*name));

    if (query && name) {
        *query = (struct query){.job = {.run = names_run, .done = names_finish_query},
                                .names = names,
                                .uid = uid};
        name->uid = uid;
        snprintf(name->number, sizeof(name->number), "%u", uid);
        if (!helper_submit(names->helper, &query->job)) {
            if (tsearch(name, &names->by_uid, names_compare))
                return name;
            query = NULL;
        }
    }
    free(query);
    free(name);
    return NULL;
}

const char *names_of(struct names *names, uid_t uid)
{
    static char number[16];
    struct name *name = NULL;

    if (names) {
        helper_finish(names->helper);
        name = names_find(names, uid);
        if (!name)
            name = want(names, uid);
    }
    if (name)
        return name->text ? name->text : name->number;
    snprintf(number, sizeof(number), "%u", uid);
    return number;
}
