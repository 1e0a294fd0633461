// SPDX-License-Identifier: BSD-3-Clause
// rgpuctl top: all lists of the pool on one screen, redrawn every few seconds and after each key;
// or printed once, for scripts.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "admin-cli/output/conversation.h"
#include "admin-cli/pool/pool_filter.h"
#include "admin-cli/output/screen.h"
#include "admin-cli/output/table_fit.h"
#include "admin-cli/output/table_wish.h"
#include "common/base/scope.h"

struct top {
    struct conversation pool;
    struct pool_filter filter;
    char
        sort[32]; // title of a column, with '-' in front for the largest first; empty: as they come
    unsigned width;
    size_t height; // lines that there are; 0: as many as it takes
    json_t *answers[LISTS];
    json_t *rows[LISTS]; // those that are shown
};

// Adds to each lease what its running sessions have sent and received over the network.
static void pool_top_add_bytes(json_t *leases, const json_t *sessions)
{
    static const char *const members[] = {"bytes_in", "bytes_out"};
    json_t *by_id = json_object(), *row;
    size_t i;

    json_array_foreach(leases, i, row)
        json_object_set(by_id, table_text(row, "id"), row);
    json_array_foreach(sessions, i, row) {
        const char *transport = table_text(row, "transport");
        json_t *lease = json_object_get(by_id, table_text(row, "lease"));
        bool networked = !strcmp(transport, "tcp") || !strcmp(transport, "rdma");

        for (size_t m = 0; lease && networked && m < 2; m++) {
            json_int_t bytes = json_integer_value(json_object_get(lease, members[m])) +
                               json_integer_value(json_object_get(row, members[m]));
            json_object_set_new(lease, members[m], json_integer(bytes));
        }
    }
    json_decref(by_id);
}

// Sessions are those of the boxes' last reports: thousands of boxes need not report every other
// second.
static int pool_top_ask(struct top *top)
{
    int status = 0;

    for (enum pool_list list = 0; !status && list < LISTS; list++) {
        char path[64];
        snprintf(path, sizeof(path), "%s%s", pool_lists[list].path,
                 list == LIST_SESSIONS ? "?ask=0" : "");
        status = pool_call(&top->pool, "GET", path, NULL, &top->answers[list]);
        if (!status)
            pool_list_complete(list, json_object_get(top->answers[list], pool_lists[list].member));
    }
    pool_top_add_bytes(json_object_get(top->answers[LIST_LEASES], "leases"),
                       json_object_get(top->answers[LIST_SESSIONS], "sessions"));
    return status;
}

static void pool_top_forget(struct top *top)
{
    for (enum pool_list list = 0; list < LISTS; list++) {
        json_decref(top->answers[list]);
        json_decref(top->rows[list]);
        top->answers[list] = top->rows[list] = NULL;
    }
}

static bool has_column(enum pool_list list, const char *title)
{
    for (const struct table_column *c = pool_lists[list].columns; c->title; c++)
        if (!strcasecmp(c->title, title))
            return true;
    return false;
}

// The column by which it is sorted, where the list has it.
static const char *sort_of(const struct top *top, enum pool_list list)
{
    return *top->sort && has_column(list, top->sort + (*top->sort == '-')) ? top->sort : NULL;
}

static int pool_top_choose(struct top *top)
{
    json_t *all[LISTS], *passed[LISTS];
    struct table_column columns[TABLE_COLUMNS_MAX];
    int status = 0;

    for (enum pool_list list = 0; list < LISTS; list++)
        all[list] = json_object_get(top->answers[list], pool_lists[list].member);
    pool_filter(&top->filter, all, passed);
    for (enum pool_list list = 0; list < LISTS; list++) {
        const struct table_wish wish = {.sort = sort_of(top, list)};
        if (table_wish(&wish, pool_lists[list].columns, passed[list], columns, &top->rows[list]))
            status = EXIT_ANSWER_NO;
        json_decref(passed[list]);
    }
    return status;
}

// ---- the head ----

static size_t pool_top_count(const struct top *top, enum pool_list list, const char *key,
                             const char *value)
{
    const json_t *rows = json_object_get(top->answers[list], pool_lists[list].member), *row;
    size_t i, total = 0;

    json_array_foreach(rows, i, row) {
        const char *text = json_string_value(json_object_get(row, key));
        total += !value || (text && !strcmp(text, value));
    }
    return total;
}

