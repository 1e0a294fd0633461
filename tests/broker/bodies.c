// SPDX-License-Identifier: BSD-3-Clause
// What requests for GPUs and registrations of boxes may say, member by member.
#include "broker/pool/request.h"
#include "tests/broker/broker_sample.h"

static const struct {
    const char *text;
    bool good;
} requests[] = {
    {"{\"gpus\": [{}]}", true},
    {"{\"gpus\": [{\"count\": 2, \"mode\": \"exclusive\"}, {\"mode\": \"shared\", \"memory\": 1}]}",
     true},
    {"{\"gpus\": [{}], \"policy\": \"spread\", \"model\": \"H*\", \"box\": \"a\", \"locality\": \"r?\"}",
     true},
    {"{\"gpus\": [{}], \"min_memory\": 5, \"min_capability\": 90, \"index\": 3}", true},
    {"{\"gpus\": [{\"mode\": \"shared\", \"memory\": 1}], \"compute\": 100}", true},
    {"{\"gpus\": [{}], \"near\": [\"a|b\", \"c\"], \"same_box\": true}", true},
    {"{\"gpus\": [{}], \"different_boxes\": true, \"drained\": true}", true},
    {"{\"gpus\": [{}], \"protection\": \"privacy\"}", true},
    {"{\"gpus\": [{}], \"protection\": \"authenticate\"}", true},
    {"[]", false},
    {"{}", false},
    {"{\"gpus\": []}", false},
    {"{\"gpus\": [1]}", false},
    {"{\"gpus\": [{\"count\": \"2\"}]}", false},
    {"{\"gpus\": [{\"count\": 0}]}", false},
    {"{\"gpus\": [{\"count\": 1025}]}", false},
    {"{\"gpus\": [{\"mode\": \"other\"}]}", false},
    {"{\"gpus\": [{\"mode\": \"shared\"}]}", false},
    {"{\"gpus\": [{\"mode\": \"shared\", \"memory\": -1}]}", false},
    {"{\"gpus\": [{},{},{},{},{},{},{},{},{}]}", false},
    {"{\"gpus\": [{}], \"policy\": \"other\"}", false},
    {"{\"gpus\": [{}], \"model\": 5}", false},
    {"{\"gpus\": [{}], \"box\": 5}", false},
    {"{\"gpus\": [{}], \"locality\": 5}", false},
    {"{\"gpus\": [{}], \"min_memory\": -1}", false},
    {"{\"gpus\": [{}], \"min_capability\": 256}", false},
    {"{\"gpus\": [{}], \"compute\": 101}", false},
    {"{\"gpus\": [{}], \"near\": \"a\"}", false},
    {"{\"gpus\": [{}], \"near\": [\"\"]}", false},
    {"{\"gpus\": [{}], \"near\": [5]}", false},
    {"{\"gpus\": [{}], \"near\": [\"a,b\"]}", false},
    {"{\"gpus\": [{}], \"same_box\": 1}", false},
    {"{\"gpus\": [{}], \"different_boxes\": 1}", false},
    {"{\"gpus\": [{}], \"drained\": 1}", false},
    {"{\"gpus\": [{}], \"index\": 65536}", false},
    {"{\"gpus\": [{}], \"protection\": \"none\"}", false},
    {"{\"gpus\": [{}], \"protection\": 1}", false},
};

// A good request is the same after a way through the database's text.
static void test_requests(void)
{
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        json_t *object = json_loads(requests[i].text, 0, NULL);
        struct request request, again;
        const char *why = NULL;
        int error = request_from_json(object, &request, &why);
        char *text = error ? NULL : request_to_text(&request);

        ok(requests[i].good ? !error && text && !request_from_text(text, &again) &&
                                  !memcmp(&request, &again, sizeof(request))
                            : error == -EINVAL && why,
           "%s: %s", requests[i].good ? "taken" : "refused", requests[i].text);
        free(text);
        json_decref(object);
    }
}

// Returns true if a request with this member is taken.
static bool takes(const char *name, json_t *value)
{
    json_t *object =
        json_pack("{s:[{s:s, s:i}], s:o}", "gpus", "mode", "shared", "memory", 1, name, value);
    struct request request;
    const char *why;
    bool taken = request_from_json(object, &request, &why) == 0;

    json_decref(object);
    return taken;
}

