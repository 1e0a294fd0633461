// SPDX-License-Identifier: BSD-3-Clause
// Key files are private and unambiguous, and each box's keys differ from all others.
#include "tests/ticket/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "/tmp/rgpu-keys.XXXXXX";

static void write_file(const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_TRUNC);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || fchmod(fd, mode))
        bail("cannot write %s", path);
    close(fd);
}

static int parse(const char *text)
{
    struct ticket_keyring ring;

    return ticket_keyring_parse(text, strlen(text), &ring);
}

#define HEX "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void test_files(void)
{
    struct ticket_keyring ring;
    int fd = mkstemp(path);

    if (fd < 0)
        bail("no temporary file");
    close(fd);
    write_file("# cluster key\n2024a " HEX "\n2023b " HEX " 1700000000 # old\n", 0600);
    is_int(ticket_keyring_load(path, &ring), 0, "a private file is read");
    is_int(ring.count, 2, "with both keys");
    is_str(ring.keys[0].id, "2024a", "in order");
    is_int(ring.keys[0].secret[1], 0x11, "secrets are decoded");
    is_int(ring.keys[1].until, 1700000000, "and ends");
    chmod(path, 0640);
    is_int(ticket_keyring_load(path, &ring), -EPERM, "a file that a group can read is refused");
    chmod(path, 0604);
    is_int(ticket_keyring_load(path, &ring), -EPERM, "a file that all can read is refused");
    if (geteuid() == 0) {
        chmod(path, 0600);
        if (chown(path, 65534, (gid_t)-1))
            bail("cannot chown");
        is_int(ticket_keyring_load(path, &ring), -EPERM, "another user's file is refused");
    } else {
        skip(1, "only root can give files away");
    }
    unlink(path);
    is_int(ticket_keyring_load(path, &ring), -ENOENT, "a missing file is told apart");
    is_int(ticket_keyring_load("/", &ring), -EPERM, "a directory is refused");
}

static void test_parsing(void)
{
    is_int(parse(""), -EBADMSG, "no key is an error");
    is_int(parse("k " HEX), 0, "one key is enough");
    is_int(parse("k 0011"), -EBADMSG, "a short key is an error");
    is_int(parse("k " HEX "00"), -EBADMSG, "a long key is an error");
    is_int(parse("k/1 " HEX), -EBADMSG, "an id has plain characters");
    is_int(parse("k " HEX "\nk " HEX), -EBADMSG, "an id appears once");
    is_int(parse("k " HEX " soon"), -EBADMSG, "an end is a number");
    is_int(ticket_keyring_parse("k\0" HEX, sizeof("k\0" HEX) - 1, &(struct ticket_keyring){0}),
           -EBADMSG, "zero bytes are refused");
    is_int(parse("k " HEX " 5 6"), -EBADMSG, "nothing follows the end");
}

static void test_many_keys(void)
{
    static char text[(TICKET_KEYS_MAX + 1) * (SHA256_SIZE * 2 + 16)];
    size_t used = 0;

    for (int i = 0; i < TICKET_KEYS_MAX; i++)
        used += (size_t)sprintf(text + used, "user.%d " HEX "\n", i);
    is_int(parse(text), 0, "a file has as many keys as a ring holds");
    sprintf(text + used, "one-more " HEX "\n");
    is_int(parse(text), -E2BIG, "and no more");
}

static void test_derivation(void)
{
    struct ticket_keyring cluster = sample_ring("k1"), one, again, two, printed;
    char text[512];
    int size;

    cluster.keys[0].until = SAMPLE_NOW;
    ticket_keyring_derive(&cluster, "box1", &one);
    ticket_keyring_derive(&cluster, "box1", &again);
    ticket_keyring_derive(&cluster, "box2", &two);
    is_mem(one.keys[0].secret, again.keys[0].secret, SHA256_SIZE, "derivation repeats");
    ok(memcmp(one.keys[0].secret, two.keys[0].secret, SHA256_SIZE), "boxes differ");
    ok(memcmp(one.keys[0].secret, cluster.keys[0].secret, SHA256_SIZE), "and from the cluster");
    is_str(one.keys[0].id, "k1", "the id stays");
    is_int(one.keys[0].until, SAMPLE_NOW, "the end stays");
    size = ticket_keyring_print(&one, text, sizeof(text));
    ok(size > 0 && ticket_keyring_parse(text, (size_t)size, &printed) == 0 &&
           !memcmp(&printed.keys[0], &one.keys[0], sizeof(one.keys[0])),
       "a printed ring reads back as it was");
    is_int(ticket_keyring_print(&one, text, 20), -ENOSPC, "printing never overruns");
}

int main(void)
{
    test_files();
    test_parsing();
    test_many_keys();
    test_derivation();
    return done();
}
