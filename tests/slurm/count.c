// SPDX-License-Identifier: GPL-2.0-or-later
// The broker's answer becomes Slurm's counts: free GPUs, GPUs that jobs hold, and the number of
// requests of each class that could start. An invalid answer changes nothing.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "slurm-plugin/sync/busy_note.h"
#include "slurm-plugin/counts/count.h"
#include "slurm-plugin/base/job_lease.h"
#include "slurm-plugin/base/lent.h"
#include "tests/tap.h"

static struct slurm_settings settings = {.cluster = (char *)"c"};
static struct count count;

static struct gpu_request request_of(const char *constraint)
{
    struct gpu_request request = {.per_node = 2};

    snprintf(request.constraint, sizeof(request.constraint), "%s", constraint);
    return request;
}

static int answer(const char *text)
{
    json_t *object = json_loads(text, 0, NULL);
    int error = count_answer(&settings, object, &count);

    json_decref(object);
    return error;
}

static void classes(void)
{
    struct gpu_request box = request_of("box=a"), model = request_of("model=*b*"), other;
    struct count_class *first = count_want(&count, &box, 1, 10), *second;
    char text[64];

    ok(first && first->possible,
       "a kind of request is taken to be possible until something else is heard");
    ok(count_want(&count, &box, 1, 20) == first, "the same again is the same");
    is_int((int)first->wanted, 20, "and was asked for just now");
    second = count_want(&count, &box, 2, 15);
    ok(second && second != first, "on two nodes it is another");
    ok(count_want(&count, &model, 1, 30) != first, "as one for a model is");
    is_int((int)count.class_count, 3, "three kinds");
    ok(count_find(&count, first->name) == first && !count_find(&count, "rgpu"),
       "found by their names");
    count_forget(&count, 20);
    is_int((int)count.class_count, 2, "what nobody has asked for any more is forgotten");
    ok(count_find(&count, first->name) != NULL, "and nothing else");
    for (int i = 0; i < COUNT_CLASSES_MAX - 2; i++) {
        snprintf(text, sizeof(text), "box=x%d", i);
        other = request_of(text);
        if (!count_want(&count, &other, 1, 40))
            bail("too few kinds");
    }
    other = request_of("box=y");
    ok(!count_want(&count, &other, 1, 40), "there is an end to kinds");
    ok(count_want(&count, &box, 1, 41) != NULL, "which does not concern those that are known");
    ok(strstr(count_refusal(&count, 1), "128 different ways"),
       "and the reason says how many there may be");
    count_clear(&count);
    is_int((int)count.class_count, 0, "all are forgotten");
    for (int i = 0; i < COUNT_CLASSES_OF_USER; i++) {
        snprintf(text, sizeof(text), "box=x%d", i);
        other = request_of(text);
        ok(!count_refusal(&count, 7), "a user may ask in some ways");
        count_want(&count, &other, 1, 40)->owner = 7;
    }
    ok(strstr(count_refusal(&count, 7), "16 different ways"), "but not in any number of them");
    ok(!count_refusal(&count, 8), "which is another user's no matter");
    count_clear(&count);
}

static void question(void)
{
    struct gpu_request box = request_of("box=a");
    json_t *body;

    count_want(&count, &box, 2, 1);
    body = count_question(&settings, &count);
    is_str(json_string_value(json_object_get(body, "key_prefix")), "slurm/c/",
           "the leases of this cluster are asked for");
    is_int((int)json_array_size(json_object_get(body, "requests")), 1, "and each kind of request");
    is_str(json_string_value(
               json_object_get(json_array_get(json_object_get(body, "requests"), 0), "box")),
           "a", "as the broker takes it");
    is_int((int)json_integer_value(json_object_get(
               json_array_get(json_object_get(json_array_get(json_object_get(body, "requests"), 0),
                                              "gpus"),
                              0),
               "count")),
           4, "with the GPUs of all its nodes");
    json_decref(body);
}

static void jobs(void)
{
    struct gpu_request box = request_of("box=a");
    json_t *body;
    char *text;

    count_clear(&count);
    count_want(&count, &box, 1, 1)->waiting = true;
    count.next[count.next_count++] = 0;
    count_add_job(&count, 7, 100, 1000, false);
    count_add_job(&count, 8, 100, 3000, true);
    count_add_job(&count, 5, 90, 2000, false);
    count_sort_jobs(&count);
    body = count_question(&settings, &count);
    text = json_dumps(json_object_get(body, "holders"), JSON_COMPACT);
    is_str(text, "[\"slurm/c/8\",\"slurm/c/5\",\"slurm/c/7\"]",
           "jobs are named by their ends, the last first");
    free(text);
    ok(json_integer_value(json_array_get(json_object_get(body, "lenders"), 0)) == 0 &&
           json_array_size(json_object_get(body, "lenders")) == 1,
       "with those that lend what they had");
    ok(json_array_size(json_object_get(body, "waiting")) == 1 &&
           json_array_size(json_object_get(body, "next")) == 1,
       "and the kinds that wait and are next");
    ok(count_job_of(&count, 5, 90) && !count_job_of(&count, 5, 91) && !count_job_of(&count, 6, 90),
       "a job is found by its number and start");
    json_decref(body);
}

