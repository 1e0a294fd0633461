// SPDX-License-Identifier: BSD-3-Clause
// The list of leases that are refused: it outlives the daemon, and no entry goes before every
// ticket that could be accepted has.
#include "daemon/rgpud/broker/revocations.h"
#include "daemon/rgpud/box/state_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/tap.h"

static char directory[] = "/tmp/rgpu-revoked.XXXXXX";
static struct revocations *list;

static void open_list(int64_t latest)
{
    revocations_close(&list);
    if (revocations_open(directory, latest, &list))
        bail("the list cannot be read");
}

static int save(int64_t oldest)
{
    char *text;
    size_t size;

    if (!revocations_changed(list))
        return -ENOENT;
    int err = revocations_print(list, oldest, &text, &size);
    if (!err) {
        err = state_file_replace(directory, "revoked", text, size, "revocations.written");
        free(text);
    }
    return err;
}

static void refuses_damage(const char *path)
{
    static const struct {
        const char *text, *what;
    } damaged[] = {
        {"L1 3000\nL2\nL3 3000\n", "a line without its time"},
        {"L1 3000\n\nL3 3000\n", "an empty line"},
        {"L1 3000\nL2 3x00\nL3 3000\n", "a time that is none"},
        {"L1 3000\nL2 -3000\n", "a time before all times"},
        {"L1 3000\nL2 99999999999999999999\n", "a time after all times"},
        {"L1 3000\nL2 3000 L3 3000\n", "two entries that became one line"},
        {"L1 3000\nL2 30", "a last line that was cut"},
        {"L1 3000\nL2", "a last line that was cut before its time"},
        {"L1 3000\n\xff\xff\xff\xff", "what was never written"},
    };

    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
        struct revocations *other = NULL;
        FILE *file = fopen(path, "w");
        fputs(damaged[i].text, file);
        fclose(file);
        is_int(revocations_open(directory, 10000, &other), -EBADMSG, damaged[i].what);
    }
}

int main(void)
{
    char path[64];

    if (!mkdtemp(directory))
        bail("no directory");
    snprintf(path, sizeof(path), "%s/revoked", directory);
    open_list(10000);
    ok(!revocations_has(list, "L1"), "nothing is refused at first");
    is_int(revocations_add(list, "L1", 1000), 0, "a lease is, until its tickets have run out");
    is_int(revocations_add(list, "L2", 2000), 0, "and another");
    is_int(save(1000), 0, "it is written");
    open_list(10000);
    ok(revocations_has(list, "L1"),
       "one that may still be accepted is remembered by the next start");
    is_int(revocations_add(list, "L1", 500), 0, "an earlier end");
    is_int(revocations_add(list, "L2", 3000), 0, "and a later one");
    is_int(save(1000), 0, "are written");
    open_list(10000);
    ok(revocations_has(list, "L1"), "the earlier does not count");
    is_int(revocations_add(list, "L3", 4000), 0, "with the next change");
    is_int(save(2500), 0, "what can no longer be accepted");
    ok(!revocations_has(list, "L1"), "is forgotten");
    ok(revocations_has(list, "L2"), "and the later end counts");
    open_list(1500);
    ok(revocations_has(list, "L3"), "an entry from a time when the clock was wrong");
    is_int(revocations_add(list, "L4", 1500), 0, "is, at the next change");
    is_int(save(1501), 0, "no longer than the latest time");
    ok(!revocations_has(list, "L3"), "that a ticket could be for");
    refuses_damage(path);
    revocations_close(&list);
    unlink(path);
    rmdir(directory);
    return done();
}