static json_t *text_of(size_t length)
{
    char text[400];

    memset(text, 'x', sizeof(text));
    return json_stringn(text, length);
}

static void test_limits(void)
{
    static const struct {
        const char *name;
        json_int_t most;
    } numbers[] = {{"min_capability", 255}, {"compute", 100}, {"index", 65535}};
    static const char *const patterns[] = {"model", "box", "locality"};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        ok(takes(numbers[i].name, json_integer(numbers[i].most)) &&
               takes(numbers[i].name, json_integer(0)) && !takes(numbers[i].name, json_real(1)) &&
               !takes(numbers[i].name, json_integer(numbers[i].most + 1)) &&
               !takes(numbers[i].name, json_integer(-1)),
           "%s is at most %d", numbers[i].name, (int)numbers[i].most);
    }
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
        ok(takes(patterns[i], text_of(95)) && !takes(patterns[i], text_of(96)),
           "%s is a pattern of at most 95 characters", patterns[i]);
    ok(takes("near", json_pack("[o]", text_of(254))) &&
           !takes("near", json_pack("[o]", text_of(255))),
       "places have 254 characters");
    ok(takes("near", json_pack("[o, o]", text_of(100), text_of(153))) &&
           !takes("near", json_pack("[o, o]", text_of(100), text_of(155))),
       "together with the commas between them");
    ok(takes("gpus", json_pack("[{}, {s:i}]", "count", 1023)) &&
           !takes("gpus", json_pack("[{}, {s:i}]", "count", 1024)) &&
           takes("gpus", json_pack("[{s:i}]", "count", 1024)),
       "all parts have at most 1024 GPUs together");
    ok(takes("gpus", json_pack("[{},{},{},{},{},{},{},{}]")), "there are eight parts at most");
}

// Only users of shares are kept apart.
static void test_tenant(void)
{
    struct request request = sample_request(1, GPU_EXCLUSIVE, 0);

    request.tenant = 5;
    request_set_tenant(&request, 1000);
    is_int(request.tenant, 0, "a request for whole GPUs has no tenant");
    request.part_count = 2;
    request.parts[1].mode = GPU_SHARED;
    request_set_tenant(&request, 0);
    is_int(request.tenant, 1, "one with a share has its owner, who may be root");
    is_int(request_from_text("{\"gpus\": []}", &request), 0, "a request may have no parts on disk");
    is_int(request_from_text("{\"gpus\": [{\"count\": 0}]}", &request), -EINVAL, "but no bad ones");
    is_int(request_from_text("nonsense", &request), -EINVAL, "and must be one");
}

#define BOX "\"instance\": \"i\", \"addresses\": \"h:1\""
#define GPU "\"uuid\": \"G\", \"index\": 0, \"model\": \"M\", \"memory\": 100"

