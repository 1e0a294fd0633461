// SPDX-License-Identifier: BSD-3-Clause
// Tests that a worker's setup comes in one message from its supervisor, of the same version, and
// from no other source.
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/net/control.h"
#include "common/base/scope.h"
#include "common/base/spawn.h"
#include "common/net/worker_socket.h"
#include "tests/worker/peer.h"

enum { ROOM = 4096 };

static const char *program(void)
{
    static char path[ROOM];
    const char *build = getenv("BUILD");

    snprintf(path, sizeof(path), "%s/bin/rgpu-worker", build ? build : "build");
    return path;
}

// Starts it with CONTROL where a worker expects its supervisor, and standard error in a pipe.
// Without ARGUMENT its command line is the spawner's.
static pid_t start(char *argument, int control, int *errors)
{
    char name[] = "rgpu-worker", driver[] = "libcuda-missing.so", none[] = "", refuse[] = "refuse";
    char *by_hand[] = {name, argument, NULL};
    char *by_spawner[] = {name, driver, none, none, refuse, NULL};
    char **arguments = argument ? by_hand : by_spawner;
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC))
        bail("no pipe");
    struct spawn_request request = {
        .program = program(),
        .arguments = arguments,
        .fds = (int[]){-1, ends[1], ends[1], control},
        .fd_count = control < 0 ? 3 : 4,
    };
    if (spawn_program(&request, &pid))
        bail("%s does not start", request.program);
    close(ends[1]);
    *errors = ends[0];
    return pid;
}

// Returns the exit status, or -1 if it was killed; stores its output.
static int end_of(pid_t pid, int errors, char text[ROOM])
{
    size_t used = 0;
    ssize_t n;
    int status;

    while ((n = read(errors, text + used, ROOM - 1 - used)) > 0)
        used += (size_t)n;
    text[used] = '\0';
    close(errors);
    if (waitpid(pid, &status, 0) != pid)
        bail("it is not our child");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void by_hand(void)
{
    char text[ROOM], help[] = "--help", other[] = "--device=0";
    int errors, file = open("/dev/null", O_RDWR | O_CLOEXEC);
    pid_t pid = start(NULL, -1, &errors);

    is_int(end_of(pid, errors, text), 2, "started by hand it ends");
    ok(strstr(text, "rgpu-spawner starts it"), "and says who starts it");
    pid = start(NULL, file, &errors);
    is_int(end_of(pid, errors, text), 2,
           "so it does with some other file in the supervisor's place");
    pid = start(other, -1, &errors);
    is_int(end_of(pid, errors, text), 2, "another command line than the spawner's is refused");
    pid = start(help, -1, &errors);
    is_int(end_of(pid, errors, text), 0, "but --help");
    close(file);
}

// Stores the worker's answer to SETUP, or to MESSAGE instead. It ends with STATUS.
static void answer_to(enum control_message_type type, const void *message, int status,
                      struct control_failed *failed)
{
    struct control_frame frame = {0};
    char text[ROOM];
    int ends[2], errors, passed;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        bail("no socket pair");
    if (control_send_packet(ends[0], type, message, -1))
        bail("the packet is not taken");
    pid_t pid = start(NULL, ends[1], &errors);
    close(ends[1]);
    memset(failed, 0, sizeof(*failed));
    ok(!control_receive_packet(ends[0], &frame, &passed) &&
           !control_decode(&frame, CONTROL_FAILED, failed),
       "it tells its supervisor that it cannot start");
    is_int(end_of(pid, errors, text), status, "and ends with status %d", status);
    ok(strstr(text, failed->text), "with the same in the log: %.60s", failed->text);
    control_frame_free(&frame);
    close(ends[0]);
}

static void supervisor_gone(void)
{
    char text[ROOM];
    int ends[2], errors;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        bail("no socket pair");
    pid_t pid = start(NULL, ends[1], &errors);
    close(ends[1]);
    close(ends[0]);
    is_int(end_of(pid, errors, text), 0,
           "a worker whose supervisor goes before it says anything ends");
    is_str(text, "", "quietly");
}

static void largest(struct control_setup *setup)
{
    setup->list = CONTROL_DIGEST;
    if (worker_socket_name(setup->client_socket))
        bail("no name for the worker's socket");
    memset(setup->visible, 'v', sizeof(setup->visible) - 1);
    memset(setup->rdma_devices, 'r', sizeof(setup->rdma_devices) - 1);
    setup->gpus_count = sizeof(setup->gpus) / sizeof(setup->gpus[0]);
    setup->nodes_count = sizeof(setup->nodes) / sizeof(setup->nodes[0]);
    for (uint32_t i = 0; i < setup->nodes_count; i++)
        memset(setup->nodes[i].path, 'n', sizeof(setup->nodes[i].path) - 1);
}

static void messages(void)
{
    static struct control_setup setup;
    struct control_end other = {.text = "something else"};
    struct control_failed failed;

    answer_to(CONTROL_END, &other, CONTROL_WORKER_OTHER_BUILD, &failed);
    ok(strstr(failed.text, "must be of one version"), "what is no SETUP is of another version");
    largest(&setup);
    setup.list++;
    answer_to(CONTROL_SETUP, &setup, CONTROL_WORKER_OTHER_BUILD, &failed);
    ok(strstr(failed.text, "must be of one version"), "so is a SETUP that says so");
    setup.list--;
    answer_to(CONTROL_SETUP, &setup, 1, &failed);
    ok(strstr(failed.text, "libcuda-missing.so"),
       "the largest one there can be is read to its end");
}

// rgpud's message names no library: a worker loads what its command line says.
static void command_line(void)
{
    static struct peer peer;
    char path[64], text[ROOM] = "";

    peer_start(&peer, &(struct peer_options){0});
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)peer.pid);
    SCOPED_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof(text) - 1);
    ok(n > 0 && strstr(text + strlen(text) + 1, "libcuda-sim.so"),
       "the command line of a worker names the driver that it loaded");
    peer_stop(&peer);
}

int main(void)
{
    by_hand();
    supervisor_gone();
    messages();
    command_line();
    return done();
}
