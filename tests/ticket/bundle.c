// SPDX-License-Identifier: BSD-3-Clause
// A client finds its tickets in the environment or in a private file, one line per box.
#include "tests/ticket/sample.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int parse(const char *text)
{
    struct ticket_bundle bundle = {0};
    int error = ticket_bundle_parse(text, strlen(text), &bundle);

    ticket_bundle_free(&bundle);
    return error;
}

static void test_parsing(void)
{
    struct ticket_bundle bundle = {0};
    const char *text = "# two boxes\nbox1 10.0.0.1:7300,h:7300 aa.bb.cc\r\n\nbox2 h:1 dd.ee.ff";

    is_int(ticket_bundle_parse(text, strlen(text), &bundle), 0, "lines are read");
    is_int(bundle.count, 2, "one entry per box");
    is_str(bundle.entries[0].box, "box1", "box");
    is_str(bundle.entries[0].addresses, "10.0.0.1:7300,h:7300", "addresses");
    is_str(bundle.entries[1].token, "dd.ee.ff", "token");
    is_int(bundle.entries[1].public_size, 5, "where the secret part starts");
    ticket_bundle_free(&bundle);
    is_int(bundle.count, 0, "a freed bundle is empty");
    is_int(parse("a h:1 x.y.z;b h:1 x.y.z"), 0, "a semicolon ends a line too");
    is_int(parse(""), -EBADMSG, "nothing is not a ticket");
    is_int(parse("a h:1"), -EBADMSG, "a token must be there");
    is_int(parse("a h:1 x.y"), -EBADMSG, "with three parts");
    is_int(parse("a h:1 x.y.z.w"), -EBADMSG, "not four");
    is_int(parse("a h:1 x..z"), -EBADMSG, "and none of them empty");
    is_int(parse("a h:1 x.y.z more"), -EBADMSG, "and nothing behind it");
    is_int(ticket_bundle_parse("a h:1 x.\0.z", 12, &bundle), -EBADMSG, "zero bytes are refused");
}

static void test_sources(void)
{
    char path[] = "/tmp/rgpu-ticket.XXXXXX";
    struct ticket_bundle bundle = {0};
    int fd = mkstemp(path);

    if (fd < 0 || write(fd, "filebox h:1 x.y.z\n", 18) != 18)
        bail("no temporary file");
    close(fd);
    unsetenv("RGPU_TICKET");
    unsetenv("RGPU_TICKET_FILE");
    is_int(ticket_bundle_load(&bundle), -ENOENT, "without either variable there is no ticket");
    setenv("RGPU_TICKET_FILE", path, 1);
    is_int(ticket_bundle_load(&bundle), 0, "RGPU_TICKET_FILE names a file");
    is_str(bundle.count ? bundle.entries[0].box : NULL, "filebox", "which is read");
    ticket_bundle_free(&bundle);
    setenv("RGPU_TICKET", "envbox h:1 x.y.z", 1);
    is_int(ticket_bundle_load(&bundle), 0, "RGPU_TICKET goes before it");
    is_str(bundle.count ? bundle.entries[0].box : NULL, "envbox", "and is the ticket itself");
    ticket_bundle_free(&bundle);
    is_int(ticket_bundle_load_of_job(&bundle), 0, "which is that of the job, too");
    is_str(bundle.count ? bundle.entries[0].box : NULL, "envbox", "where there is no other");
    ticket_bundle_free(&bundle);
    setenv("RGPU_JOB_TICKET_FILE", path, 1);
    is_int(ticket_bundle_load_of_job(&bundle), 0, "RGPU_JOB_TICKET_FILE names one");
    is_str(bundle.count ? bundle.entries[0].box : NULL, "filebox", "which is read");
    ticket_bundle_free(&bundle);
    unsetenv("RGPU_JOB_TICKET_FILE");
    unsetenv("RGPU_TICKET");
    chmod(path, 0644);
    is_int(ticket_bundle_load(&bundle), -EPERM, "a file that others can read is refused");
    unlink(path);
    is_int(ticket_bundle_load(&bundle), -ENOENT, "a missing file is an error");
}

static void test_a_secret_is_a_signature(void)
{
    uint8_t secret[SHA256_SIZE];

    is_int(ticket_secret("a.b", secret), -EBADMSG, "no signature, no secret");
    is_int(ticket_secret("a.b.c", secret), -EBADMSG, "a short one neither");
    is_int(ticket_secret("a.b.0123456789012345678901234567890123456789!23", secret), -EBADMSG,
           "nor one in another alphabet");
    is_int(ticket_secret("a.b.0123456789012345678901234567890123456789012", secret), 0,
           "32 bytes are a signature");
}

int main(void)
{
    test_parsing();
    test_sources();
    test_a_secret_is_a_signature();
    return done();
}
