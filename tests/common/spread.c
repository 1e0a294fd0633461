// SPDX-License-Identifier: BSD-3-Clause
// Pauses of many boxes differ, within their bounds, also where the boxes start alike.
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/spread.h"
#include "tests/tap.h"

enum { DRAWS = 4000, PAUSE = 5000000, BINS = 10 };

static void check_spread(void)
{
    unsigned bins[BINS] = {0}, least = DRAWS, outside = 0;

    for (int i = 0; i < DRAWS; i++) {
        uint64_t pause = spread_pause(PAUSE, 25), less = PAUSE - pause;
        if (pause > PAUSE || less > PAUSE / 4)
            outside++;
        else
            bins[less * BINS / (PAUSE / 4 + 1)]++;
    }
    for (int i = 0; i < BINS; i++)
        if (bins[i] < least)
            least = bins[i];
    is_int(outside, 0, "a pause is shorter by a quarter at most, and never longer");
    // With 400 expected in each tenth, fewer than 250 in one are practically impossible for a
    // uniform spread.
    ok(least > 250, "each tenth of the quarter is as likely as the others");
}

static void check_processes(void)
{
    uint64_t own[8], other[8];
    int pipes[2], status;

    if (pipe(pipes))
        abort();
    pid_t child = fork();
    for (int i = 0; i < 8; i++)
        own[i] = spread_pause(PAUSE, 25);
    if (!child)
        _exit(write(pipes[1], own, sizeof(own)) != (ssize_t)sizeof(own));
    waitpid(child, &status, 0);
    ok(!status && read(pipes[0], other, sizeof(other)) == (ssize_t)sizeof(other) &&
           memcmp(own, other, sizeof(own)),
       "two processes that are alike draw different pauses");
}

int main(void)
{
    check_spread();
    check_processes();
    is_int((int)spread_pause(0, 50), 0, "no pause stays none");
    is_int((int)spread_pause(70, 0), 70, "and a pause without a spread is what it is");
    ok(spread_pause(UINT64_MAX, 50) >= UINT64_MAX / 2, "the longest does not overflow");
    return done();
}