static const struct {
    const char *text, *why; // NULL: it is taken
} registrations[] = {
    {"{\"addresses\": \"h:1\", \"gpus\": []}", "\"instance\" must"},
    {"{\"instance\": \"\", \"addresses\": \"h:1\", \"gpus\": []}", "\"instance\" must"},
    {"{\"instance\": \"a b\", \"addresses\": \"h:1\", \"gpus\": []}", "\"instance\" must"},
    {"{\"instance\": \"i\", \"gpus\": []}", "\"addresses\" must"},
    {"{" BOX ", \"locality\": 5, \"gpus\": []}", "\"locality\", \"transports\""},
    {"{" BOX ", \"transports\": \"a;b\", \"gpus\": []}", "\"locality\", \"transports\""},
    {"{" BOX ", \"version\": \"\\u0001\", \"gpus\": []}", "\"locality\", \"transports\""},
    {"{" BOX "}", "\"gpus\" must be a list"},
    {"{" BOX ", \"gpus\": [{}]}", "a GPU needs a \"uuid\""},
    {"{" BOX ", \"gpus\": [{\"uuid\": \"a:1\"}]}", "a GPU needs a \"uuid\""},
    {"{" BOX ", \"gpus\": [{\"uuid\": \"G\"}]}", "a GPU needs an \"index\""},
    {"{" BOX ", \"gpus\": [{\"uuid\": \"G\", \"index\": 65536}]}", "a GPU needs an \"index\""},
    {"{" BOX ", \"gpus\": [{\"uuid\": \"G\", \"index\": 0}]}", "\"memory\", \"reserved\""},
    {"{" BOX ", \"gpus\": [{" GPU ", \"reserved\": -1}]}", "\"memory\", \"reserved\""},
    {"{" BOX ", \"gpus\": [{" GPU ", \"context\": \"1\"}]}", "\"memory\", \"reserved\""},
    {"{" BOX ", \"gpus\": [{" GPU ", \"context\": 1125899906842624}]}", "\"memory\", \"reserved\""},
    {"{" BOX ", \"gpus\": [{" GPU ", \"capability\": 256}]}", "\"capability\" of a GPU"},
    {"{" BOX ", \"gpus\": [{\"uuid\": \"G\", \"index\": 0, \"memory\": 1}]}",
     "a GPU needs a \"model\""},
    {"{" BOX ", \"gpus\": [{" GPU ", \"mode\": \"other\"}]}", "a GPU needs a \"model\""},
    {"{" BOX ", \"gpus\": [{" GPU ", \"sharing\": \"other\"}]}", "\"sharing\" of a GPU"},
    {"{" BOX ", \"gpus\": [{" GPU ", \"overcommit\": 10001}]}", "\"overcommit\" of a GPU"},
    {"{" BOX ", \"gpus\": [{" GPU "}, {" GPU "}]}", "two GPUs have the same UUID"},
    {"{" BOX ", \"seen\": {\"epoch\": -1}, \"gpus\": []}", "\"seen\" must be"},
    {"{" BOX ", \"seen\": {\"epoch\": -1, \"run\": \"a\"}, \"gpus\": []}", "\"seen\" must be"},
    {"{" BOX ", \"seen\": {\"run\": \"0123456789abcdef0123456789abcdef0\"}, \"gpus\": []}",
     "\"seen\" must be"},
    {"{" BOX ", \"gpus\": [{" GPU ", \"overcommit\": 10000, \"capability\": 255}]}", NULL},
    {"{" BOX ", \"gpus\": [{" GPU
     ", \"sharing\": \"mps-user\", \"overcommit\": 150, \"ready\": false}]}",
     NULL},
};

static void test_registrations(void)
{
    for (size_t i = 0; i < sizeof(registrations) / sizeof(registrations[0]); i++) {
        json_t *body = json_loads(registrations[i].text, 0, NULL);
        const char *why = NULL, *wanted = registrations[i].why;
        enum outcome error = broker_register(&broker, "c", body, "test", &why);

        ok(wanted ? error == OUTCOME_BAD_REQUEST && why && !strncmp(why, wanted, strlen(wanted))
                  : !error && !why,
           "%s: %s", wanted ? wanted : "taken", registrations[i].text);
        json_decref(body);
    }
    const struct pool_gpu *gpu = pool_find_gpu(broker.pool, "G");
    ok(gpu->sharing == GPU_MPS_USER && gpu->overcommit == 150 && gpu->parts && !gpu->ready,
       "and the GPU is as its box says");
}

// A GPU belongs to one box, until that is away.
static void test_gpus_move(void)
{
    const char *why = NULL;
    json_t *body = json_loads("{" BOX ", \"gpus\": [{" GPU "}]}", 0, NULL);
    struct pool_box *box = pool_find_box(broker.pool, "c");

    is_int(broker_register(&broker, "d", body, "test", &why), OUTCOME_TAKEN,
           "a GPU of a connected box is not another's");
    box->connected = false;
    is_int(broker_register(&broker, "d", body, "test", &why), OUTCOME_TAKEN,
           "nor of one that may come back at once");
    box->heard = clock_boot_seconds() - 60;
    is_int(broker_register(&broker, "d", body, "test", &why), 0, "but of one that is away");
    is_str(pool_find_gpu(broker.pool, "G")->box->name, "d", "it has moved");
    json_decref(body);
}

int main(void)
{
    make_directory();
    open_broker();
    test_requests();
    test_limits();
    test_tenant();
    test_registrations();
    test_gpus_move();
    remove_directory();
    return done();
}