static void answers(void)
{
    is_int(
        answer(
            "{\"known\": 8, \"all_gpus\": 5, \"all_memory\": 3145728,"
            " \"requests\": [{\"now\": 2, \"total\": 4, \"ever\": true}],"
            " \"holders\": [null, [[0, 2], [9, 1], [-1, 1], 3], [[0, 1]]],"
            " \"leases\": [{\"key\": \"slurm/c/7/100\", \"state\": \"granted\", \"gpus\": 2, \"memory\": 0},"
            " {\"key\": \"slurm/c/5/90\", \"state\": \"granted\", \"gpus\": 0, \"memory\": 1048577},"
            " {\"key\": \"slurm/d/5/90\", \"state\": \"granted\", \"gpus\": 1, \"memory\": 0},"
            " {\"key\": \"slurm/c/6/95\", \"state\": \"ended\", \"gpus\": 0, \"memory\": 0}]}"),
        0, "an answer");
    is_int((int)count.known, 8, "GPUs there are");
    is_int((int)count.gpus, 5, "GPUs that jobs can have");
    is_int((int)count.classes[0].total, 4, "jobs of a kind that could run");
    is_int((int)count.lease_count, 2, "leases of this cluster that hold something");
    is_int((int)count_units(&count), 3, "memory in units of shares");
    is_int((int)count_takes(&count, count_job_of(&count, 5, 90), 0), 2, "a job takes two");
    is_int((int)count_takes(&count, count_job_of(&count, 7, 100), 0), 1, "another one");
    is_int((int)count_takes(&count, count_job_of(&count, 8, 100), 0), 0, "and one none");
    is_int((int)count_end_that_frees(&count, 0, 1), 1000, "the first end gives one back");
    is_int((int)count_end_that_frees(&count, 0, 3), 2000, "two ends give three");
    is_int((int)count_end_that_frees(&count, 0, 4), 0, "and there are no more");
}

static void starts(void)
{
    is_int(
        answer(
            "{\"known\": 8, \"requests\": [{\"now\": 0, \"ever\": false}], \"holders\": [null, null, null],"
            " \"leases\": [{\"key\": \"slurm/c/7/100\", \"state\": \"ending\", \"gpus\": 2, \"memory\": 0},"
            " {\"key\": \"slurm/c/7/200\", \"state\": \"granted\", \"gpus\": 1, \"memory\": 0},"
            " {\"key\": \"slurm/c/8/300\", \"state\": \"granted\", \"gpus\": 1, \"memory\": 0}]}"),
        0, "two runs of a job, one of which ends");
    ok(!count.classes[0].possible, "a kind that can never be is known as such");
    ok(count_lease_of(&count, 7, 200)->gpus == 1, "the earlier run is not the later one's");
    ok(count_lease_of(&count, 8, 310),
       "a start that was put off has the lease that was taken for it");
    ok(!count_lease_of(&count, 9, 1), "a job without a lease has none");
}

static void lenders(void)
{
    const struct count_lease *lease;

    is_int(
        answer(
            "{\"known\": 8, \"requests\": [{\"now\": 0, \"ever\": true}], \"holders\": [null, null, null],"
            " \"leases\": [{\"key\": \"slurm/c/7/100\", \"state\": \"granted\", \"gpus\": 0, \"memory\": 0, \"aside_gpus\": 2,"
            " \"suspension\": \"suspended\"},"
            " {\"key\": \"slurm/c/8/100\", \"state\": \"granted\", \"gpus\": 1, \"memory\": 0, \"not_suspended\": \"no room\"}]}"),
        0, "leases of which one is suspended");
    count_lent(&count, 7, 100, false);
    is_int((int)count.lent_gpus, 0, "a job that runs again lends nothing");
    count_lent(&count, 7, 100, true);
    is_int((int)count.lent_gpus, 2, "one that is suspended lends what it had");
    lease = count_lease_of(&count, 7, 100);
    ok(lease && lease->away && !*lease->not_suspended, "its lease is away");
    lease = count_lease_of(&count, 8, 100);
    ok(lease && !lease->away && !strcmp(lease->not_suspended, "no room"),
       "one that could not be suspended says why");
    ok(!count_lease_of(&count, 7, 99) && !count_lease_of(&count, 9, 100),
       "and another run has none");
}

