// SPDX-License-Identifier: BSD-3-Clause
// Space on the disk is reserved once, found again after a restart, and given back once.
#include "broker/pool/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

static char directory[] = "/tmp/rgpu-reserve.XXXXXX";
static char database[64], reserved[64];

static void begin(struct reserve *reserve)
{
    memset(reserve, 0, sizeof(*reserve));
    reserve_init(reserve, database);
}

static void test_taken_once(void)
{
    struct reserve reserve;
    struct stat found;

    begin(&reserve);
    ok(!reserve.held && !reserve_give(&reserve), "nothing is reserved at first");
    is_str(reserve.path, reserved, "the file lies beside the database");
    is_int(reserve_take(&reserve), 0, "space is reserved");
    is_int(reserve_take(&reserve), 0, "once");
    ok(!stat(reserved, &found) && found.st_size == 32 << 20 && (found.st_mode & 0777) == 0600,
       "in a file of 32 MiB that only its owner reads");
    ok(reserve_has_margin(&reserve), "the disk has room beside it");
    begin(&reserve);
    ok(reserve.held, "it is found after a restart");
    ok(reserve_give(&reserve) && !reserve.held && access(reserved, F_OK), "it is given back");
    ok(!reserve_give(&reserve), "once");
}

static void test_in_the_way(void)
{
    struct reserve reserve;
    int fd = open(reserved, O_CREAT | O_WRONLY, 0600);

    if (fd < 0 || ftruncate(fd, 64 << 20))
        bail("no file");
    close(fd);
    begin(&reserve);
    ok(!reserve.held, "a file with holes reserves nothing");
    is_int(reserve_take(&reserve), 0, "until it is filled");
    ok(reserve.held && reserve_give(&reserve), "then it does");
    if (symlink("/dev/null", reserved))
        bail("no link");
    begin(&reserve);
    is_int(reserve_take(&reserve), -ELOOP, "a link is not followed");
    ok(!reserve.held, "and reserves nothing");
    unlink(reserved);
    if (mkfifo(reserved, 0600))
        bail("no pipe");
    begin(&reserve);
    ok(reserve_take(&reserve) == -ESPIPE && !reserve.held && access(reserved, F_OK),
       "what cannot be filled is removed");
}

static void test_elsewhere(void)
{
    struct reserve reserve = {0};

    reserve_init(&reserve, "pool.sqlite");
    is_str(reserve.path, "./reserve", "without a directory it is the present one");
    reserve_init(&reserve, "/pool.sqlite");
    is_str(reserve.path, "/reserve", "the root is one, too");
    ok(reserve_has_margin(&reserve), "which has room");
    reserve_init(&reserve, "/nonexistent/pool.sqlite");
    ok(reserve_has_margin(&reserve),
       "without an answer the next write shows whether there is room");
    is_int(reserve_take(&reserve), -ENOENT, "and here there is none");
}

int main(void)
{
    if (!mkdtemp(directory))
        bail("no directory");
    snprintf(database, sizeof(database), "%s/pool.sqlite", directory);
    snprintf(reserved, sizeof(reserved), "%s/reserve", directory);
    test_taken_once();
    test_in_the_way();
    test_elsewhere();
    rmdir(directory);
    return done();
}
