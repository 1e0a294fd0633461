// SPDX-License-Identifier: BSD-3-Clause
// Log lines: one write each, nothing forged, nothing below the level.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"
#include "tests/tap.h"

static int channel[2];
static char text[8192];

static const char *written(void)
{
    ssize_t n = read(channel[0], text, sizeof(text) - 1);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

int main(void)
{
    char huge[4000];
    enum log_level level;

    unsetenv("JOURNAL_STREAM");
    unsetenv("RGPU_LOG");
    // A packet pipe keeps the borders of writes, so that one read shows one write.
    if (pipe2(channel, O_DIRECT | O_NONBLOCK))
        bail("pipe");
    log_init("prog", LOG_LEVEL_INFO);
    log_set_fd(channel[1]);
    log_info("name=%s count=%d", "x", 3);
    is_str(written(), "prog: info: name=x count=3\n", "a line");
    log_debug("hidden");
    is_str(written(), "", "below the level nothing is written");
    log_warn("a\nprog: error: forged\x1b[31m");
    is_str(written(), "prog: warn: a prog: error: forged [31m\n",
           "control characters cannot forge a line");
    log_set_thread_context("session=17");
    log_error("x");
    is_str(written(), "prog: error: session=17 x\n", "the thread's context stands in front");
    log_set_thread_context(NULL);
    memset(huge, 'y', sizeof(huge));
    huge[sizeof(huge) - 1] = '\0';
    log_info("%s", huge);
    is_int(strlen(written()), 2048, "a huge line is cut");
    ok(text[2047] == '\n', "and still ends in a newline");
    errno = EBUSY;
    log_info("x");
    is_int(errno, EBUSY, "errno is left alone");
    written();
    setenv("JOURNAL_STREAM", "8:1", 1);
    setenv("RGPU_LOG", "debug", 1);
    log_init("prog", LOG_LEVEL_INFO);
    log_debug("x");
    is_str(written(), "<7>x\n", "under systemd the journal's prefix, and RGPU_LOG sets the level");
    setenv("RGPU_LOG", "loud", 1);
    log_init("prog", LOG_LEVEL_INFO);
    ok(strstr(written(), "unknown log level RGPU_LOG=loud"), "an unknown level is reported");
    ok(!log_level_parse("trace", &level) && level == LOG_LEVEL_TRACE, "levels by name");
    is_int(log_level_parse("", &level), -EINVAL, "an empty name is none");
    return done();
}
