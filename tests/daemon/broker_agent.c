// SPDX-License-Identifier: BSD-3-Clause
// The agent sends and does what it must after each answer of the broker and each change of the box.
#include "tests/daemon/agent_stand_ins.h"

static void test_without_a_broker(void)
{
    struct session_grant grant = {.epoch = 1};

    box.settings.broker = no_brokers;
    is_int(broker_agent_open(&box), 0, "without a broker there is no agent");
    broker_agent_review(&box);
    broker_agent_note(&box, NULL, "");
    ok(!contact().set && !broker_agent_delays(&box, &grant) &&
           !broker_agent_objection(&box, &grant) && contact().heard == -1,
       "nothing is known, delayed or refused");
    is_str(contact().why, "", "for no reason");
    is_done("", "nothing was done");
    timer_fails = true;
    box.settings.broker = brokers;
    box.settings.state_dir = "/nonexistent";
    is_int(broker_agent_open(&box), -ENOMEM, "without memory for a timer the agent does not start");
    is_done("check expect5000 close ", "and its connection is closed");
    ok(!box.agent, "there is none");
    timer_fails = false;
}

static void test_registration(void)
{
    start();
    broker_agent_review(&box);
    is_done("", "nothing is sent before the devices are known");
    tick();
    is_done("", "even by the timer");
    is_str(contact().why, "not registered yet", "there was no answer");
    ok(contact().set && !contact().registered && contact().heard == -1, "the broker is not known");
    box.devices_known = true;
    box.description = 3;
    broker_agent_review(&box);
    is_done("wait0 ", "then it is, at once");
    broker_agent_review(&box);
    is_done("", "once");
    tick();
    is_done("PUT ", "the box is described");
    is_str(sent_text("seen"), "none", "it has not seen the broker before");
    is_int((int64_t)strlen(json_string_value(json_object_get(sent, "instance"))), 32,
           "its start has an identifier");
    tick();
    is_done("", "the answer continues, and not the timer");
    answer(200, true,
           with_point(json_pack("{s:i, s:[s], s:[{s:s}]}", "heartbeat", 2000, "leases", "L1",
                                "revoked", "lease", "L2")));
    is_done(
        "expect2000 save-history0 forget=L2 save-revoked1 wait0 ",
        "the answer's heartbeat, leases and ended leases are taken, and the first report follows");
    is_str(saved_text[1], "epoch 900\nseen 0a1b 7\nlease L1\n", "with the point of the history");
    is_str(saved_text[0], "L2 4630\n",
           "an ended lease is refused as long as its ticket may be valid");
    ok(contact().registered && contact().heard == 0, "the broker is known");
    is_str(contact().why, "", "without a reason");
    now_ns += 3000000000;
    is_int(contact().heard, 3, "for three seconds it has said nothing");
    tick();
    is_done("POST/sync ", "the report");
    stop("free close save-history0 ");
}

static void test_heartbeats(void)
{
    static const struct {
        json_int_t said;
        const char *want;
    } cases[] = {{0, "expect5000 "},
                 {-1, "expect5000 "},
                 {1, "expect1 "},
                 {599999, "expect599999 "},
                 {600000, "expect5000 "}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        start();
        box.devices_known = true;
        tick();
        *did = '\0';
        answer(200, true, with_point(json_pack("{s:I}", "heartbeat", cases[i].said)));
        did[strlen(cases[i].want)] = '\0';
        is_done(cases[i].want, "a heartbeat is taken if it can be one");
        stop("free close save-history0 ");
    }
}

