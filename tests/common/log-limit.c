// SPDX-License-Identifier: BSD-3-Clause
// Tests that a peer which causes a line repeatedly does not fill the log, and that omitted lines
// are reported.
#include <unistd.h>

#include "common/base/log_limit.h"
#include "tests/tap.h"

static char text[65536];

// Returns the text written since the last call.
static const char *written(int fd)
{
    ssize_t n = read(fd, text, sizeof(text) - 1);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

static int lines(const char *all)
{
    int count = 0;

    for (; *all; all++)
        count += *all == '\n';
    return count;
}

int main(void)
{
    struct log_limit limit = LOG_LIMIT(5, 60);
    int ends[2];

    if (pipe(ends))
        bail("no pipe");
    log_set_fd(ends[1]);
    for (int i = 0; i < 1000; i++)
        log_limited(&limit, LOG_LEVEL_WARN, "refused peer=%d", i);
    is_int(lines(written(ends[0])), 5, "of a thousand lines five are written");
    ok(strstr(text, "peer=0\n") && !strstr(text, "left_out"), "the first ones, as they are");
    is_int(limit.left_out, 995, "the others are counted");
    limit.since -= 60;
    log_limited(&limit, LOG_LEVEL_WARN, "refused peer=%d", 7);
    ok(strstr(written(ends[0]), "peer=7 left_out=995\n"),
       "a minute later one says how many they were");
    log_limited(&limit, LOG_LEVEL_WARN, "refused peer=%d", 8);
    ok(strstr(written(ends[0]), "peer=8\n"), "and the next is as it was");
    log_limited(&limit, LOG_LEVEL_DEBUG, "refused peer=%d", 9);
    is_int(limit.written, 2, "a line of too low a level counts for nothing");
    return done();
}
