// SPDX-License-Identifier: BSD-3-Clause
// What a box knows of the broker's history, and which leases it reclaims after a loss.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/rgpud/broker/broker_history.h"
#include "daemon/rgpud/broker/served_leases.h"
#include "daemon/rgpud/workers/worker_process.h"
#include "tests/tap.h"

static char directory[] = "/tmp/rgpu-known.XXXXXX";
static char path[64];

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");

    if (!file)
        bail("no file");
    fputs(text, file);
    fclose(file);
}

static void test_history(void)
{
    static const struct history_lease leases[] = {{"L1", 5}, {"L2", 0}};
    char long_name[300], *text;
    const char *run;
    struct history *history = NULL;
    int64_t epoch, event;
    size_t size;

    memset(long_name, 'x', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    is_int(history_open(directory, &history), 0, "without a file");
    ok(!history_point(history, &epoch, &run, &event) && epoch == 0, "nothing is known");
    is_int(history_print(history, &text, &size), -ENOENT, "so there is nothing to write");
    is_int(history_adopt(history, 100, leases, 2), 0, "an epoch begins with two leases");
    is_int(history_adopt(history, 99, NULL, 0), -ERANGE, "none that is earlier");
    ok(history_accepts(history, "L1", 5) && history_accepts(history, "L2", 99),
       "tickets of earlier epochs are valid for those");
    ok(!history_accepts(history, "L1", 4), "from that of the lease's grant on");
    ok(!history_accepts(history, "L3", 99), "for no other");
    ok(history_accepts(history, "L3", 100), "tickets of this one are for all");
    is_int(history_accept(history, "L3"), 0, "a third one is adopted");
    is_int(history_accept(history, "L3"), 0, "twice");
    ok(history_accepts(history, "L3", 99), "with its old tickets");
    is_int(history_accept(history, long_name), -EINVAL, "a name may be too long");
    is_int(history_adopt(history, 101, &(struct history_lease){long_name, 0}, 1), -EINVAL,
           "in a list, too");
    is_int(history_adopt(history, 101, leases, 1), 0, "the next epoch");
    history_note(history, "0123456789abcdef", 77);
    is_int(history_print(history, &text, &size), 0, "is written");
    is_str(text, "epoch 101\nseen 0123456789abcdef 77\nlease L1\n", "as lines");
    write_file(text);
    free(text);
    history_close(&history);
    history_close(&history);
    ok(!history, "it is closed, and may be again");
    is_int(history_open(directory, &history), 0, "it is read");
    ok(history_point(history, &epoch, &run, &event) && epoch == 101 && event == 77 &&
           !strcmp(run, "0123456789abcdef"),
       "the point is the same");
    ok(history_accepts(history, "L1", 1) && !history_accepts(history, "L2", 1), "and its leases");
    history_close(&history);
    write_file("epoch 1\n");
    is_int(history_open(directory, &history), -EBADMSG,
           "a file without its second line is damaged");
    write_file("epoch 1\nseen a 1\nlease L1\nnonsense\n");
    is_int(history_open(directory, &history), -EBADMSG, "so is one with other lines");
    unlink(path);
    if (mkdir(path, 0700))
        bail("no directory");
    ok(history_open(directory, &history) < 0, "a directory is no file");
    rmdir(path);
}

// ---- served leases ----

static struct box box;
static struct served_leases *served;
static char adopted[64];

static void note(const char *lease, int64_t epoch, int64_t expires, const char *text)
{
    struct ticket ticket = {.epoch = epoch, .expires = expires};

    snprintf(ticket.lease, sizeof(ticket.lease), "%s", lease);
    served_note(served, &ticket, text);
}

static const char *reclaims(void)
{
    static char text[4096];
    json_t *list = served_report(served), *entry;
    size_t i;

    *text = '\0';
    json_array_foreach(list, i, entry)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s=%s ",
                 json_string_value(json_object_get(entry, "lease")),
                 json_object_get(entry, "ticket")
                     ? json_string_value(json_object_get(entry, "ticket"))
                     : "-");
    json_decref(list);
    return text;
}