// Answers to a registration that no broker of ours gives.
static void test_histories(void)
{
    static const struct {
        const char *run;
        json_int_t event, epoch;
        bool taken, noted;
    } cases[] = {
        {"0a", 0, 1, true, true},
        {"0a", -1, 1, false, false},
        {"", 1, 1, false, false},
        {"0x", 1, 1, false, false},
        {"0123456789abcdef0123456789abcdef", 1, 1, true, true},
        {"0123456789abcdef0123456789abcdef0", 1, 1, false, false},
        {"0a", 1, 0, false, true},
        {NULL, 1, 1, false, false},
        {"0a", 1, 1003 + 2 * 86400, true, true},
        {"0a", 1, 1004 + 2 * 86400, false, true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *body = json_pack("{s:I, s:I}", "event", cases[i].event, "epoch", cases[i].epoch);
        if (cases[i].run)
            json_object_set_new(body, "run", json_string(cases[i].run));
        start();
        box.devices_known = true;
        tick();
        *did = '\0';
        answer(200, true, body);
        is_done(cases[i].taken ? "expect5000 save-history0 wait0 "
                               : "expect5000 changed turn wait250 ",
                "a history is taken if it can be one");
        is_str(contact().why, cases[i].taken ? "" : "what it says of its history cannot be",
               "or the reason is given");
        stop(cases[i].noted ? "free close save-history0 " : "free close ");
    }
}

static void test_offline(void)
{
    static const char *const waits[] = {"turn wait250 ",  "turn wait450 ",  "turn wait850 ",
                                        "turn wait1650 ", "turn wait3250 ", "turn wait5050 ",
                                        "turn wait5050 "};
    start();
    box.devices_known = true;
    tick();
    *did = '\0';
    for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
        answer(0, false, NULL);
        is_done(waits[i], "each failure waits longer, up to a limit, and tries the next broker");
        broker_agent_review(&box);
        is_done("", "a change does not shorten it");
        tick();
        is_done("PUT ", "then the box registers again");
    }
    is_str(contact().why, "no connection, or no answer in time", "the reason is kept");
    ok(contact().heard == -1, "there was no answer");
    refuse(503, true, "waiting", "a broker waits");
    is_done("turn wait1050 ", "another broker leads soon: a second");
    is_str(contact().why, "status 503: a broker waits", "says the answer");
    ok(contact().heard == 0, "which is proven");
    tick();
    refuse(503, true, "waiting", NULL);
    is_str(contact().why, "status 503: no answer", "or not");
    *did = '\0';
    tick();
    answer(200, true, NULL);
    is_str(contact().why, "status 200: no answer", "an answer without a body is none");
    *did = '\0';
    tick();
    refuse(500, true, "register", NULL);
    is_done("PUT wait0 ", "a broker that does not know the box gets its description at once");
    send_fails = true;
    tick();
    is_done("PUT turn wait4050 ", "a request that cannot be made is a failure");
    is_str(contact().why, "the request cannot be made", "with its reason");
    send_fails = false;
    tick();
    *did = '\0';
    answer(200, true, with_point(json_object()));
    tick();
    *did = '\0';
    send_fails = true;
    answer(200, true, with_point(json_object()));
    *did = '\0';
    tick();
    is_done("POST/sync changed turn wait250 ",
            "neither can a report; waiting clients are reviewed");
    ok(!contact().registered, "the box is not registered then");
    send_fails = false;
    tick();
    is_done("PUT ", "it registers again");
    stop("free close save-history0 ");
}

static void test_early_waiting(void)
{
    start();
    box.devices_known = true;
    tick();
    *did = '\0';
    refuse(503, true, "waiting", "x");
    is_done("turn wait250 ", "a short wait is not made longer");
    refuse(503, true, "other", "x");
    refuse(503, true, "other", "x");
    refuse(503, true, "other", "x");
    *did = '\0';
    refuse(503, true, "other", "x");
    is_done("turn wait3250 ", "nor is one with another reason made shorter");
    refuse(503, true, NULL, "x");
    is_done("turn wait5050 ", "or with none");
    stop("free close ");
}

static void test_not_believed(void)
{
    start();
    box.devices_known = true;
    tick();
    *did = '\0';
    answer(200, false, with_point(json_object()));
    is_done("turn wait250 ", "an answer without a proof is not taken");
    is_str(contact().why, "status 200, without proof of being the broker", "with the reason");
    ok(contact().heard == -1, "nothing was heard of the broker");
    tick();
    refuse(401, false, "restarted", "x");
    is_str(contact().why, "it has just started, and takes requests from the next second on",
           "a broker that has just started has no proof");
    tick();
    refuse(401, false, NULL, NULL);
    is_str(contact().why,
           "status 401, without proof of being the broker: no reason; see that key_file holds the "
           "key of box box",
           "one that does not know the key neither");
    tick();
    refuse(401, false, "unauthorized", "wrong key");
    is_str(contact().why,
           "status 401, without proof of being the broker: wrong key; see that key_file holds the "
           "key of box box",
           "which says why");
    tick();
    refuse(500, false, "restarted", "x");
    is_str(contact().why, "status 500, without proof of being the broker", "with another status");
    stop("turn wait250 PUT turn wait450 PUT turn wait850 PUT turn wait1650 PUT turn wait3250 "
         "free close " +
         sizeof("turn wait250 ") - 1);
}

