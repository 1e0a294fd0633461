// SPDX-License-Identifier: BSD-3-Clause
// Stands in for everything that the broker's agent of a box calls, and records it. For the one test
// of the agent, broker_agent.c.
#ifndef RGPU_TESTS_DAEMON_AGENT_STAND_INS_H
#define RGPU_TESTS_DAEMON_AGENT_STAND_INS_H

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/fault.h"
#include "common/base/spread.h"
#include "daemon/rgpud/box/state_saver.h"
#include "daemon/rgpud/broker/broker_agent.h"
#include "daemon/rgpud/broker/broker_connection.h"
#include "daemon/rgpud/broker/broker_report.h"
#include "daemon/rgpud/gpus/gpu_time.h"
#include "daemon/rgpud/gpus/health.h"
#include "daemon/rgpud/sharing/moves.h"
#include "daemon/rgpud/suspension/suspension_orders.h"
#include "tests/tap.h"

static char did[1 << 17];
static int64_t now_ns = 1000 * 1000000000ll; // of all clocks
static json_t *sent;
static broker_answered *on_answer;
static void *answer_argument;
static state_saver_done *on_saved;
static void *saved_argument;
static bool armed, send_fails, timer_fails;
static int save_error;
static char saved_text[2][1 << 17]; // revoked, history
static event_callback_fn on_timer;
static void *timer_argument;

__attribute__((format(printf, 1, 2))) static void record(const char *format, ...)
{
    size_t used = strlen(did);
    va_list args;

    va_start(args, format);
    vsnprintf(did + used, sizeof(did) - used, format, args);
    va_end(args);
}

// Checks what was done since the last call.
static void is_done(const char *want, const char *what)
{
    is_str(did, want, "%s", what);
    *did = '\0';
}

// ---- time ----

int clock_gettime(clockid_t id, struct timespec *now)
{
    *now = (struct timespec){.tv_sec = now_ns / 1000000000, .tv_nsec = now_ns % 1000000000};
    return 0;
}

time_t time(time_t *now)
{
    return now_ns / 1000000000;
}

uint64_t spread_pause(uint64_t pause, unsigned percent)
{
    return pause + percent;
}

struct event *event_new(struct event_base *base, evutil_socket_t fd, short what,
                        event_callback_fn callback, void *argument)
{
    static char timer;

    on_timer = callback;
    timer_argument = argument;
    return timer_fails ? NULL : (struct event *)(void *)&timer;
}

int event_add(struct event *event, const struct timeval *delay)
{
    armed = true;
    record("wait%ld ", delay->tv_sec * 1000 + delay->tv_usec / 1000);
    return 0;
}

int event_pending(const struct event *event, short what, struct timeval *left)
{
    return armed;
}

void event_free(struct event *event)
{
    record("free ");
}

static void tick(void)
{
    armed = false;
    on_timer(-1, 0, timer_argument);
}

// ---- the connection ----

int broker_connection_open(struct box *box, broker_answered *answered, void *argument,
                           struct broker_connection **out)
{
    on_answer = answered;
    answer_argument = argument;
    return 0;
}

void broker_connection_close(struct broker_connection **connection)
{
    record("close ");
}

void broker_connection_expect(struct broker_connection *connection, unsigned heartbeat_ms)
{
    record("expect%u ", heartbeat_ms);
}

int broker_connection_send(struct broker_connection *connection, const char *method,
                           const char *suffix, const json_t *body)
{
    json_decref(sent);
    sent = json_deep_copy(body);
    record("%s%s ", method, suffix);
    return send_fails ? -EIO : 0;
}

void broker_connection_drop(struct broker_connection *connection)
{
    record("drop ");
}

void broker_connection_turn(struct broker_connection *connection)
{
    record("turn ");
}

const char *broker_connection_peer(const struct broker_connection *connection)
{
    return "b:1";
}

// ---- the box's other parts ----

void broker_report_check_addresses(const struct box *box)
{
    record("check ");
}

json_t *broker_report_box(const struct box *box, const char *instance)
{
    return json_pack("{s:s}", "instance", instance);
}

json_t *broker_report_sessions(const struct box *box)
{
    return json_string("sessions");
}

json_t *broker_report_figures(const struct box *box)
{
    return json_string("figures");
}

json_t *gpu_time_report(struct box *box)
{
    return json_string("gpu_time");
}

void gpu_time_reported(struct box *box)
{
    record("time-kept ");
}

json_t *health_report(struct box *box)
{
    return json_string("faults");
}

void health_reported(struct box *box)
{
    record("health ");
}

void health_adopt(struct box *box, const json_t *drained)
{
    record("drained=%s ", json_string_value(drained));
}

