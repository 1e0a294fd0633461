// SPDX-License-Identifier: BSD-3-Clause
// Commands that query the daemon of this machine through its administration socket.
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "admin-cli/output/command.h"
#include "admin-cli/box_commands.h"
#include "admin-cli/output/conversation.h"
#include "admin-cli/output/listing.h"
#include "admin-cli/output/table.h"
#include "common/net/endpoint.h"
#include "common/base/scope.h"

enum { ANSWER_MAX = 16 << 20, TIMEOUT_MS = 5000 };

static const struct table_column session_columns[] = {
    {"SESSION", "session", TABLE_TEXT},
    {"CLIENT", "client", TABLE_TEXT},
    {"PEER", "peer", TABLE_TEXT},
    {"LEASE", "lease", TABLE_TEXT},
    {"TRANSPORT", "transport", TABLE_TEXT},
    {"AGE", "age_seconds", TABLE_SECONDS},
    {"MEMORY", "memory", TABLE_BYTES},
    {"DRIVER", "driver_bytes", TABLE_BYTES},
    {"UTIL%", "utilization", TABLE_NUMBER},
    {"COMPUTE%", "compute", TABLE_NUMBER},
    {"IN", "bytes_in", TABLE_BYTES},
    {"OUT", "bytes_out", TABLE_BYTES},
    {"CALLS", "calls", TABLE_TEXT},
    {"PROTECTION", "protection", TABLE_TEXT},
    {"REASON", "reason", TABLE_TEXT},
    {"LINKS", "links", TABLE_TEXT},
    {"SUSPENSION", "suspension", TABLE_TEXT},
    {0},
};

static const struct table_column device_columns[] = {
    {"GPU", "ordinal", TABLE_TEXT},
    {"UUID", "uuid", TABLE_TEXT},
    {"NAME", "name", TABLE_TEXT},
    {"PCI", "pci", TABLE_TEXT},
    {"MEMORY", "memory", TABLE_BYTES},
    {"CONTEXT", "context_cost", TABLE_BYTES},
    {"DRIVER", "driver_bytes", TABLE_BYTES},
    {"ACCOUNTS", "account_bytes", TABLE_BYTES},
    {"UTIL%", "utilization", TABLE_NUMBER},
    {"PROCS", "processes", TABLE_NUMBER},
    {"TEMP", "temperature", TABLE_NUMBER},
    {"WATTS", "power", TABLE_DECIMAL},
    {"SESSIONS", "sessions", TABLE_TEXT},
    {"SUSPENDED", "suspended", TABLE_TEXT},
    {"WAITING", "waiting", TABLE_TEXT},
    {"WARM", "warm", TABLE_TEXT},
    {"PLACE", "place", TABLE_TEXT},
    {"SHARING", "sharing", TABLE_TEXT},
    {"HEALTH", "health", TABLE_TEXT},
    {"LAST ERROR", "last_error", TABLE_TEXT},
    {0},
};

static const struct table_column health_columns[] = {
    {"BOX", "box", TABLE_TEXT},
    {"STATE", "state", TABLE_TEXT},
    {"HEALTHY", "healthy", TABLE_TEXT},
    {"BROKER", "broker", TABLE_TEXT},
    {"LISTEN", "listen", TABLE_TEXT},
    {"GPUS", "devices", TABLE_TEXT},
    {"SESSIONS", "sessions", TABLE_TEXT},
    {"VERSION", "version", TABLE_TEXT},
    {"LAST ERROR", "last_error", TABLE_TEXT},
    {0},
};

static int send_question(int fd, const char *question)
{
    char line[256];
    int n = snprintf(line, sizeof(line), "%s\n", question);

    return send(fd, line, (size_t)n, MSG_NOSIGNAL) == n ? 0 : -EPIPE;
}

// Reads until the daemon closes. The caller frees *answer.
static int box_commands_read_answer(int fd, char **answer)
{
    size_t used = 0, room = 4096;
    char *text = malloc(room + 1);

    while (text) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        ssize_t n = poll(&wait, 1, TIMEOUT_MS) > 0 ? recv(fd, text + used, room - used, 0) : -1;
        if (n == 0) {
            text[used] = '\0';
            *answer = text;
            return 0;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || (used += (size_t)n) >= ANSWER_MAX)
            break;
        if (used == room) {
            char *larger = realloc(text, 2 * room + 1);
            if (!larger)
                break;
            text = larger;
            room *= 2;
        }
    }
    free(text);
    return -EIO;
}

static int box_commands_ask(const char *path, const char *question, char **answer)
{
    struct endpoint endpoint;
    char text[ENDPOINT_TEXT_MAX];

    // Addresses have whole paths; a person may be where the socket is.
    char here[PATH_MAX] = "";
    if (*path != '/' && !getcwd(here, sizeof(here)))
        return -errno;
    if ((size_t)snprintf(text, sizeof(text), "unix:%s%s%s", here, *path != '/' ? "/" : "", path) >=
            sizeof(text) ||
        endpoint_parse(text, 0, &endpoint))
        return -ENAMETOOLONG;
    int fd = endpoint_connect(&endpoint, TIMEOUT_MS);
    if (fd < 0)
        return fd;
    int err = send_question(fd, question);
    if (!err)
        err = box_commands_read_answer(fd, answer);
    close(fd);
    return err;
}

// Splits the lines into rows; the last one says whether the answer is complete. 0 or -EBADMSG,
// with the daemon's own error printed.
static int parse_answer(char *answer, json_t *rows)
{
    char *rest = answer, *line;
    bool refused = false;
    int err = -EBADMSG;

    while ((line = strsep(&rest, "\n"))) {
        json_t *object = *line ? json_loads(line, 0, NULL) : NULL;
        if (json_object_get(object, "status")) {
            err = 0;
        } else if (json_object_get(object, "error")) {
            refused = true;
            fprintf(stderr, "rgpuctl: %s\n", json_string_value(json_object_get(object, "error")));
        } else if (object) {
            json_array_append(rows, object);
        }
        json_decref(object);
    }
    return refused ? -EBADMSG : err;
}