static const char normal[] =
    "changed health failed suspended=(null),(null) moves=(null) drained=(null) ";

static void is_normal(const char *more, const char *what)
{
    char want[400];

    snprintf(want, sizeof(want), "%s%s", normal, more);
    is_done(want, what);
}

static json_t *end_order(const char *lease, const char *reason)
{
    json_t *order = json_pack("{s:s, s:i}", "lease", lease, "until", 2000);

    if (reason)
        json_object_set_new(order, "reason", json_string(reason));
    return with_point(json_pack("{s:[o]}", "revoke", order));
}

static void test_report(void)
{
    start();
    register_it();
    is_str(sent_text("failed"), "\"failed\"", "a report has failed sessions");
    is_str(sent_text("faults"), "\"faults\"", "faults");
    is_str(sent_text("sessions"), "\"sessions\"", "sessions");
    is_str(sent_text("figures"), "\"figures\"", "figures");
    is_str(sent_text("gpu_time"), "\"gpu_time\"", "GPU time");
    is_str(sent_text("suspensions"), "\"suspensions\"", "suspensions");
    is_str(sent_text("moves"), "\"moves\"", "moves");
    is_str(sent_text("ended"), "[]", "ended leases");
    is_str(sent_text("reclaim"), "[]", "leases to reclaim");
    is_str(sent_text("accepting"), "true", "and that the box takes sessions");
    is_str(sent_text("refused"), "[]", "after a registration also those that it refuses");
    answer(200, true,
           with_point(json_pack("{s:s, s:s, s:s, s:s, s:b}", "suspended", "S", "idle", "I", "moves",
                                "M", "gpus_drained", "D", "gpu_time_kept", 1)));
    is_done("changed health failed time-kept suspended=S,I moves=M drained=D wait0 ",
            "an answer's parts reach those that they concern");
    box.state = BOX_DRAINING;
    tick();
    is_str(sent_text("accepting"), "false", "a drained box takes none");
    is_str(sent_text("refused"), "none", "the refused ones are said once");
    *did = '\0';
    answer(200, true, with_point(json_object()));
    is_normal("wait0 ", "GPU time is sent again until it is kept");
    tick();
    answer(200, true, json_pack("{s:s}", "run", "zz"));
    is_done("POST/sync changed health failed changed turn wait250 ",
            "an answer without a point of the history is no broker's");
    is_str(contact().why, "what it says of its history cannot be", "with the reason");
    tick();
    is_str(sent_text("seen"), "{\"epoch\":900,\"run\":\"0a1b\",\"event\":7}",
           "a registration says what was seen last");
    stop("PUT free close save-history0 ");
}

