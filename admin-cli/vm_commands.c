// SPDX-License-Identifier: BSD-3-Clause
// rgpuctl vm: attaches windows to virtual machines of this host, through the box of this machine,
// and prints the options for QEMU or libvirt.
#include <errno.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "admin-cli/box_commands.h"
#include "admin-cli/output/listing.h"

enum { LOOK_MS = 20 };

static const struct table_column columns[] = {
    {"NAME", "name", TABLE_TEXT},
    {"STATE", "state", TABLE_TEXT},
    {"SIZE", "size", TABLE_BYTES},
    {"TAKEN", "taken", TABLE_BYTES},
    {"MACHINES", "machines", TABLE_TEXT},
    {"SESSIONS", "sessions", TABLE_TEXT},
    {"USER", "user", TABLE_TEXT},
    {"SOCKET", "socket", TABLE_TEXT},
    {0},
};

static const char *socket_of(const struct command *command, const struct command_line *line)
{
    const char *path = command_value(command, line, "socket");

    return path ? path : RGPUD_SOCKET;
}

// Sends QUESTION to the box. Returns the exit status, after printing the box's objection if there
// is one.
static int vm_commands_ask(const struct command *command, const struct command_line *line,
                           const char *question, json_t **rows)
{
    int err = box_rows(socket_of(command, line), question, rows);

    if (!err || err == -EBADMSG)
        return err ? EXIT_ANSWER_NO : 0;
    fprintf(stderr, "rgpuctl vm: no answer from rgpud at %s (%s)\n", socket_of(command, line),
            strerror(-err));
    return EXIT_UNREACHABLE;
}

// ---- attach ----

static int vm_commands_read_user(const char *text, unsigned *user)
{
    char *end;

    *user = getuid();
    if (!text)
        return 0;
    const struct passwd *known = getpwnam(text);
    unsigned long number = strtoul(text, &end, 10);
    if (!known && (*end || !*text || number >= UINT32_MAX)) {
        fprintf(stderr, "rgpuctl vm: there is no user %s\n", text);
        return -ENOENT;
    }
    *user = known ? known->pw_uid : (unsigned)number;
    return 0;
}

static void print_arguments(const char *name, const char *path)
{
    printf("# QEMU:\n"
           "-chardev socket,id=rgpu,path=%s -device ivshmem-doorbell,chardev=rgpu,vectors=1\n"
           "# libvirt, among the devices of the domain:\n"
           "<shmem name='rgpu-%s' role='peer'>\n"
           "  <model type='ivshmem-doorbell'/>\n"
           "  <server path='%s'/>\n"
           "  <msi vectors='1' ioeventfd='on'/>\n"
           "</shmem>\n",
           path, name, path);
}

// The box makes the memory piece by piece.
static int await_window(const struct command *command, const struct command_line *line,
                        const char *name, json_t **row)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * 1000000L};
    char question[128];

    snprintf(question, sizeof(question), "vm-show %.100s", name);
    for (;;) {
        json_t *rows = NULL;
        int status = vm_commands_ask(command, line, question, &rows);
        if (status)
            return status;
        *row = json_incref(json_array_get(rows, 0));
        json_decref(rows);
        if (!*row || strcmp(table_text(*row, "state"), "filling") != 0)
            break;
        json_decref(*row);
        nanosleep(&look, NULL);
    }
    if (*row)
        return 0;
    fprintf(stderr,
            "rgpuctl vm attach: there is not enough memory for the window of %s, or its "
            "socket cannot be made; the log of rgpud says which\n",
            name);
    return EXIT_ANSWER_NO;
}

static int vm_commands_attach(const struct command *command, const struct command_line *line)
{
    const char *size = command_value(command, line, "size"), *name = line->argv[1];
    char question[200];
    json_t *row = NULL;
    unsigned user;

    if (vm_commands_read_user(command_value(command, line, "user"), &user))
        return EXIT_USAGE;
    snprintf(question, sizeof(question), "vm-attach %.100s %.31s %u", name, size ? size : "1G",
             user);
    int status = vm_commands_ask(command, line, question, &row);
    json_decref(row);
    row = NULL;
    if (!status)
        status = await_window(command, line, name, &row);
    if (!status && command_value(command, line, "json"))
        json_dumpf(row, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER), putchar('\n');
    else if (!status)
        print_arguments(name, table_text(row, "socket"));
    json_decref(row);
    return status;
}

// ---- detach, list ----

static int detach(const struct command *command, const struct command_line *line)
{
    char question[128];
    json_t *rows = NULL;

    snprintf(question, sizeof(question), "vm-detach %.100s", line->argv[1]);
    int status = vm_commands_ask(command, line, question, &rows);
    json_decref(rows);
    return status;
}

static int vm_commands_list(const struct command *command, const struct command_line *line)
{
    json_t *rows = NULL;
    int status = vm_commands_ask(command, line, "vm-list", &rows);

    if (!status)
        status = listing_print(command, line, rows, columns);
    json_decref(rows);
    return status;
}

static const struct {
    const char *verb;
    int words;
    int (*run)(const struct command *command, const struct command_line *line);
} verbs[] = {{"attach", 2, vm_commands_attach},
             {"detach", 2, detach},
             {"list", 1, vm_commands_list}};

static int run_vm(const struct command *command, int argc, char **argv)
{
    struct command_line line;
    int status = command_parse(command, argc, argv, &line);

    if (status >= 0)
        return status;
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (line.argc == verbs[i].words && !strcmp(line.argv[0], verbs[i].verb)) {
            if (line.argc > 1 && strpbrk(line.argv[1], " \n"))
                break;
            return verbs[i].run(command, &line);
        }
    fprintf(stderr, "rgpuctl vm: attach NAME, detach NAME or list; see rgpuctl vm --help\n");
    return EXIT_USAGE;
}

static const struct command_option options[] = {
    {"size", "SIZE", "attach: memory of the window, a power of two [1G]", 0},
    {"user", "USER", "attach: who runs QEMU, and may connect [you]", 0},
    {"socket", "PATH", "administration socket of rgpud [" RGPUD_SOCKET "]", 0},
    TABLE_WISH_OPTIONS,
    {"json", NULL, "JSON in place of a table, or of QEMU's arguments", 0},
    {0},
};

const struct command vm_commands[] = {
    {"vm", "attach|detach|list [NAME]",
     "Gives a virtual machine of this host a window into the box's memory.", options, run_vm},
    {0},
};