static void comments(void)
{
    char text[LENT_TEXT_MAX];

    lent_text(4711, text);
    is_int((int)lent_to(text), 4711, "who has a job's GPUs is read from its comment");
    ok(!lent_to(NULL) && !lent_to("") && !lent_to("4711") && !lent_to("rgpu: no GPUs") &&
           !lent_to("rgpu: suspended, its GPUs are lent to job 3x"),
       "and from no other comment");
    ok(lent_may_ask(NULL) && lent_may_ask("") && lent_may_ask(text) &&
           lent_may_ask("rgpu: no GPUs of the pool fit this job now"),
       "a job may be asked for its GPUs");
    ok(!lent_may_ask("of the administrator"), "but not where the comment is somebody else's");
    lent_refusal("it has managed memory", text);
    ok(!lent_may_ask(text) && !lent_to(text), "or says that this was in vain");
}

static void notes(void)
{
    const struct busy_use second = {.seconds = 1, .held = 1};
    char noted[BUSY_NOTE_MAX];

    ok(busy_note("rgpu: exclusive a:0", &(struct busy_use){.seconds = 12.34}, noted) &&
           !strcmp(noted, "rgpu: exclusive a:0 busy=12.3s"),
       "how long GPUs were busy stands behind which they are");
    ok(!busy_note("rgpu: exclusive a:0 busy=12.3s", &(struct busy_use){.seconds = 12.34}, noted),
       "once");
    ok(busy_note("rgpu: exclusive a:0 busy=12.3s",
                 &(struct busy_use){.seconds = 13, .held = 26.2, .joules = 7800.4}, noted) &&
           !strcmp(noted, "rgpu: exclusive a:0 busy=13.0s efficiency=50% energy=7800J"),
       "the last that is heard of it, which part of their time, and their energy");
    ok(busy_note("rgpu: exclusive a:0", &(struct busy_use){.seconds = 1.04, .held = 1}, noted) &&
           strstr(noted, " efficiency=100%"),
       "which is all of it at most");
    ok(!busy_note(NULL, &second, noted) && !busy_note("mine", &second, noted),
       "in no other comment");
    ok(!busy_note("rgpu: exclusive a:0 constraint=model=*'*", &second, noted),
       "nor in one that would not be the same afterwards");
}

static void no_answers(void)
{
    struct count before;

    before = count;
    ok(answer("{}") == -EPROTO && answer("[]") == -EPROTO && answer("null") == -EPROTO &&
           answer("{\"leases\": [], \"requests\": []}") == -EPROTO &&
           answer("{\"leases\": {}, \"requests\": [{\"now\": 1}]}") == -EPROTO,
       "what is no answer to the question is refused");
    ok(!memcmp(&before, &count, sizeof(count)), "and changes nothing");
    is_int(answer("{\"all_gpus\": -3, \"all_memory\": \"much\", \"holders\": [1, {}, []],"
                  " \"requests\": [{\"total\": -1, \"ever\": 1}],"
                  " \"leases\": [{\"key\": 3}, 4, {\"key\": \"slurm/c/0/1\", \"gpus\": 1},"
                  " {\"key\": \"slurm/c/99999999999/1\", \"gpus\": 1}, {\"gpus\": 1}]}"),
           0, "nonsense in an answer");
    is_int((int)(count.gpus + count.memory + count.classes[0].total + count.lease_count), 0,
           "is nothing");
    ok(!count.classes[0].possible, "and never possible");
    count_clear(&count);
}

static void configured(void)
{
    is_int((int)count_configured("a:1,rgpu:16,rgpu_mem:300", "rgpu"), 16, "a count of slurm.conf");
    is_int((int)count_configured("rgpu_mem:300,rgpu:16", "rgpu"), 16,
           "not of a name that begins alike");
    is_int((int)count_configured("RGPU=4;b", "rgpu"), 4, "in another case and form");
    is_int((int)count_configured("rgpu", "rgpu") + (int)count_configured("", "rgpu") +
               (int)count_configured(NULL, "rgpu"),
           0, "none");
}

int main(void)
{
    classes();
    question();
    jobs();
    answers();
    starts();
    lenders();
    comments();
    notes();
    no_answers();
    configured();
    return done();
}