static void print_head(const struct top *top, FILE *out)
{
    size_t boxes = pool_top_count(top, LIST_BOXES, "name", NULL),
           up = pool_top_count(top, LIST_BOXES, "state", "up");
    size_t drained = pool_top_count(top, LIST_BOXES, "state", "drained") +
                     pool_top_count(top, LIST_BOXES, "state", "draining");
    size_t leases = pool_top_count(top, LIST_LEASES, "id", NULL);
    size_t waiting = pool_top_count(top, LIST_LEASES, "state", "queued");
    char line[400];

    snprintf(line, sizeof(line),
             "%s%s%s%zu boxes (%zu up, %zu drained), %zu GPUs (%zu free), %zu leases, %zu wait, "
             "%zu sessions",
             *top->sort ? "by " : "", top->sort, *top->sort ? "; " : "", boxes, up, drained,
             pool_top_count(top, LIST_GPUS, "uuid", NULL),
             pool_top_count(top, LIST_GPUS, "state", "free"), leases - waiting, waiting,
             pool_top_count(top, LIST_SESSIONS, "lease", NULL));
    if (top->width)
        text_shorten(line, top->width, true);
    fprintf(out, "%s\n", line);
}

// ---- the screen ----

// Gives each list its share of the lines: what one does not need the others have.
static void share_lines(const struct top *top, size_t shares[LISTS])
{
    size_t left = top->height > 1 ? top->height - 2 : 0;
    bool given = true;

    memset(shares, 0, LISTS * sizeof(*shares));
    for (enum pool_list list = 0; list < LISTS; list++)
        if (json_array_size(top->rows[list]) > 0)
            left -= left > 2 ? 2 : left; // its titles, and a blank line
    while (left > 0 && given) {
        given = false;
        for (enum pool_list list = 0; list < LISTS && left > 0; list++)
            if (shares[list] < json_array_size(top->rows[list])) {
                shares[list]++;
                left--;
                given = true;
            }
    }
}

static int print_list(const struct top *top, enum pool_list list, size_t share, FILE *out)
{
    struct table_space space = {.out = out, .width = top->width};
    size_t all = json_array_size(top->rows[list]);

    if (all == 0 || (top->height && share == 0))
        return 0;
    fputc('\n', out);
    // The last of its lines says how many there are no lines for.
    if (top->height && share < all)
        space.rows = share - 1;
    if (top->height && share == 1 && all > 1)
        return fprintf(out, "... %zu %s\n", all, pool_lists[list].member) < 0;
    if (table_print(pool_lists[list].columns, top->rows[list], &space))
        return EXIT_ANSWER_NO;
    if (space.rows)
        fprintf(out, "... %zu more %s\n", all - space.rows, pool_lists[list].member);
    return 0;
}

static int print_tables(const struct top *top, FILE *out)
{
    size_t shares[LISTS];
    int status = 0;

    print_head(top, out);
    share_lines(top, shares);
    for (enum pool_list list = 0; !status && list < LISTS; list++)
        status = print_list(top, list, shares[list], out);
    return status;
}

// In one piece, so that the screen does not flicker.
static int pool_top_draw(struct top *top, bool clear)
{
    SCOPED_FREE char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int status = out ? print_tables(top, out) : EXIT_ANSWER_NO;

    if (!out || fclose(out))
        return EXIT_ANSWER_NO;
    // A last line that is full would move the whole screen.
    if (top->height && size && text[size - 1] == '\n')
        size--;
    if (clear)
        fputs("\033[H\033[J", stdout);
    fwrite(text, 1, size, stdout);
    fflush(stdout);
    return status;
}

static int print_json(const struct top *top)
{
    for (enum pool_list list = 0; list < LISTS; list++) {
        json_t *row;
        size_t i;

        json_array_foreach(top->rows[list], i, row) {
            json_object_set_new(row, "list", json_string(pool_lists[list].member));
            json_dumpf(row, stdout, JSON_COMPACT);
            putchar('\n');
        }
    }
    return 0;
}

// ---- keys ----

