// SPDX-License-Identifier: BSD-3-Clause
#include "admin-cli/slurm_output.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_child(const char *const words[], int output)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (dup2(nothing, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
        dup2(output, STDERR_FILENO) >= 0)
        execvp(words[0], (char **)words);
    _exit(127);
}

int slurm_output_of(const char *const words[], char **output)
{
    int ends[2], status = -1;
    size_t room = 0;

    *output = NULL;
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    fflush(stdout);
    pid_t child = fork();
    if (!child)
        run_child(words, ends[1]);
    close(ends[1]);
    FILE *stream = fdopen(ends[0], "r");
    if (stream && getdelim(output, &room, '\0', stream) < 0) {
        free(*output);
        *output = NULL;
    }
    if (stream)
        fclose(stream);
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return -errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

void slurm_output_setting(const char *config, const char *name, char *value, size_t size)
{
    size_t length = strlen(name);

    *value = '\0';
    for (const char *line = config; line && *line; line += *line == '\n') {
        const char *at = line + length;
        if (!strncmp(line, name, length) && (*at == ' ' || *at == '=')) {
            at += strspn(at, " =");
            if (strncmp(at, "(null)", 6) != 0)
                snprintf(value, size, "%.*s", (int)strcspn(at, "\n"), at);
            return;
        }
        line += strcspn(line, "\n");
    }
}

bool slurm_output_has(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; *at; at += *at == ',') {
        at += strspn(at, " ");
        if (strcspn(at, "/") < strcspn(at, ",:="))
            at += strcspn(at, "/") + 1;
        if (!strncmp(at, word, length) && (!at[length] || strchr(",:= ", at[length])))
            return true;
        at += strcspn(at, ",");
    }
    return false;
}

void slurm_output_last_line(const char *output, char *line, size_t size)
{
    size_t end = output ? strlen(output) : 0, begin;

    while (end && isspace((unsigned char)output[end - 1]))
        end--;
    for (begin = end; begin && output[begin - 1] != '\n'; begin--) {
    }
    snprintf(line, size, "%.*s", (int)(end - begin), output ? output + begin : "");
}
