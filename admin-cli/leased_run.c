// SPDX-License-Identifier: BSD-3-Clause
// The lease has a lifetime and is renewed while the program runs, so it expires if this process is
// killed.
#include "admin-cli/leased_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "admin-cli/client_library.h"
#include "admin-cli/output/conversation.h"
#include "common/net/broker_client.h"
#include "common/base/clock.h"
#include "common/base/scope.h"
#include "common/security/ticket.h"
#include "common/base/units.h"

// Passes a ticket to a program in a file instead of the environment, which other programs may
// inherit.

// The first is in memory, and of this user alone.
static const char *directory(void)
{
    const char *const names[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i] && *names[i] == '/' && access(names[i], W_OK | X_OK) == 0)
            return names[i];
    return "/tmp";
}

static int ticket_file_write_all(int fd, const char *text)
{
    size_t size = strlen(text);

    while (size > 0) {
        ssize_t n = write(fd, text, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        text += n;
        size -= (size_t)n;
    }
    return 0;
}

static void ticket_file_remove(char **path)
{
    if (!*path)
        return;
    unlink(*path);
    free(*path);
    *path = NULL;
}

// Writes a file that only this user can read, in XDG_RUNTIME_DIR, TMPDIR or /tmp. The caller frees
// *PATH with ticket_file_remove. Returns 0 or -errno.
static int ticket_file_write(const char *ticket, char **path)
{
    SCOPED_FREE char *name = NULL;
    int fd, err;

    if (asprintf(&name, "%s/rgpu-ticket-XXXXXX", directory()) < 0) {
        name = NULL;
        return -ENOMEM;
    }
    fd = mkostemp(name, O_CLOEXEC); // mode 0600
    if (fd < 0)
        return -errno;
    err = ticket_file_write_all(fd, ticket);
    if (close(fd) && !err)
        err = -errno;
    *path = scoped_take(&name);
    if (err)
        ticket_file_remove(path);
    return err;
}

enum { LIFETIME = 120, RENEW_EVERY = 30, WAIT_STEP = 20, TELL_EVERY = 5 };

static int read_request(const struct command *command, const struct command_line *line,
                        struct broker_acquire *out)
{
    const char *count = command_value(command, line, "gpus");
    const char *memory = command_value(command, line, "mem");
    const char *mode = command_value(command, line, "mode");
    char *end;

    *out = (struct broker_acquire){
        .job = line->argv[0],
        .owner = getuid(),
        .count = 1,
        .lifetime = LIFETIME,
        .queue = !command_value(command, line, "no-wait"),
        .ticket = true,
        .constraint = command_value(command, line, "constraint"),
        .compute = command_value(command, line, "compute"),
        .protection = command_value(command, line, "protection"),
    };
    out->mode = mode ? mode : memory ? "shared" : "exclusive";
    if (count) {
        out->count = (uint32_t)strtoul(count, &end, 10);
        if (*end || !out->count) {
            fprintf(stderr, "rgpuctl run: -n %s is not a number of GPUs\n", count);
            return EXIT_USAGE;
        }
    }
    if (memory && units_parse_size(memory, &out->memory)) {
        fprintf(stderr, "rgpuctl run: --mem %s is not a size such as 10G\n", memory);
        return EXIT_USAGE;
    }
    if (strcmp(out->mode, "exclusive") && strcmp(out->mode, "shared")) {
        fprintf(stderr, "rgpuctl run: --mode is exclusive or shared\n");
        return EXIT_USAGE;
    }
    if (!strcmp(out->mode, "shared") && !out->memory) {
        fprintf(stderr, "rgpuctl run: a share needs a budget; give --mem, e.g. --mem 10G\n");
        return EXIT_USAGE;
    }
    return 0;
}

static bool is_unanswered(int error)
{
    return error == -ECONNREFUSED || error == -EHOSTUNREACH || error == -ETIMEDOUT ||
           error == -EPROTO;
}

static int leased_run_explain(const struct broker_client *client, int error)
{
    fprintf(stderr, "rgpuctl run: %s\n", broker_client_error(client));
    if (error == -EINVAL)
        return EXIT_USAGE;
    return is_unanswered(error) || error == -ENOENT ? EXIT_UNREACHABLE : EXIT_ANSWER_NO;
}

// ---- signals: blocked from before the lease is taken, and taken one by one ----

static sigset_t old_mask;

static void leased_run_block_signals(sigset_t *set)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};

    sigemptyset(set);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaddset(set, numbers[i]);
    sigprocmask(SIG_BLOCK, set, &old_mask);
}