int box_rows(const char *path, const char *question, json_t **rows)
{
    char *answer = NULL;
    int err = box_commands_ask(path, question, &answer);

    if (err)
        return err;
    *rows = json_array();
    err = parse_answer(answer, *rows);
    free(answer);
    if (err) {
        json_decref(*rows);
        *rows = NULL;
    }
    return err;
}

int box_row(const char *path, const char *question, json_t **row)
{
    json_t *rows = NULL;
    int err = box_rows(path, question, &rows);

    if (err)
        return err == -EBADMSG ? EXIT_ANSWER_NO : EXIT_UNREACHABLE;
    *row = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    return *row ? 0 : EXIT_ANSWER_NO;
}

static int box_commands_explain_failure(const char *path, int err)
{
    fprintf(stderr,
            "rgpuctl: no answer from rgpud at %s (%s): is it running, with admin_socket set "
            "to that path, and may you access it? Name another with --socket\n",
            path, strerror(-err));
    return EXIT_UNREACHABLE;
}

static int box_commands_query(const struct command *command, int argc, char **argv,
                              const struct table_column *columns, json_t **out)
{
    struct command_line line;
    SCOPED_FREE char *answer = NULL;
    int status = command_parse(command, argc, argv, &line);

    if (status >= 0)
        return status;
    if (line.argc) {
        fprintf(stderr, "rgpuctl %s: unexpected %s\n", command->name, line.argv[0]);
        return EXIT_USAGE;
    }
    const char *path = command_value(command, &line, "socket");
    path = path ? path : RGPUD_SOCKET;
    int err = box_commands_ask(path, command->name, &answer);
    if (err)
        return box_commands_explain_failure(path, err);
    json_t *rows = json_array();
    err = parse_answer(answer, rows);
    status = err ? EXIT_ANSWER_NO : listing_print(command, &line, rows, columns);
    if (out && !status)
        *out = rows;
    else
        json_decref(rows);
    return status;
}

static int run_sessions(const struct command *command, int argc, char **argv)
{
    if (pool_is_meant(command, argc, argv, true))
        return pool_sessions(command, argc, argv);
    return box_commands_query(command, argc, argv, session_columns, NULL);
}

static int run_devices(const struct command *command, int argc, char **argv)
{
    return box_commands_query(command, argc, argv, device_columns, NULL);
}

static int run_state(const struct command *command, int argc, char **argv)
{
    struct command_line line;

    if (pool_is_meant(command, argc, argv, false))
        return pool_drain(command, argc, argv);
    if (command_look(command, argc, argv, &line) &&
        (command_value(command, &line, "reason") || command_value(command, &line, "move"))) {
        fprintf(stderr,
                "rgpuctl %s: the broker keeps reasons and moves leases: name the box or GPU\n",
                command->name);
        return EXIT_USAGE;
    }
    return box_commands_query(command, argc, argv, health_columns, NULL);
}

static int run_health(const struct command *command, int argc, char **argv)
{
    json_t *rows = NULL;
    int status;

    if (pool_is_meant(command, argc, argv, true))
        return pool_health(command, argc, argv);
    status = box_commands_query(command, argc, argv, health_columns, &rows);

    if (rows && !json_is_true(json_object_get(json_array_get(rows, 0), "healthy")))
        status = EXIT_ANSWER_NO;
    json_decref(rows);
    return slurm_health(status);
}

static const struct command_option device_options[] = {
    {"socket", "PATH", "administration socket of rgpud [" RGPUD_SOCKET "]", 0},
    TABLE_WISH_OPTIONS,
    {"json", NULL, "one JSON object per line instead of a table", 0},
    {0},
};

static const struct command_option session_options[] = {
    POOL_OPTIONS,
    {"socket", "PATH", "ask the box of this machine, at its administration socket", 0},
    TABLE_WISH_OPTIONS,
    {"json", NULL, "one JSON object per line instead of a table", 0},
    {0},
};

static const struct command_option both_options[] = {
    POOL_OPTIONS,
    {"socket", "PATH", "ask the box of this machine, at its administration socket", 0},
    {"json", NULL, "one JSON object per line instead of a table", 0},
    {0},
};

static const struct command_option drain_options[] = {
    POOL_OPTIONS,
    {"wait", NULL, "return when no lease holds it any more", 0},
    TIMEOUT_OPTION("waiting after"),
    {"force", NULL, "end the leases that hold it", 0},
    {"move", NULL, "have them go to other GPUs of that box, as far as there are some", 0},
    {"reason", "TEXT", "why, for all who see it or wait for it", 0},
    {"socket", "PATH", "administration socket of rgpud [" RGPUD_SOCKET "]", 0},
    {"json", NULL, "one JSON object per line instead of a table", 0},
    {0},
};

const struct command box_commands[] = {
    {"sessions", "", "Lists the sessions of the pool, or of the box on this machine.",
     session_options, run_sessions},
    {"devices", "", "Lists the GPUs that the box on this machine offers.", device_options,
     run_devices},
    {"health", "", "Says how the pool is, or the box on this machine; status 1 where not well.",
     both_options, run_health},
    {"drain", "[BOX|GPU]",
     "Lets a box or GPU of the pool, or the box on this machine, take nothing "
     "new.",
     drain_options, run_state},
    {"undrain", "[BOX|GPU]", "Puts it back into service.", both_options, run_state},
    {0},
};
