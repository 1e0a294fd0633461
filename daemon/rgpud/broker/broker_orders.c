// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/broker/broker_orders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/rgpud/broker/broker_history.h"
#include "daemon/rgpud/broker/served_leases.h"
#include "daemon/rgpud/broker/revocations.h"
#include "daemon/rgpud/box/state_saver.h"
#include "daemon/rgpud/suspension/suspension_orders.h"
#include "daemon/rgpud/workers/worker_process.h"

enum {
    ENDINGS_MAX = 4096,
    SAVE_RETRY_MS = 5000,
    EPOCH_AHEAD_MAX = 2 * 86400, // seconds ahead of this clock
};

struct ending {
    char lease[128];
    bool confirmed; // named in the pending report
    uint64_t save;  // number of the write that puts it on disk
};

static bool runs(const struct box *box, const char *lease)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->session.id && !strcmp(worker->session.grant.lease, lease))
            return true;
    return false;
}

// Writes the text that a program gets. REASON is the broker's, with an administrator's words, or
// NULL. A broker that is not ours could send anything, so only printable ASCII is taken.
static void put_end(const char *reason, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "the lease has ended%s", reason ? ": " : "");

    for (const char *byte = reason ? reason : ""; *byte && used + 1 < size; byte++)
        text[used++] = *byte < ' ' || *byte > '~' ? '?' : *byte;
    text[used] = '\0';
}

static void broker_orders_end_sessions(struct box *box, const char *lease, const char *reason)
{
    struct worker_process *worker;
    char text[300];

    put_end(reason, text, sizeof(text));
    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->session.id && worker->state != WORKER_ENDING &&
            !strcmp(worker->session.grant.lease, lease))
            worker_end(worker, CONTROL_END_REASON_REVOKED, text);
}

static bool is_complete(const struct broker_orders *orders, const struct ending *ending)
{
    return ending->save <= orders->done && !runs(orders->box, ending->lease);
}

bool broker_orders_wait(const struct broker_orders *orders)
{
    for (size_t i = 0; i < orders->ending_count; i++)
        if (!is_complete(orders, &orders->endings[i]))
            return true;
    return false;
}

static int add_ending(struct broker_orders *orders, const char *lease)
{
    struct ending *longer;

    for (size_t i = 0; i < orders->ending_count; i++)
        if (!strcmp(orders->endings[i].lease, lease))
            return 0;
    if (orders->ending_count == ENDINGS_MAX)
        return -ENOSPC; // the broker asks again
    longer = realloc(orders->endings, (orders->ending_count + 1) * sizeof(*longer));
    if (!longer)
        return -ENOMEM;
    orders->endings = longer;
    longer[orders->ending_count].confirmed = false;
    longer[orders->ending_count].save = orders->begun + revocations_changed(orders->revocations);
    snprintf(longer[orders->ending_count++].lease, sizeof(longer->lease), "%s", lease);
    return 0;
}

bool broker_orders_repeat(const struct broker_orders *orders, const json_t *list)
{
    size_t i;
    json_t *entry;

    json_array_foreach(list, i, entry) {
        const char *lease = json_string_value(json_object_get(entry, "lease"));
        for (size_t j = 0; lease && j < orders->ending_count; j++)
            if (orders->endings[j].confirmed && !strcmp(orders->endings[j].lease, lease))
                return true;
    }
    return false;
}

static bool is_lease_name(const char *lease)
{
    return lease && *lease && strlen(lease) < sizeof(((struct ending *)0)->lease) &&
           !strpbrk(lease, " \n\r\t");
}

static const char *ordered_lease(const json_t *order)
{
    const char *lease = json_string_value(json_object_get(order, "lease"));

    return is_lease_name(lease) ? lease : NULL;
}

static int64_t clock_skew(const struct box *box)
{
    return (int64_t)(box->settings.clock_skew / 1000000);
}

// Returns a time after which no ticket that exists today is accepted.
static int64_t latest_expiry(const struct box *box)
{
    return time(NULL) + clock_skew(box) + (int64_t)(box->settings.max_ticket_lifetime / 1000000);
}

// ---- on disk ----

static void save_failed(struct broker_orders *orders)
{
    orders->not_before_ms = clock_ms() + SAVE_RETRY_MS;
}

// Handles the result of a write. NUMBER 0 is the history.
static void broker_orders_saved(void *argument, uint64_t number, int err)
{
    struct broker_orders *orders = argument;

    if (!err && number)
        err = fault_point("agent.after_save");
    if (err) {
        save_failed(orders);
        if (number)
            revocations_not_saved(orders->revocations);
        else
            orders->history_changed = true;
        return;
    }
    if (number)
        orders->done = number;
    box_changed(orders->box); // ends may be complete
}