static bool was_interrupted(void)
{
    sigset_t pending;

    sigpending(&pending);
    return sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
           sigismember(&pending, SIGHUP);
}

// ---- waiting for the lease ----

// In time for the lease to live, and no oftener: thousands may wait.
static int renew_in_time(struct broker_client *client, const char *id, double *next)
{
    double now = clock_seconds();

    if (now < *next)
        return 0;
    *next = now + RENEW_EVERY;
    return broker_client_renew(client, id, LIFETIME);
}

struct notice {
    char reason[sizeof(((struct broker_lease *)0)->pending)];
    double next; // time, before which nothing more is said
    double away; // time since which the broker has not answered; 0: it answers
};

// Prints the reason, and another one as well, but not each of many in a row.
static void tell_reason(const struct broker_lease *lease, struct notice *notice)
{
    double now = clock_seconds();

    if (notice->next > now ||
        (notice->next > 0 && (!*lease->pending || !strcmp(notice->reason, lease->pending))))
        return;
    fprintf(stderr, "rgpuctl run: lease %s %s for GPUs%s%s\n", lease->id,
            notice->next > 0 ? "still waits" : "waits", *lease->pending ? ": " : "",
            lease->pending);
    strcpy(notice->reason, lease->pending);
    notice->next = now + TELL_EVERY;
}

// Returns true if the wait goes on although the broker has not answered (ERROR). A broker that is
// started again has all waiting requests, each with its whole lifetime.
static bool leased_run_rides_out(const struct broker_client *client, int error,
                                 struct notice *notice)
{
    const struct timespec pause = {.tv_nsec = 500000000};

    if (!is_unanswered(error)) {
        notice->away = 0;
        return false;
    }
    if (notice->away == 0) {
        notice->away = clock_seconds();
        fprintf(stderr, "rgpuctl run: %s; the request waits for it for %d s\n",
                broker_client_error(client), LIFETIME);
    }
    nanosleep(&pause, NULL);
    return clock_seconds() - notice->away < LIFETIME;
}

static int leased_run_await_grant(struct broker_client *client, struct broker_lease *lease,
                                  double until)
{
    double next = clock_seconds() + RENEW_EVERY;
    struct notice notice = {0};
    int error = 0;

    tell_reason(lease, &notice);
    while (!error && !strcmp(lease->state, "queued")) {
        char id[sizeof(lease->id)];
        if (was_interrupted())
            return -EINTR;
        if (until > 0 && clock_seconds() >= until)
            return broker_client_explain(client, -EBUSY, "no GPUs within --timeout%s%s",
                                         *notice.reason ? ": " : "", notice.reason);
        strcpy(id, lease->id);
        error = renew_in_time(client, id, &next);
        broker_lease_clear(lease);
        strcpy(lease->id, id);
        if (!error)
            // Short steps, so that an interrupt does not go unheard for long.
            error = broker_client_await(client, id, WAIT_STEP / 10, lease);
        if (leased_run_rides_out(client, error, &notice)) {
            broker_lease_clear(lease);
            strcpy(lease->id, id);
            strcpy(lease->state, "queued");
            error = 0;
        } else if (!error && !strcmp(lease->state, "queued"))
            tell_reason(lease, &notice);
    }
    if (!error && strcmp(lease->state, "granted"))
        error = broker_client_explain(client, -ESTALE, "lease %s is %s", lease->id, lease->state);
    if (!error && !lease->ticket)
        error = broker_client_ticket(client, lease->id, NULL, 0, &lease->ticket);
    return error;
}

// ---- the program ----

// A lease has a ticket for each of its boxes.
static void use_nccl(const struct broker_lease *lease)
{
    struct ticket_bundle bundle;

    if (ticket_bundle_parse(lease->ticket, strlen(lease->ticket), &bundle))
        return;
    client_library_use_nccl(bundle.count, bundle.entries[0].addresses);
    ticket_bundle_free(&bundle);
}

