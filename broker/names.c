// SPDX-License-Identifier: BSD-3-Clause
// A thread that asks the name service for users.
#include "broker/names.h"

#include <pthread.h>
#include <pwd.h>
#include <search.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/scope.h"

struct name {
    STAILQ_ENTRY(name) link;
    uid_t uid;
    char number[16];
    _Atomic(char *) text; // once the service has answered, if it knows him
};

STAILQ_HEAD(name_list, name);

struct names {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct name_list wanted;
    bool stop;
    void *by_uid; // of the thread that asks us
};

static int compare(const void *a, const void *b)
{
    uid_t left = ((const struct name *)a)->uid, right = ((const struct name *)b)->uid;

    return left < right ? -1 : left > right;
}

static void ask(struct name *name)
{
    struct passwd entry, *found = NULL;
    char buffer[16384];

    if (getpwuid_r(name->uid, &entry, buffer, sizeof(buffer), &found) == 0 && found)
        atomic_store(&name->text, strdup(found->pw_name));
}

// NULL: the thread is to end.
static struct name *next_wanted(struct names *names)
{
    SCOPED_LOCK(&names->lock);
    while (!names->stop && STAILQ_EMPTY(&names->wanted))
        pthread_cond_wait(&names->wake, &names->lock);
    if (names->stop)
        return NULL;
    struct name *name = STAILQ_FIRST(&names->wanted);
    STAILQ_REMOVE_HEAD(&names->wanted, link);
    return name;
}

static void *serve(void *argument)
{
    struct name *name;

    while ((name = next_wanted(argument)))
        ask(name);
    return NULL;
}

struct names *names_new(void)
{
    struct names *names = calloc(1, sizeof(*names));
    sigset_t all, before;
    int error;

    if (!names)
        return NULL;
    pthread_mutex_init(&names->lock, NULL);
    pthread_cond_init(&names->wake, NULL);
    STAILQ_INIT(&names->wanted);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&names->thread, NULL, serve, names);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error)
        return names;
    free(names);
    return NULL;
}

static void name_free(void *pointer)
{
    struct name *name = pointer;

    free(atomic_load(&name->text));
    free(name);
}

void names_free(struct names **pointer)
{
    struct names *names = *pointer;

    if (!names)
        return;
    {
        SCOPED_LOCK(&names->lock);
        names->stop = true;
        pthread_cond_signal(&names->wake);
    }
    pthread_join(names->thread, NULL);
    tdestroy(names->by_uid, name_free);
    pthread_cond_destroy(&names->wake);
    pthread_mutex_destroy(&names->lock);
    free(names);
    *pointer = NULL;
}

static struct name *want(struct names *names, uid_t uid)
{
    struct name *name = calloc(1, sizeof(*name));

    if (!name)
        return NULL;
    name->uid = uid;
    snprintf(name->number, sizeof(name->number), "%u", uid);
    if (!tsearch(name, &names->by_uid, compare)) {
        free(name);
        return NULL;
    }
    SCOPED_LOCK(&names->lock);
    STAILQ_INSERT_TAIL(&names->wanted, name, link);
    pthread_cond_signal(&names->wake);
    return name;
}

const char *names_of(struct names *names, uid_t uid)
{
    static char number[16];
    struct name key = {.uid = uid}, **found, *name = NULL;
    const char *text;

    if (names) {
        found = tfind(&key, &names->by_uid, compare);
        name = found ? *found : want(names, uid);
    }
    if (!name) {
        snprintf(number, sizeof(number), "%u", uid);
        return number;
    }
    text = atomic_load(&name->text);
    return text ? text : name->number;
}