json_t *failed_sessions_report(struct failed_sessions *failed)
{
    return json_string("failed");
}

void failed_sessions_reported(struct failed_sessions *failed)
{
    record("failed ");
}

json_t *suspension_report(struct box *box)
{
    return json_string("suspensions");
}

void suspension_adopt(struct box *box, const json_t *ordered, const json_t *idle)
{
    record("suspended=%s,%s ", json_string_value(ordered), json_string_value(idle));
}

void suspension_forget(struct box *box, const char *lease)
{
    record("forget=%s ", lease);
}

json_t *moves_report(struct box *box)
{
    return json_string("moves");
}

void moves_adopt(struct box *box, const json_t *list)
{
    record("moves=%s ", json_string_value(list));
}

void box_changed(struct box *box)
{
    record("changed ");
}

void worker_end(struct worker_process *worker, enum control_end_reason reason, const char *text)
{
    worker->state = WORKER_ENDING;
    record("end(%s) ", reason == CONTROL_END_REASON_REVOKED ? text : "?");
}

// ---- the disk ----

struct state_saver *state_saver_open(struct event_base *base, const char *directory,
                                     state_saver_done *saved, void *argument)
{
    static char saver;

    on_saved = saved;
    saved_argument = argument;
    return (struct state_saver *)(void *)&saver;
}

int state_saver_write(struct state_saver *saver, const char *name, const char *point, char *text,
                      size_t size, uint64_t number)
{
    snprintf(saved_text[!strcmp(name, "history")], sizeof(saved_text[0]), "%s", text);
    free(text);
    record("save-%s%d ", name, (int)number);
    return save_error;
}

void state_saver_close(struct state_saver **saver)
{
    *saver = NULL;
}

// ---- a box ----

static struct box box;
static char *brokers[] = {"b:1", NULL}, *no_brokers[] = {NULL};

static void start(void)
{
    TAILQ_INIT(&box.workers);
    box.settings.broker = brokers;
    box.settings.state_dir = "/nonexistent";
    box.settings.clock_skew = 30 * 1000000ll;
    box.settings.max_ticket_lifetime = 3600 * 1000000ll;
    snprintf(box.name, sizeof(box.name), "box");
    box.state = BOX_SERVING;
    is_int(broker_agent_open(&box), 0, "the agent starts");
    is_done("check expect5000 ",
            "and waits for answers as a broker without a heartbeat gives them");
}

static void stop(const char *want)
{
    broker_agent_close(&box);
    is_done(want, "the agent ends");
    broker_agent_close(&box);
    is_done("", "twice");
    json_decref(sent);
    sent = NULL;
    memset(&box, 0, sizeof(box));
    armed = false;
}

static void answer(int status, bool proven, json_t *body)
{
    on_answer(answer_argument, status, proven, body);
    json_decref(body);
}

static void refuse(int status, bool proven, const char *code, const char *message)
{
    json_t *error = json_object();

    if (code)
        json_object_set_new(error, "code", json_string(code));
    if (message)
        json_object_set_new(error, "message", json_string(message));
    answer(status, proven, json_pack("{s:o}", "error", error));
}

static struct broker_contact contact(void)
{
    struct broker_contact found;

    broker_agent_contact(&box, &found);
    return found;
}

// Adds members of MORE to an answer to a registration or a report.
static json_t *with_point(json_t *more)
{
    json_t *body = json_pack("{s:s, s:i, s:i}", "run", "0a1b", "event", 7, "epoch", 900);

    json_object_update(body, more);
    json_decref(more);
    return body;
}

static void register_it(void)
{
    box.devices_known = true;
    broker_agent_review(&box);
    tick();
    answer(200, true, with_point(json_pack("{s:i}", "heartbeat", 2000)));
    on_saved(saved_argument, 0, 0);
    tick();
    *did = '\0';
}

static const char *sent_text(const char *member)
{
    static char text[600];
    char *dump = json_dumps(json_object_get(sent, member), JSON_COMPACT | JSON_ENCODE_ANY);

    snprintf(text, sizeof(text), "%s", dump ? dump : "none");
    free(dump);
    return text;
}

static struct worker_process *session(const char *lease)
{
    struct worker_process *worker = calloc(1, sizeof(*worker));

    if (!worker)
        bail("no memory");
    worker->session.id = 1;
    worker->state = WORKER_SERVING;
    snprintf(worker->session.grant.lease, sizeof(worker->session.grant.lease), "%s", lease);
    TAILQ_INSERT_TAIL(&box.workers, worker, link);
    return worker;
}

static void end_session(struct worker_process *worker)
{
    TAILQ_REMOVE(&box.workers, worker, link);
    free(worker);
}

#endif