static int save_revocations(struct broker_orders *orders)
{
    char *text;
    size_t size;
    int err = fault_point("agent.before_save");

    if (!err)
        err = revocations_print(orders->revocations, time(NULL) - clock_skew(orders->box), &text,
                                &size);
    if (!err)
        err = state_saver_write(orders->saver, "revoked", "revocations.written", text, size,
                                orders->begun + 1);
    if (err)
        revocations_not_saved(orders->revocations);
    else
        orders->begun++;
    return err;
}

static int save_history(struct broker_orders *orders)
{
    char *text;
    size_t size;
    int err = history_print(orders->history, &text, &size);

    if (!err)
        err = state_saver_write(orders->saver, "history", "history.written", text, size, 0);
    if (!err || err == -ENOENT)
        orders->history_changed = false;
    return err == -ENOENT ? 0 : err;
}

// Writes pending changes to disk.
static void broker_orders_save(struct broker_orders *orders)
{
    int err = 0;

    if (clock_ms() < orders->not_before_ms)
        return;
    if (revocations_changed(orders->revocations))
        err = save_revocations(orders);
    if (!err && orders->history_changed)
        err = save_history(orders);
    if (!err)
        return;
    log_error("what the broker has ordered cannot be written error=\"%s\"", strerror(-err));
    save_failed(orders);
}

// ---- orders ----

// Adds a lease to the revocations. A lease whose tickets have all expired is left out.
static int refuse_from_now_on(struct broker_orders *orders, const json_t *order)
{
    const json_t *member = json_object_get(order, "until");
    int64_t latest = latest_expiry(orders->box);
    int64_t until = json_is_integer(member) ? json_integer_value(member) : latest;

    if (until < time(NULL) - clock_skew(orders->box))
        return 0;
    return revocations_add(orders->revocations, ordered_lease(order),
                           until < latest ? until : latest);
}

int broker_orders_take(struct broker_orders *orders, const json_t *list, bool confirm)
{
    size_t i;
    json_t *entry;
    int err = 0;

    if (json_array_size(list) == 0)
        return 0;
    json_array_foreach(list, i, entry) {
        const char *lease = ordered_lease(entry);
        if (!lease)
            continue;
        if (!err)
            err = refuse_from_now_on(orders, entry);
        broker_orders_end_sessions(orders->box, lease,
                                   json_string_value(json_object_get(entry, "reason")));
        suspension_forget(orders->box, lease);
        served_forget(orders->served, lease);
        if (confirm)
            log_info("lease=%s is to end", lease);
    }
    broker_orders_save(orders);
    for (i = 0; confirm && !err && i < json_array_size(list); i++) {
        const char *lease = ordered_lease(json_array_get(list, i));
        if (lease)
            err = add_ending(orders, lease);
    }
    return err;
}

json_t *broker_orders_endings(struct broker_orders *orders)
{
    json_t *list = json_array();

    for (size_t i = 0; i < orders->ending_count; i++)
        if ((orders->endings[i].confirmed = is_complete(orders, &orders->endings[i])))
            json_array_append_new(list, json_string(orders->endings[i].lease));
    return list;
}

int broker_orders_note(struct broker_orders *orders, const json_t *answer)
{
    const char *run = json_string_value(json_object_get(answer, "run"));
    json_int_t event = json_integer_value(json_object_get(answer, "event"));

    if (!run || !*run || strspn(run, "0123456789abcdef") != strlen(run) || strlen(run) > 32 ||
        event < 0)
        return -EBADMSG;
    history_note(orders->history, run, event);
    return 0;
}

// Collects live leases that are on the list of revocations, for a report. The broker then decides.
static void note_refused(struct broker_orders *orders, const struct history_lease *leases,
                         size_t count)
{
    json_decref(orders->refused);
    orders->refused = json_array();
    for (size_t i = 0; i < count; i++)
        if (revocations_has(orders->revocations, leases[i].name))
            json_array_append_new(orders->refused, json_string(leases[i].name));
}

