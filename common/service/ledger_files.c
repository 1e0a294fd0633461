// SPDX-License-Identifier: BSD-3-Clause
// The files of an account: made, sealed, mapped, and taken over from an earlier supervisor.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/descriptor.h"
#include "common/base/scope.h"
#include "common/service/ledger.h"
#include "common/service/ledger_layout.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum { SIZE_SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

static int ledger_make_file(const char *name, size_t size)
{
    SCOPED_FD int fd = descriptor_own(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));

    if (fd < 0 || ftruncate(fd, (off_t)size))
        return -errno;
    return scoped_take_fd(&fd);
}

// Maps a file, at a new place or at that of an earlier mapping, which it replaces at once.
static int map(int fd, size_t size, int protection, void **out)
{
    void *place = *out;

    // Beyond the end of a file that is too short each access would end the process.
    if (lseek(fd, 0, SEEK_END) != (off_t)size)
        return -EBADF;
    *out = mmap(place, size, protection, MAP_SHARED | (place ? MAP_FIXED : 0), fd, 0);
    return *out == MAP_FAILED ? -errno : 0;
}

static int map_both(const int fds[LEDGER_FDS], int rules_protection, struct ledger **out)
{
    struct ledger *ledger = calloc(1, sizeof(*ledger));
    void *words = NULL, *rules = NULL;
    int err = ledger ? map(fds[0], sizeof(*ledger->words), PROT_READ | PROT_WRITE, &words)
                     : -ENOMEM;

    if (!err) {
        err = map(fds[1], sizeof(*ledger->rules), rules_protection, &rules);
        if (err)
            munmap(words, sizeof(*ledger->words));
    }
    if (err) {
        free(ledger);
        return err;
    }
    *ledger = (struct ledger){.words = words,
                              .rules = rules,
                              .fds = {-1, -1},
                              .taking = PTHREAD_MUTEX_INITIALIZER,
                              .changing = PTHREAD_MUTEX_INITIALIZER};
    *out = ledger;
    return 0;
}

int ledger_map(const int fds[LEDGER_FDS], struct ledger **out)
{
    return map_both(fds, PROT_READ, out);
}

static int make_both(int fds[LEDGER_FDS])
{
    fds[0] = ledger_make_file("rgpu-lease", sizeof(struct ledger_words));
    if (fds[0] < 0)
        return fds[0];
    fds[1] = ledger_make_file("rgpu-lease-rules", sizeof(struct ledger_rules));
    if (fds[1] < 0)
        close(fds[0]);
    return fds[1] < 0 ? fds[1] : 0;
}

static int seal(int fd, int seals)
{
    return fcntl(fd, F_ADD_SEALS, SIZE_SEALS | F_SEAL_SEAL | seals) ? -errno : 0;
}

// Maps files of the supervisor, of which the account becomes the owner. Its own mapping, which is
// there before the seal, can still write the rules.
static int own_both(const int fds[LEDGER_FDS], struct ledger **out)
{
    int err = map_both(fds, PROT_READ | PROT_WRITE, out);

    if (!err)
        err = seal(fds[1], F_SEAL_FUTURE_WRITE);
    for (int i = 0; i < LEDGER_FDS && err; i++)
        close(fds[i]);
    if (err)
        ledger_unmap(out);
    else
        memcpy((*out)->fds, fds, sizeof((*out)->fds));
    return err;
}

int ledger_create(struct ledger **out)
{
    struct ledger *ledger = NULL;
    int fds[LEDGER_FDS];
    int err = make_both(fds);

    if (!err)
        err = own_both(fds, &ledger);
    if (err)
        return err;
    for (int i = 0; i < LEDGER_COUNTS; i++)
        atomic_init(&ledger->rules->room[i], UINT64_MAX);
    err = seal(fds[0], 0);
    if (err)
        ledger_unmap(&ledger);
    else
        *out = ledger;
    return err;
}

// The new file becomes sealed against writable mappings, too, so that it has to be a new one.
static int copy_rules(int from, int *out)
{
    void *rules = NULL;
    int seals = fcntl(from, F_GET_SEALS);

    if (seals < 0 || (seals & SIZE_SEALS) != SIZE_SEALS)
        return -EBADF;
    int err = map(from, sizeof(struct ledger_rules), PROT_READ, &rules);
    if (err)
        return err;
    SCOPED_FD int fd = ledger_make_file("rgpu-lease-rules", sizeof(struct ledger_rules));
    err = fd < 0 ? fd : write(fd, rules, sizeof(struct ledger_rules)) < 0 ? -errno : 0;
    munmap(rules, sizeof(struct ledger_rules));
    if (!err)
        *out = scoped_take_fd(&fd);
    return err;
}

int ledger_take_over(const int fds[LEDGER_FDS], struct ledger **out)
{
    struct ledger *ledger = NULL;
    int own[LEDGER_FDS] = {descriptor_own(fcntl(fds[0], F_DUPFD_CLOEXEC, 3)), -1};
    int err = own[0] < 0 ? -errno : copy_rules(fds[1], &own[1]);

    if (err) {
        if (own[0] >= 0)
            close(own[0]);
        return err;
    }
    err = own_both(own, &ledger);
    if (err)
        return err;
    // The earlier supervisor may have ended in the middle of an announcement.
    for (int i = 0; i < LEDGER_COUNTS; i++)
        atomic_store(&ledger->rules->trying[i], 0);
    *out = ledger;
    return 0;
}

int ledger_change_rules(struct ledger *ledger, int fd)
{
    void *place = ledger->rules;

    return map(fd, sizeof(*ledger->rules), PROT_READ, &place);
}

const int *ledger_descriptors(const struct ledger *ledger)
{
    return ledger->fds;
}

void ledger_unmap(struct ledger **ledger)
{
    if (!*ledger)
        return;
    munmap((*ledger)->words, sizeof(*(*ledger)->words));
    munmap((*ledger)->rules, sizeof(*(*ledger)->rules));
    for (int i = 0; i < LEDGER_FDS; i++)
        if ((*ledger)->fds[i] >= 0)
            close((*ledger)->fds[i]);
    free(*ledger);
    *ledger = NULL;
}
