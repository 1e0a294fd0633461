// SPDX-License-Identifier: BSD-3-Clause
// The HTTP side's state of each box, by the box's name.
#include "broker/api/box_line.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int box_line_compare(const void *a, const void *b)
{
    return strcmp(((const struct box_line *)a)->name, ((const struct box_line *)b)->name);
}

struct box_line *box_line(void **lines, const char *name)
{
    struct box_line *line, key = {0};
    void *node;

    snprintf(key.name, sizeof(key.name), "%s", name);
    node = tfind(&key, lines, box_line_compare);
    if (node)
        return *(struct box_line **)node;
    line = malloc(sizeof(*line));
    if (!line)
        abort(); // out of memory, where libevent and jansson abort as well
    *line = key;
    if (!tsearch(line, lines, box_line_compare))
        abort();
    return line;
}

void box_line_remove(void **lines, const char *name)
{
    struct box_line *line = box_line(lines, name);

    tdelete(line, lines, box_line_compare);
    free(line);
}

void box_lines_free(void **lines)
{
    tdestroy(*lines, free);
    *lines = NULL;
}