static pid_t start_program(char **argv, const char *ticket_file)
{
    pid_t pid = fork();

    if (pid)
        return pid;
    sigprocmask(SIG_SETMASK, &old_mask, NULL);
    unsetenv("RGPU_BOXES");
    unsetenv("RGPU_TICKET");
    unsetenv("RGPU_JOB_TICKET_FILE");
    if (!setenv("RGPU_TICKET_FILE", ticket_file, 1))
        execvp(argv[0], argv);
    int error = errno;
    fprintf(stderr, "rgpuctl run: cannot run %s: %s\n", argv[0], strerror(error));
    _exit(error == ENOENT ? 127 : 126);
}

// Prints the reason if somebody else has ended the lease, such as an administrator. Returns true if
// so. Once is enough.
static bool explain_end(struct broker_client *client, const char *id)
{
    static bool is_explained;
    json_t *answer = NULL;
    char path[100];

    snprintf(path, sizeof(path), "/v1/leases/%s", id);
    if (is_explained || broker_client_call(client, "GET", path, NULL, &answer))
        return is_explained;
    const json_t *lease = json_object_get(answer, "lease");
    const char *reason = json_string_value(json_object_get(lease, "reason"));
    const char *state = json_string_value(json_object_get(lease, "state"));
    is_explained = reason && *reason && state && !strncmp(state, "end", 3);
    if (is_explained)
        fprintf(stderr,
                "rgpuctl run: lease %s has ended: %s; run the program again to get another one\n",
                id, reason);
    json_decref(answer);
    return is_explained;
}

static void leased_run_renew(struct broker_client *client, const char *id)
{
    static bool notice;
    int error = broker_client_renew(client, id, LIFETIME);

    if (!error || notice)
        return;
    SCOPED_FREE char *why = strdup(broker_client_error(client));
    notice = true;
    if (!explain_end(client, id))
        fprintf(stderr, "rgpuctl run: lease %s: %s\n", id, why ? why : "not renewed");
}

// Passes signals on, renews the lease in time, and returns how the program ended.
static int watch_program(struct broker_client *client, const char *id, pid_t pid,
                         const sigset_t *set)
{
    int64_t next = clock_ms() + RENEW_EVERY * 1000;
    int status;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        struct timespec limit = {.tv_sec = 1};
        siginfo_t info;
        int number = sigtimedwait(set, &info, &limit);
        // The terminal has sent its interrupt to the program as well.
        if (number > 0 && number != SIGCHLD && info.si_code <= 0)
            kill(pid, number);
        if (clock_ms() >= next) {
            leased_run_renew(client, id);
            next = clock_ms() + RENEW_EVERY * 1000;
        }
    }
    return status;
}

static int exit_status(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Runs the program with the ticket, and returns its status.
static int run_program(struct broker_client *client, const struct broker_lease *lease, char **argv,
                       const sigset_t *set)
{
    char *ticket_file = NULL;
    int err = ticket_file_write(lease->ticket, &ticket_file), status = 126;
    pid_t pid;

    if (err) {
        fprintf(stderr, "rgpuctl run: the ticket cannot be written to a file: %s\n",
                strerror(-err));
        return status;
    }
    use_nccl(lease);
    pid = start_program(argv, ticket_file);
    if (pid > 0)
        status = exit_status(watch_program(client, lease->id, pid, set));
    if (status)
        explain_end(client, lease->id);
    ticket_file_remove(&ticket_file);
    return status;
}

int lease_run(const struct command *command, const struct command_line *line)
{
    struct broker_client_options options = {.address = command_value(command, line, "broker"),
                                            .key_file = command_value(command, line, "key")};
    struct broker_client *client;
    struct broker_acquire request;
    struct broker_lease lease = {0};
    double until;
    sigset_t set;
    int error, status = read_request(command, line, &request);

    if (!status)
        status = pool_read_timeout(command, line, &until);

    if (status)
        return status;
    error = broker_client_open(&options, &client);
    if (error) {
        status = leased_run_explain(client, error);
        goto close;
    }
    leased_run_block_signals(&set);
    error = broker_client_acquire(client, &request, &lease);
    if (!error && strcmp(lease.state, "granted"))
        error = leased_run_await_grant(client, &lease, until);
    if (error)
        status = error == -EINTR ? 130 : leased_run_explain(client, error);
    else
        status = run_program(client, &lease, line->argv, &set);
    if (*lease.id && broker_client_release(client, lease.id) < 0)
        fprintf(stderr,
                "rgpuctl run: lease %s is not released (%s); it ends by itself within %d s\n",
                lease.id, broker_client_error(client), LIFETIME);
    broker_lease_clear(&lease);
close:
    broker_client_close(&client);
    return status;
}