static void test_changes(void)
{
    struct session_grant grant = {.lease = "L9", .epoch = 1};
    struct ticket ticket = {.lease = "L9", .epoch = 1, .expires = now_ns / 1000000000 + 100};

    start();
    register_it();
    broker_agent_review(&box);
    is_done("", "without a change the report is pending");
    box.faults++;
    broker_agent_review(&box);
    is_done("drop wait0 ", "a fault of a GPU is reported at once");
    tick();
    broker_agent_review(&box);
    is_done("POST/sync ", "once");
    box.suspension_changes++;
    broker_agent_review(&box);
    is_done("drop wait0 ", "so is a suspension");
    tick();
    is_done("POST/sync ", "once");
    ok(!broker_agent_delays(&box, &grant), "an unknown lease is not delayed");
    broker_agent_note(&box, &ticket, "text");
    ok(broker_agent_delays(&box, &grant), "one of an earlier epoch with a ticket is");
    broker_agent_review(&box);
    is_done("drop wait0 ", "and is reclaimed at once");
    tick();
    is_str(sent_text("reclaim"), "[{\"lease\":\"L9\",\"ticket\":\"text\"}]", "with its ticket");
    broker_agent_review(&box);
    is_done("POST/sync ", "once");
    answer(200, true, with_point(json_pack("{s:{s:n}}", "reclaimed", "L9")));
    is_normal("wait500 ", "a broker that waits is asked again after a while");
    ok(!broker_agent_objection(&box, &grant), "the lease is not refused while the broker is there");
    tick();
    answer(0, false, NULL);
    ok(broker_agent_objection(&box, &grant) &&
           strstr(broker_agent_objection(&box, &grant), "is away: try again"),
       "it is while the broker is away");
    tick();
    answer(200, true, with_point(json_object()));
    tick();
    *did = '\0';
    is_str(sent_text("reclaim"), "[{\"lease\":\"L9\",\"ticket\":\"text\"}]",
           "a lease that the broker does not know is reclaimed after a registration");
    answer(200, true, with_point(json_pack("{s:{s:b}}", "reclaimed", "L9", 1)));
    is_done("save-history0 changed health failed suspended=(null),(null) moves=(null) "
            "drained=(null) wait0 ",
            "an adopted lease is remembered");
    ok(!broker_agent_delays(&box, &grant) && !broker_agent_objection(&box, &grant),
       "and may have sessions");
    tick();
    *did = '\0';
    box.description++;
    broker_agent_review(&box);
    is_done("drop wait0 ", "another description is sent at once");
    tick();
    is_done("PUT ", "by a registration");
    stop("free close save-history0 ");
}

static void test_verdicts(void)
{
    struct session_grant grant = {.lease = "L9", .epoch = 1};
    struct ticket ticket = {.lease = "L9", .epoch = 1, .expires = now_ns / 1000000000 + 100};
    const char *why;

    start();
    register_it();
    answer(200, true, with_point(json_pack("{s:[s]}", "reclaim", "L9")));
    tick();
    is_str(sent_text("reclaim"), "[]", "a lease without a ticket and sessions is not reclaimed");
    broker_agent_note(&box, &ticket, "text");
    answer(200, true, with_point(json_pack("{s:[s]}", "reclaim", "L9")));
    tick();
    is_str(sent_text("reclaim"), "[{\"lease\":\"L9\",\"ticket\":\"text\"}]",
           "the broker asks for a lease");
    *did = '\0';
    answer(200, true, with_point(json_pack("{s:{s:s}}", "reclaimed", "L9", "it has ended")));
    is_normal("wait0 ", "and refuses it");
    why = broker_agent_objection(&box, &grant);
    ok(why && strstr(why, "does not adopt it: it has ended; take a new lease"),
       "programs get the reason");
    grant.epoch = 900;
    ok(!broker_agent_objection(&box, &grant), "a ticket of this epoch is accepted");
    stop("free close save-history0 ");
}

static void test_ends(void)
{
    struct session_grant grant = {.lease = "L1", .epoch = 900};
    struct worker_process *worker, *other, *warm;

    start();
    other = session("L2");
    warm = session("L1");
    warm->session.id = 0; // a warm worker, whose last session's lease is still named
    register_it();
    worker = session("L1");
    answer(200, true, end_order("L1", "by \x01 \x7f an~ administrator"));
    is_normal("end(the lease has ended: by ? ? an~ administrator) forget=L1 save-revoked1 wait500 ",
              "a lease's end ends its sessions, and is written");
    is_str(saved_text[0], "L1 2000\n", "until its last ticket expires");
    is_str(broker_agent_objection(&box, &grant), "the lease has ended", "no session begins");
    ok(other->state == WORKER_SERVING && warm->state == WORKER_SERVING, "others go on");
    broker_agent_review(&box);
    is_done("", "it is not reported before the session has ended");
    end_session(worker);
    broker_agent_review(&box);
    is_done("", "nor before it is on disk");
    on_saved(saved_argument, 1, 0);
    broker_agent_review(&box);
    is_done("changed wait0 ", "then at once");
    tick();
    is_str(sent_text("ended"), "[\"L1\"]", "by its name");
    *did = '\0';
    answer(200, true, end_order("L1", NULL));
    is_normal("forget=L1 wait500 ", "the broker may say it again: it is on disk");
    broker_agent_review(&box);
    is_done("wait0 ", "it has ended");
    tick();
    answer(200, true, end_order("L2", NULL));
    *did = '\0';
    end_session(other);
    on_saved(saved_argument, 2, 0);
    tick();
    is_str(sent_text("ended"), "[\"L2\"]", "only what the broker says is reported");
    answer(200, true, with_point(json_object()));
    *did = '\0';
    broker_agent_review(&box);
    is_done("", "nothing is left to report");
    end_session(warm);
    stop("free close save-history0 ");
}

