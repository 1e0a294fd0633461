// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/broker/revocations.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/log.h"

struct revocation {
    TAILQ_ENTRY(revocation) link;
    char lease[128];
    int64_t until;
};

TAILQ_HEAD(revocation_list, revocation);

struct revocations {
    char *path;
    void *tree; // by lease
    struct revocation_list all;
    bool changed;
};

static int revocations_compare(const void *a, const void *b)
{
    return strcmp(((const struct revocation *)a)->lease, ((const struct revocation *)b)->lease);
}

static struct revocation *revocations_find(const struct revocations *list, const char *lease)
{
    struct revocation key, **found;

    if (strlen(lease) >= sizeof(key.lease))
        return NULL;
    strcpy(key.lease, lease);
    found = tfind(&key, &list->tree, revocations_compare);
    return found ? *found : NULL;
}

int revocations_add(struct revocations *list, const char *lease, int64_t until)
{
    struct revocation *entry = revocations_find(list, lease);

    if (strlen(lease) >= sizeof(entry->lease))
        return -EINVAL;
    if (entry) {
        list->changed |= until > entry->until;
        entry->until = until > entry->until ? until : entry->until;
        return 0;
    }
    entry = calloc(1, sizeof(*entry));
    if (!entry)
        return -ENOMEM;
    strcpy(entry->lease, lease);
    entry->until = until;
    if (!tsearch(entry, &list->tree, revocations_compare)) {
        free(entry);
        return -ENOMEM;
    }
    TAILQ_INSERT_TAIL(&list->all, entry, link);
    list->changed = true;
    return 0;
}

bool revocations_has(const struct revocations *list, const char *lease)
{
    return revocations_find(list, lease) != NULL;
}

static void revocations_forget(struct revocations *list, struct revocation *entry)
{
    tdelete(entry, &list->tree, revocations_compare);
    TAILQ_REMOVE(&list->all, entry, link);
    free(entry);
}

void revocations_remove(struct revocations *list, const char *lease)
{
    struct revocation *entry = revocations_find(list, lease);

    if (!entry)
        return;
    revocations_forget(list, entry);
    list->changed = true;
}

// Parses a line "LEASE SECONDS". Every line must be valid and complete: a lease whose entry is lost
// could open sessions again.
static bool revocations_parse_line(char *line, char **lease, int64_t *until)
{
    size_t length = strcspn(line, " \n");
    char *end;

    if (!length || line[length] != ' ' || length >= sizeof(((struct revocation *)0)->lease) ||
        !isdigit((unsigned char)line[length + 1]))
        return false;
    line[length] = '\0';
    errno = 0;
    *until = strtoll(line + length + 1, &end, 10);
    *lease = line;
    return !errno && end[0] == '\n' && !end[1];
}

static int revocations_load(struct revocations *list, int64_t latest)
{
    FILE *file = fopen(list->path, "re");
    char *line = NULL, *lease;
    size_t room = 0, number = 0;
    int64_t until;
    ssize_t length;
    int err = 0;

    if (!file)
        return errno == ENOENT ? 0 : -errno;
    while (!err && (length = getline(&line, &room, file)) > 0) {
        number++;
        err = strlen(line) == (size_t)length && revocations_parse_line(line, &lease, &until)
                  ? revocations_add(list, lease, until < latest ? until : latest)
                  : -EBADMSG;
    }
    if (!err && ferror(file))
        err = -EIO;
    if (err == -EBADMSG)
        log_error(
            "the list of revoked leases is damaged path=%s line=%zu; without it leases that are over "
            "could open sessions again. Correct the line, or move the file away once nothing reaches this box "
            "but its broker, which names the leases that are over when the box registers",
            list->path, number);
    free(line);
    fclose(file);
    list->changed = false;
    return err;
}

int revocations_open(const char *directory, int64_t latest, struct revocations **out)
{
    struct revocations *list = calloc(1, sizeof(*list));
    int err;

    if (!list)
        return -ENOMEM;
    TAILQ_INIT(&list->all);
    if (asprintf(&list->path, "%s/revoked", directory) < 0)
        list->path = NULL;
    err = list->path ? revocations_load(list, latest) : -ENOMEM;
    if (err && err != -EBADMSG)
        log_error("cannot read the list of revoked leases path=%s/revoked error=\"%s\"", directory,
                  strerror(-err));
    if (err) {
        revocations_close(&list);
        return err;
    }
    *out = list;
    return 0;
}

void revocations_close(struct revocations **pointer)
{
    struct revocations *list = *pointer;

    if (!list)
        return;
    while (!TAILQ_EMPTY(&list->all))
        revocations_forget(list, TAILQ_FIRST(&list->all));
    free(list->path);
    free(list);
    *pointer = NULL;
}

static int print(const struct revocations *list, char **text, size_t *size)
{
    const struct revocation *entry;
    FILE *out = open_memstream(text, size);

    if (!out)
        return -ENOMEM;
    TAILQ_FOREACH(entry, &list->all, link)
        fprintf(out, "%s %" PRId64 "\n", entry->lease, entry->until);
    if (!fclose(out))
        return 0;
    free(*text);
    return -ENOMEM;
}

bool revocations_changed(const struct revocations *list)
{
    return list->changed;
}

int revocations_print(struct revocations *list, int64_t oldest, char **text, size_t *size)
{
    struct revocation *entry, *next;

    for (entry = TAILQ_FIRST(&list->all); entry; entry = next) {
        next = TAILQ_NEXT(entry, link);
        if (entry->until < oldest)
            revocations_forget(list, entry);
    }
    int err = print(list, text, size);
    list->changed = err != 0;
    return err;
}

void revocations_not_saved(struct revocations *list)
{
    list->changed = true;
}