// Chooses the next title among all columns of all lists, each once; after the last there is none.
static void sort_by_next(struct top *top)
{
    const char *now = top->sort + (*top->sort == '-');
    bool passed = !*now;

    for (enum pool_list list = 0; list < LISTS; list++)
        for (const struct table_column *c = pool_lists[list].columns; c->title; c++) {
            bool before = false;
            for (enum pool_list other = 0; other < list; other++)
                before |= has_column(other, c->title);
            if (before)
                continue;
            if (passed) {
                snprintf(top->sort, sizeof(top->sort), "%s", c->title);
                return;
            }
            passed = !strcasecmp(c->title, now);
        }
    *top->sort = '\0';
}

static void turn_around(struct top *top)
{
    size_t size = strlen(top->sort);

    if (*top->sort == '-')
        memmove(top->sort, top->sort + 1, size);
    else if (*top->sort && size + 1 < sizeof(top->sort)) {
        memmove(top->sort + 1, top->sort, size + 1);
        *top->sort = '-';
    }
}

// ---- the command ----

static int pool_top_show(struct top *top, bool live)
{
    int status = pool_top_ask(top);

    if (!status)
        status = pool_top_choose(top);
    if (!status)
        status = pool_option(&top->pool, "json") ? print_json(top) : pool_top_draw(top, live);
    pool_top_forget(top);
    return status;
}

static int pool_top_follow(struct top *top, int interval)
{
    int status = 0, key = 0;

    screen_open();
    while (!status && key != 'q' && key >= 0) {
        struct screen_size size = screen_size();
        top->width = size.width;
        top->height = size.height;
        status = pool_top_show(top, true);
        if (status)
            break;
        key = screen_key(interval);
        if (key == 's')
            sort_by_next(top);
        if (key == 'r')
            turn_around(top);
    }
    screen_close();
    putchar('\n');
    return status;
}

static int read_sort(struct top *top)
{
    const char *sort = pool_option(&top->pool, "sort");

    if (!sort)
        return 0;
    for (enum pool_list list = 0; list < LISTS; list++)
        if (strlen(sort) < sizeof(top->sort) && has_column(list, sort + (*sort == '-'))) {
            strcpy(top->sort, sort);
            return 0;
        }
    fprintf(stderr, "rgpuctl top: no list has a column %s\n", sort + (*sort == '-'));
    return EXIT_USAGE;
}

static int run_top(const struct command *command, int argc, char **argv)
{
    struct top top = {0};
    const char *interval;
    int status = pool_open(&top.pool, command, argc, argv, 0, 0);

    if (status >= 0)
        return status;
    top.filter = (struct pool_filter){.user = pool_option(&top.pool, "user"),
                                      .box = pool_option(&top.pool, "box"),
                                      .model = pool_option(&top.pool, "model"),
                                      .state = pool_option(&top.pool, "state")};
    top.width = table_space(pool_option(&top.pool, "width")).width;
    interval = pool_option(&top.pool, "interval");
    status = read_sort(&top);
    if (!status && (pool_option(&top.pool, "once") || pool_option(&top.pool, "json") ||
                    pool_option(&top.pool, "width") || !isatty(STDOUT_FILENO)))
        status = pool_top_show(&top, false);
    else if (!status)
        status = pool_top_follow(&top, interval ? atoi(interval) : 2);
    pool_close(&top.pool);
    return status;
}

static const struct command_option top_options[] = {
    POOL_OPTIONS,
    {"user", "NAME", "what has to do with this user", 0},
    {"box", "GLOB", "with these boxes", 0},
    {"model", "GLOB", "with GPUs of these models", 0},
    {"state", "GLOB", "what is in this state", 0},
    {"sort", "COLUMN", "lists that have this column by it; with - in front the largest first", 0},
    {"interval", "SECONDS", "how often it is drawn anew [2]", 0, "1..3600"},
    {"once", NULL, "once and whole; so it is where the output is no terminal", 0},
    {"width", "N", "the same with N characters in a line; 0: as many as it takes", 0, "0..10000"},
    {"json", NULL, "the same, one JSON object per line, with the name of its list", 0},
    {0},
};

const struct command pool_top_commands[] = {
    {"top", "", "Shows boxes, GPUs, leases and sessions, live.", top_options, run_top},
    {0},
};