static void test_until(void)
{
    static const struct {
        json_int_t until;
        const char *want;
    } cases[] = {{973, "L1 973\n"}, {972, ""}, {4633, "L1 4633\n"}, {4634, "L1 4633\n"}};

    now_ns = 1003 * 1000000000ll;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        start();
        register_it();
        strcpy(saved_text[0], "");
        answer(200, true,
               with_point(json_pack("{s:[{s:s, s:I}]}", "revoke", "lease", "L1", "until",
                                    cases[i].until)));
        is_str(saved_text[0], cases[i].want, "an end is kept while a ticket may be valid");
        *did = '\0';
        stop(*cases[i].want ? "free close save-history0 " : "free close save-history0 ");
    }
}

// A ticket of a lease that is over stays refused for as long as clocks may differ.
static void test_refused_as_long_as_accepted(void)
{
    struct session_grant grant = {.lease = "L1", .epoch = 900};
    int64_t start_ns = now_ns;

    start();
    register_it();
    answer(200, true, end_order("L1", NULL));
    on_saved(saved_argument, 1, 0);
    now_ns = 2030 * 1000000000ll;
    answer(200, true, end_order("L2", NULL));
    is_str(saved_text[0], "L1 2000\nL2 2000\n",
           "a ticket may be accepted so long after its expiry");
    is_str(broker_agent_objection(&box, &grant), "the lease has ended", "so it is refused");
    on_saved(saved_argument, 2, 0);
    now_ns = 2031 * 1000000000ll;
    answer(200, true,
           with_point(json_pack("{s:[{s:s, s:i}]}", "revoke", "lease", "L3", "until", 3000)));
    is_str(saved_text[0], "L3 3000\n", "and no longer");
    now_ns = start_ns;
    *did = '\0';
    stop("free close save-history0 ");
}

static void test_failing_disk(void)
{
    struct session_grant grant = {.lease = "L1", .epoch = 900};

    start();
    register_it();
    save_error = -EIO;
    answer(200, true, end_order("L1", NULL));
    is_normal("forget=L1 save-revoked1 wait500 ", "a failed write of an end");
    tick();
    is_str(sent_text("ended"), "[]", "is not reported as done");
    save_error = 0;
    *did = '\0';
    answer(200, true, end_order("L1", NULL));
    is_normal("forget=L1 wait500 ", "the next write waits");
    tick();
    *did = '\0';
    now_ns += 4999000000;
    answer(200, true, end_order("L1", NULL));
    is_normal("forget=L1 wait500 ", "for five seconds");
    tick();
    *did = '\0';
    now_ns += 1000000;
    answer(200, true, end_order("L1", NULL));
    is_done("changed health failed save-revoked1 suspended=(null),(null) moves=(null) "
            "drained=(null) forget=L1 wait500 ",
            "then it is written again");
    on_saved(saved_argument, 1, -EIO);
    broker_agent_review(&box);
    is_done("", "the disk fails later");
    now_ns += 5000000000;
    tick();
    *did = '\0';
    answer(200, true, end_order("L1", NULL));
    is_done("changed health failed save-revoked2 suspended=(null),(null) moves=(null) "
            "drained=(null) forget=L1 wait500 ",
            "and it is written once more");
    on_saved(saved_argument, 2, 0);
    *did = '\0';
    broker_agent_review(&box);
    is_done("wait0 ", "that is reported");
    is_str(broker_agent_objection(&box, &grant), "the lease has ended", "the lease is refused");
    stop("free close save-history0 ");
}