static void on_adopted(void *argument, const char *lease)
{
    (void)argument;
    snprintf(adopted, sizeof(adopted), "%s", lease);
}

static void verdict(json_t *verdicts)
{
    *adopted = '\0';
    served_take_verdicts(served, verdicts, on_adopted, NULL);
    json_decref(verdicts);
}

static bool is_recent(void *argument, const char *lease, int64_t epoch)
{
    (void)argument;
    (void)lease;
    return epoch >= 10;
}

static void ask(const char *lease)
{
    json_t *list = json_pack("[s, i]", lease, 5);

    served_take_asked(served, list);
    json_decref(list);
}

static void test_served(void)
{
    int64_t later = time(NULL) + 600;
    struct worker_process idle = {0}, runs = {.session = {.id = 1}};

    strcpy(runs.session.grant.lease, "Lruns");
    TAILQ_INIT(&box.workers);
    TAILQ_INSERT_TAIL(&box.workers, &idle, link);
    TAILQ_INSERT_TAIL(&box.workers, &runs, link);
    served = served_new(&box);
    note("L1", 5, later, "t1");
    note("L1", 5, later - 100, "earlier");
    note("L2", 20, later, "t2");
    ok(!served_has_reclaims(served), "leases are known by their tickets");
    served_reclaim_others(served, is_recent, NULL);
    ok(served_has_reclaims(served), "those of earlier epochs are reclaimed");
    is_str(reclaims(), "L1=t1 ", "with the ticket that is valid longest");
    is_str(reclaims(), "L1=t1 ", "again without an answer");
    verdict(json_pack("{s:n}", "L1"));
    is_str(reclaims(), "L1=t1 ", "and if the broker waits");
    verdict(json_pack("{s:b}", "L1", 1));
    is_str(adopted, "L1", "it is adopted");
    is_str(reclaims(), "", "then nothing is reclaimed");
    verdict(json_pack("{s:s}", "L1", "no"));
    ok(!served_refusal(served, "L1"), "a verdict that was not asked for is none");
    ok(served_reclaim(served, "L2") && !served_reclaim(served, "L3"), "a lease is to be asked for");
    is_str(reclaims(), "L2=t2 ", "it is");
    ok(served_reclaim(served, "L2"), "which is known meanwhile");
    verdict(json_pack("{s:s}", "L2", "it \x01 ended\xc3\xa4"));
    is_str(served_refusal(served, "L2"), "it ? ended??", "it is refused, with a reason");
    ok(!served_refusal(served, "L9"), "no other is");
    ask("L2");
    is_str(reclaims(), "L2=t2 ", "the broker asks for it");
    verdict(json_object());
    is_str(served_refusal(served, "L2"), "it does not adopt leases",
           "an old broker has no verdict");
    ask("Lruns");
    ask("Lnone");
    is_str(reclaims(), "Lruns=- ", "a session without a known ticket is reclaimed, too");
    note("L4", 5, time(NULL) - 10, "expired");
    note("Lruns", 5, time(NULL) - 10, "t5");
    note("L5", 20, later, "t6");
    served_reclaim_others(served, is_recent, NULL);
    is_str(reclaims(), "L1=t1 Lruns=t5 ", "one whose ticket has expired if its session runs");
    served_forget(served, "L1");
    served_forget(served, "L1");
    is_str(reclaims(), "Lruns=t5 ", "one that is forgotten is not");
    for (int i = 0; i < 70; i++) {
        char name[16];
        snprintf(name, sizeof(name), "M%d", i);
        note(name, 5, later, "t");
    }
    served_reclaim_others(served, is_recent, NULL);
    json_t *list = served_report(served);
    is_int((int64_t)json_array_size(list), 64, "so many at once");
    json_decref(list);
    served_free(&served);
    served_free(&served);
    ok(!served, "all is forgotten");
}

int main(void)
{
    if (!mkdtemp(directory))
        bail("no directory");
    snprintf(path, sizeof(path), "%s/history", directory);
    test_history();
    test_served();
    rmdir(directory);
    return done();
}
