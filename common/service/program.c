// SPDX-License-Identifier: BSD-3-Clause
#include "common/service/program.h"
#include "version.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void program_print_help(const struct program_about *about)
{
    fputs(about->usage, stdout);
    if (about->more)
        about->more();
    if (about->settings_are_options)
        config_print_help(about->settings, stdout);
}

static void print_version(const struct program_about *about)
{
    printf("%s %s", about->name, RGPU_VERSION);
    if (about->protocol)
        printf(" protocol %u", about->protocol);
    printf("\n");
}

static bool answer(const struct program_about *about, const char *word)
{
    if (!strcmp(word, "--help") || !strcmp(word, "-h"))
        program_print_help(about);
    else if (!strcmp(word, "--version"))
        print_version(about);
    else if (!strcmp(word, "--print-config") && about->settings)
        config_print_sample(about->settings, about->name, false, stdout);
    else if (!strcmp(word, "--print-config=developer") && about->settings)
        config_print_sample(about->settings, about->name, true, stdout);
    else
        return false;
    return true;
}

bool program_answer(const struct program_about *about, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
        if (answer(about, argv[i]))
            return true;
    return false;
}

int program_finish(const char *name, int status)
{
    bool failed = ferror(stdout);

    errno = 0;
    failed |= fflush(stdout) != 0;
    if (!failed)
        return status;
    fprintf(stderr, "%s: cannot write standard output: %s\n", name,
            errno ? strerror(errno) : "an earlier write failed");
    return status ? status : 1;
}

static void program_drop(int *argc, char **argv, int at, int count)
{
    memmove(&argv[at], &argv[at + count], (size_t)(*argc - at - count) * sizeof(*argv));
    *argc -= count;
}

const char *program_take_value(int *argc, char **argv, const char *name)
{
    size_t size = strlen(name);

    for (int i = 1; i < *argc; i++) {
        const char *value;

        if (strncmp(argv[i], name, size))
            continue;
        if (argv[i][size] == '=') {
            value = argv[i] + size + 1;
            program_drop(argc, argv, i, 1);
            return value;
        }
        if (argv[i][size] == '\0' && i + 1 < *argc) {
            value = argv[i + 1];
            program_drop(argc, argv, i, 2);
            return value;
        }
    }
    return NULL;
}

bool program_take_flag(int *argc, char **argv, const char *name)
{
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], name))
            continue;
        program_drop(argc, argv, i, 1);
        return true;
    }
    return false;
}

bool program_become(const char *user, const char *file)
{
    struct passwd *entry = geteuid() ? NULL : getpwnam(user);

    if (!entry || !file || initgroups(user, entry->pw_gid) || setegid(entry->pw_gid))
        return false;
    if (!seteuid(entry->pw_uid)) {
        if (!faccessat(AT_FDCWD, file, R_OK, AT_EACCESS) && !seteuid(0) && !setgid(entry->pw_gid) &&
            !setuid(entry->pw_uid))
            return true;
        if (seteuid(0))
            abort();
    }
    if (setegid(0) || setgroups(0, NULL))
        abort();
    return false;
}