int broker_orders_adopt(struct broker_orders *orders, const json_t *answer)
{
    const json_t *list = json_object_get(answer, "leases"),
                 *epochs = json_object_get(answer, "lease_epochs");
    int64_t epoch = json_integer_value(json_object_get(answer, "epoch"));
    size_t count = 0, size = json_array_size(list);
    SCOPED_FREE struct history_lease *leases = calloc(size + 1, sizeof(*leases));
    int err = leases ? broker_orders_note(orders, answer) : -ENOMEM;

    for (size_t i = 0; !err && i < size; i++) {
        const char *lease = json_string_value(json_array_get(list, i));
        if (is_lease_name(lease))
            leases[count++] =
                (struct history_lease){.name = lease,
                                       .since = json_integer_value(json_array_get(epochs, i))};
    }
    if (!err && (epoch < 1 || epoch > time(NULL) + EPOCH_AHEAD_MAX))
        err = -ERANGE;
    if (!err)
        err = history_adopt(orders->history, epoch, leases, count);
    if (!err) {
        orders->history_changed = true;
        broker_orders_save(orders);
        note_refused(orders, leases, count);
    }
    return err;
}

static bool broker_orders_accept(void *argument, const char *lease, int64_t epoch)
{
    const struct broker_orders *orders = argument;

    return revocations_has(orders->revocations, lease) ||
           history_accepts(orders->history, lease, epoch);
}

void broker_orders_reclaim_unknown(struct broker_orders *orders)
{
    served_reclaim_others(orders->served, broker_orders_accept, orders);
}

static void broker_orders_adopted(void *argument, const char *lease)
{
    struct broker_orders *orders = argument;

    if (history_accept(orders->history, lease))
        log_error("lease=%s is adopted, and its tickets cannot be remembered", lease);
    orders->history_changed = true;
}

bool broker_orders_take_verdicts(struct broker_orders *orders, const json_t *answer)
{
    bool wanted = served_has_reclaims(orders->served);

    served_take_verdicts(orders->served, json_object_get(answer, "reclaimed"),
                         broker_orders_adopted, orders);
    wanted = !wanted && served_has_reclaims(orders->served);
    served_take_asked(orders->served, json_object_get(answer, "reclaim"));
    if (orders->history_changed)
        broker_orders_save(orders);
    box_changed(orders->box); // clients may wait for a verdict
    return wanted;
}

bool broker_orders_delay(struct broker_orders *orders, const struct session_grant *grant)
{
    return !broker_orders_accept(orders, grant->lease, grant->epoch) &&
           served_reclaim(orders->served, grant->lease);
}

void broker_orders_restore(struct broker_orders *orders, const json_t *list)
{
    const json_t *entry;
    size_t i;

    json_decref(orders->refused);
    orders->refused = NULL;
    json_array_foreach(list, i, entry) {
        const char *lease = json_string_value(entry);
        if (!is_lease_name(lease))
            continue;
        log_warn("lease=%s is taken again: the broker has not ended it", lease);
        revocations_remove(orders->revocations, lease);
    }
    broker_orders_save(orders);
}

void broker_orders_put_point(const struct broker_orders *orders, json_t *body)
{
    int64_t epoch, event;
    const char *run;

    if (history_point(orders->history, &epoch, &run, &event))
        json_object_set_new(body, "seen",
                            json_pack("{s:I, s:s, s:I}", "epoch", (json_int_t)epoch, "run", run,
                                      "event", (json_int_t)event));
}

const char *broker_orders_objection(const struct broker_orders *orders,
                                    const struct session_grant *grant)
{
    static char text[400];
    const char *refusal = served_refusal(orders->served, grant->lease);

    if (revocations_has(orders->revocations, grant->lease))
        return "the lease has ended";
    if (!refusal || history_accepts(orders->history, grant->lease, grant->epoch))
        return NULL;
    snprintf(text, sizeof(text),
             "the broker does not know the lease any more, since its database was restored from an "
             "older copy, and does not adopt it: %s; take a new lease",
             refusal);
    return text;
}

int broker_orders_open(struct box *box, struct broker_orders *orders)
{
    const char *directory = box->settings.state_dir ? box->settings.state_dir : ".";
    int err;

    orders->box = box;
    err = revocations_open(directory, latest_expiry(box), &orders->revocations);
    if (!err)
        err = history_open(directory, &orders->history);
    if (!err) {
        orders->saver = state_saver_open(box->base, directory, broker_orders_saved, orders);
        orders->served = served_new(box);
        err = orders->saver && orders->served ? 0 : -ENOMEM;
    }
    return err;
}

void broker_orders_close(struct broker_orders *orders)
{
    if (orders->saver) {
        orders->history_changed = true;
        orders->not_before_ms = 0;
        broker_orders_save(orders);
        state_saver_close(&orders->saver);
    }
    history_close(&orders->history);
    served_free(&orders->served);
    revocations_close(&orders->revocations);
    json_decref(orders->refused);
    free(orders->endings);
}
