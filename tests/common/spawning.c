// SPDX-License-Identifier: BSD-3-Clause
// Children get exactly the descriptors they are meant to have, and a failed start is reported.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/spawn.h"
#include "tests/tap.h"

static char output[1024];

static int run(const char *script, const int *fds, size_t count, int pipe_read)
{
    char *arguments[] = {"sh", "-c", (char *)script, NULL};
    struct spawn_request request = {.program = "/bin/sh",
                                    .arguments = arguments,
                                    .fds = fds,
                                    .fd_count = count,
                                    .own_process_group = true};
    int status;
    pid_t pid;

    if (spawn_program(&request, &pid))
        return -1;
    waitpid(pid, &status, 0);
    ssize_t n = read(pipe_read, output, sizeof(output) - 1);
    output[n > 0 ? n : 0] = '\0';
    return status;
}

int main(void)
{
    int out[2], data[2];
    char text[128];

    if (pipe2(out, O_NONBLOCK) || pipe(data) || dup2(data[0], 40) < 0)
        bail("pipes");
    // The source of descriptor 3 is 0 and that of 4 is 3: naive copying would lose one of them.
    int spare = open("/dev/null", O_RDWR);
    if (write(data[1], "payload\n", 8) != 8)
        bail("write");
    int fds[] = {-1, out[1], out[1], spare, data[0]};
    int status = run("ls /proc/self/fd | tr '\\n' ' '; read line <&4; echo $line", fds, 5, out[0]);
    is_int(status, 0, "a child runs");
    is_str(output, "0 1 2 3 4 5 payload\n", "it has its numbered descriptors and no other");
    status = run("kill -9 $$", fds, 5, out[0]);
    spawn_describe_status(status, text, sizeof(text));
    is_str(text, "killed by signal 9 (Killed)", "how it was killed");
    spawn_describe_status(run("exit 7", fds, 5, out[0]), text, sizeof(text));
    is_str(text, "exited with status 7", "how it exited");

    signal(SIGTERM, SIG_IGN);
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    spawn_describe_status(run("kill -TERM $$", fds, 5, out[0]), text, sizeof(text));
    is_str(text, "killed by signal 15 (Terminated)",
           "it does not inherit ignored signals or the mask");

    char *arguments[] = {"x", NULL};
    struct spawn_request request = {
        .program = "/nonexistent", .arguments = arguments, .fds = fds, .fd_count = 5};
    pid_t pid;
    is_int(spawn_program(&request, &pid), -ENOENT, "a missing program is an error of the start");
    request.program = "/etc/passwd";
    is_int(spawn_program(&request, &pid), -EACCES, "so is one that cannot be executed");
    request.fd_count = 2;
    is_int(spawn_program(&request, &pid), -EINVAL, "fewer than three descriptors are refused");
    return done();
}