static void test_history_on_disk(void)
{
    start();
    box.devices_known = true;
    tick();
    save_error = -EIO;
    *did = '\0';
    answer(200, true, with_point(json_object()));
    is_done("expect5000 save-history0 wait0 ", "a history that cannot be written");
    save_error = 0;
    tick();
    answer(200, true, with_point(json_object()));
    is_done("POST/sync changed health failed suspended=(null),(null) moves=(null) drained=(null) "
            "wait0 ",
            "waits for five seconds");
    now_ns += 5000000000;
    tick();
    *did = '\0';
    answer(200, true, with_point(json_object()));
    is_done("save-history0 changed health failed suspended=(null),(null) moves=(null) "
            "drained=(null) wait0 ",
            "then it is written again");
    tick();
    *did = '\0';
    answer(200, true, with_point(json_object()));
    is_normal("wait0 ", "once");
    on_saved(saved_argument, 0, -EIO);
    is_done("", "unless the disk fails later");
    now_ns += 5000000000;
    tick();
    *did = '\0';
    answer(200, true, with_point(json_object()));
    is_done("save-history0 changed health failed suspended=(null),(null) moves=(null) "
            "drained=(null) wait0 ",
            "then, too");
    stop("free close save-history0 ");
}

static void test_taken_again(void)
{
    struct session_grant grant = {.lease = "L1", .epoch = 900};

    start();
    register_it();
    answer(200, true, end_order("L1", NULL));
    on_saved(saved_argument, 1, 0);
    tick();
    answer(0, false, NULL);
    tick();
    answer(200, true,
           with_point(json_pack("{s:[s, s, i, s], s:[i, i, i, i]}", "leases", "L1", "L2", 5, "a b",
                                "lease_epochs", 800, 850, 1, 1)));
    on_saved(saved_argument, 0, 0);
    tick();
    is_str(sent_text("refused"), "[\"L1\"]", "a live lease that the box refuses is reported");
    is_str(saved_text[1], "epoch 900\nseen 0a1b 7\nlease L1\nlease L2\n", "other names are none");
    *did = '\0';
    answer(200, true, with_point(json_pack("{s:[s, i]}", "restored", "L1", 5)));
    is_done("changed health failed save-revoked2 suspended=(null),(null) moves=(null) "
            "drained=(null) wait0 ",
            "the broker says that it lives");
    ok(!broker_agent_objection(&box, &grant), "then its sessions are accepted again");
    stop("free close save-history0 ");
}

// Orders of a broker that is not ours.
static void test_bad_orders(void)
{
    static char long_name[128];
    struct worker_process *worker;

    memset(long_name, 'x', sizeof(long_name) - 1);
    start();
    register_it();
    worker = session("");
    answer(200, true,
           with_point(json_pack("{s:[s, {s:i}, {s:s}, {s:s}, {s:s}]}", "revoke", "L1", "lease", 1,
                                "lease", "", "lease", "a b", "lease", long_name)));
    ok(strlen(long_name) == 127, "a name of 127 letters is one");
    memmove(did, strstr(did, "forget"), 8);
    did[7] = '\0';
    is_done("forget=", "orders without a lease's name are left out");
    end_session(worker);
    stop("free close save-history0 ");
}

static void test_many_ends(void)
{
    json_t *list = json_array();

    start();
    register_it();
    for (int i = 0; i < 4097; i++) {
        char name[16];
        snprintf(name, sizeof(name), "L%d", i);
        json_array_append_new(list, json_pack("{s:s}", "lease", name));
    }
    answer(200, true, with_point(json_pack("{s:o}", "revoke", list)));
    is_str(did + strlen(did) - 9, "wait5000 ", "more ends than fit into a report wait");
    *did = '\0';
    on_saved(saved_argument, 1, 0);
    tick();
    is_int((int64_t)json_array_size(json_object_get(sent, "ended")), 4096,
           "as many as fit are reported");
    stop("changed POST/sync free close save-history0 ");
}

int main(void)
{
    test_without_a_broker();
    memset(&box, 0, sizeof(box));
    test_registration();
    test_heartbeats();
    test_histories();
    test_offline();
    test_early_waiting();
    test_not_believed();
    test_report();
    test_changes();
    test_verdicts();
    test_ends();
    test_until();
    test_refused_as_long_as_accepted();
    test_failing_disk();
    test_history_on_disk();
    test_taken_again();
    test_bad_orders();
    test_many_ends();
    return done();
}
