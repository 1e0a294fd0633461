// SPDX-License-Identifier: BSD-3-Clause
// The driver's code runs in this process, and without a trace only the signal's number would be
// known.
#include "daemon/worker/core/crash.h"

#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "daemon/worker/core/session.h"

enum { FRAMES = 48 };

static void crash_report(int number, siginfo_t *info, void *context)
{
    void *frames[FRAMES];
    char line[160];
    int length =
        snprintf(line, sizeof(line), "rgpu-worker: error: session=%llu signal=%d (%s) address=%p\n",
                 (unsigned long long)session.id, number, sigdescr_np(number), info->si_addr);

    if (write(log_get_fd(), line, (size_t)length) == length)
        backtrace_symbols_fd(frames, backtrace(frames, FRAMES), log_get_fd());
    // The handler was for once: coming back to the same place ends the process as it should.
}

void crash_report_start(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    struct sigaction action = {.sa_sigaction = crash_report,
                               .sa_flags = SA_SIGINFO | (int)SA_RESETHAND | SA_NODEFER};
    void *frame;

    backtrace(&frame, 1); // loads what it needs now
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction old;
        // A sanitizer says more than we could.
        if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
    }
}
