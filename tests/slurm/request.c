// SPDX-License-Identifier: GPL-2.0-or-later
// The request of a job is parsed strictly from Slurm's texts, and becomes the right licences.
#include <stdlib.h>
#include <string.h>

#include "slurm-plugin/request/gres_text.h"
#include "slurm-plugin/base/job_lease.h"
#include "slurm-plugin/places.h"
#include "slurm-plugin/request/job_request.h"
#include "tests/tap.h"

#define OPTION(name, value) (char *)"_SLURM_SPANK_OPTION_rgpu_rgpu_" name "=" value

static struct gpu_request request;
static const char *why;

static int parse(const char *gres, char *first, char *second)
{
    char *environment[] = {(char *)"PATH=/bin", first ? first : (char *)"A=b",
                           second ? second : (char *)"C"};

    return gpu_request_parse(gres, environment, 3, &request, &why);
}

static const char *licenses(uint32_t nodes)
{
    static char text[GPU_LICENSES_MAX];

    return gpu_request_licenses(&request, nodes, text, sizeof(text)) < 0 ? "too many" : text;
}

static void counts(void)
{
    is_int(parse(NULL, NULL, NULL), 0, "no --gres");
    is_int(request.per_node, 0, "asks for nothing");
    is_str(licenses(3), "", "and takes no licence");
    is_int(parse("gres:rgpu:2", NULL, NULL), 0, "the form of 22.05");
    is_int(request.per_node, 2, "and its count");
    is_str(licenses(3), "rgpu:6", "on three nodes");
    is_int(parse("gres/gpu:1,gres/rgpu:3", NULL, NULL), 0, "the form of 23.11, among others");
    is_int(request.per_node, 3, "and its count");
    is_int(parse("gres:rgpu", NULL, NULL), 0, "no count");
    is_int(request.per_node, 1, "is one");
    is_int(parse("gres:rgpux:2,gpu:rgpu:1", NULL, NULL), 0, "names that only look alike");
    is_int(request.per_node, 0, "are of others");
    is_int(parse("gres:rgpu:a100:2", NULL, NULL), 0, "a type");
    is_int(request.per_node, 2, "with its count");
    is_str(request.constraint, "model=*a100*", "is a model");
    is_int(parse("gres:rgpu:a100", OPTION("constraint", "same-box"), NULL), 0, "a type alone");
    is_int(request.per_node, 1, "is one");
    is_str(request.constraint, "same-box,model=*a100*", "beside other constraints");
    ok(parse("gres:rgpu:a100:1,gres:rgpu:h200:1", NULL, NULL) < 0, "two types");
    ok(parse("gres:rgpu:a*:1", NULL, NULL) < 0 && parse("gres:rgpu:a100:x", NULL, NULL) < 0 &&
           parse("gres:rgpu::2", NULL, NULL) < 0,
       "types that are none");
    ok(parse("gres:rgpu:-1", NULL, NULL) < 0, "a negative count");
    ok(parse("gres:rgpu:99999999999999999999", NULL, NULL) < 0, "an immense count");
    ok(parse("gres:rgpu:", NULL, NULL) < 0, "an empty count");
}

static void places(void)
{
    struct places places = {0};
    char text[64];

    places_print(&places, text, sizeof(text));
    is_str(text, "", "no switches, no places");
    places_add(&places, "n7");
    places_add(&places, "");
    places_print(&places, text, sizeof(text));
    is_str(text, "", "a node alone is none");
    places_add(&places, "hall3.rack1.n7");
    places_add(&places, "hall3.rack2.n8");
    places_add(&places, "hall3.rack1.n9");
    places_print(&places, text, sizeof(text));
    is_str(text, "near=rack1|rack2,near=hall3", "each switch once, the nearest first");
    places_print(&places, text, 16);
    is_str(text, "near=hall3", "what there is no room for is left out");
    places = (struct places){0};
    places_add(&places, "hall3..n7");
    places_add(&places, "rack[1-2].n8");
    places_print(&places, text, sizeof(text));
    is_str(text, "near=hall3", "nor is a level without a switch, or with several, a place");
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "rack%d.n%d", i, i);
        places_add(&places, text);
    }
    places_print(&places, text, sizeof(text));
    ok(strlen(text) < sizeof(text), "a job over a thousand switches has some of them");
}

static void constraints(void)
{
    json_t *object;

    is_int(parse("gres:rgpu:1", OPTION("constraint", "min-capability=8.6,near=rack1,near=hall3"),
                 NULL),
           0, "capability and places");
    object = gpu_request_json(&request, 1);
    is_int((int)json_integer_value(json_object_get(object, "min_capability")), 86,
           "as the broker takes them");
    is_str(json_string_value(json_array_get(json_object_get(object, "near"), 1)), "hall3",
           "in their order");
    json_decref(object);
    is_int(parse("gres:rgpu:1", OPTION("constraint", "min-capability=12"), NULL), 0,
           "a major number alone");
    object = gpu_request_json(&request, 1);
    is_int((int)json_integer_value(json_object_get(object, "min_capability")), 120,
           "stands for its first");
    json_decref(object);
    ok(parse("gres:rgpu:1", OPTION("constraint", "min-capability=8.x"), NULL) < 0 &&
           parse("gres:rgpu:1", OPTION("constraint", "min-capability=8.66"), NULL) < 0 &&
           parse("gres:rgpu:1", OPTION("constraint", "min-capability="), NULL) < 0 &&
           parse("gres:rgpu:1", OPTION("constraint", "min-capability=-8"), NULL) < 0 &&
           parse("gres:rgpu:1", OPTION("constraint", "near="), NULL) < 0,
       "what is none is refused");
}

static void modes(void)
{
    is_int(parse("gres:rgpu:2", OPTION("mem", "1500M"), NULL), 0, "memory");
    ok(request.shared, "makes it shares");
    ok(!strncmp(licenses(2), "rgpu_mem:6000,rgpu_", 19), "counted in MiB: %s", licenses(2));
    is_int(parse("gres:rgpu:1", OPTION("mem", "10G"), OPTION("mode", "exclusive")), 0,
           "an exclusive GPU with that much memory");
    ok(!request.shared && request.memory == 10ull << 30, "keeps the least memory");
    ok(!strncmp(licenses(1), "rgpu:1,rgpu_", 12), "and is counted as one: %s", licenses(1));
    ok(parse("gres:rgpu:1", OPTION("mode", "shared"), NULL) < 0 && why, "no budget: %s", why);
    ok(parse("gres:rgpu:1", OPTION("mode", "both"), NULL) < 0, "an unknown mode");
    ok(parse("gres:rgpu:1", OPTION("mem", "much"), NULL) < 0, "memory that is no size");
    ok(parse("gres:rgpu:1", OPTION("mem", "0"), NULL) < 0, "no memory");
    is_int(parse("gres:rgpu:1", OPTION("constraint", "model=*H200*,same-box"), NULL), 0,
           "a constraint");
    is_str(request.constraint, "model=*H200*,same-box", "is passed on");
    ok(parse("gres:rgpu:1", OPTION("constraint", "same-box,colour=red"), NULL) < 0 &&
           strstr(why, "colour=red"),
       "one that is none: %s", why);
    is_int(parse("gres:rgpu:1024", OPTION("mem", "16T"), NULL), 0, "very much");
    is_str(licenses(4000), "too many", "is refused where it cannot be counted");
    is_int(parse("gres:gpu:1", OPTION("mode", "both"), NULL), 0, "options without --gres=rgpu");
}

// The class of a request for two GPUs with these options, on `nodes` nodes.
static const char *class_of(char *first, char *second, uint32_t nodes)
{
    static char names[8][GPU_CLASS_MAX];
    static unsigned next;
    char *name = names[next++ % 8];

    if (parse("gres:rgpu:2", first, second) < 0)
        return "(refused)";
    gpu_request_class(&request, nodes, name);
    return name;
}

static void classes(void)
{
    const char *box = class_of(OPTION("constraint", "box=a"), NULL, 1);

    is_str(class_of(NULL, NULL, 1), "", "any GPUs: no class");
    ok(!strncmp(box, "rgpu_", 5) && licenses_name_ours(box), "GPUs of a box: class %s", box);
    is_str(class_of(OPTION("constraint", "box=a"), NULL, 1), box, "the same again");
    ok(strcmp(class_of(OPTION("constraint", "box=b"), NULL, 1), box), "another box: another class");
    ok(strcmp(class_of(OPTION("constraint", "box=a"), NULL, 2), box), "more GPUs: another class");
    ok(strcmp(class_of(OPTION("mem", "1G"), NULL, 1),
              class_of(OPTION("mem", "1G"), OPTION("mode", "exclusive"), 1)),
       "shares, and whole GPUs with as much memory, are different classes");
}

static bool is_hash(const char *name)
{
    return strlen(name) == 17 && !strncmp(name, "rgpu_", 5) &&
           strspn(name + 5, "0123456789abcdef") == 12;
}

static void class_names(void)
{
    is_int(parse("gres:rgpu:1", OPTION("constraint", "box=gpu01"), NULL), 0, "one GPU of a box");
    is_str(licenses(1), "rgpu:1,rgpu_box_gpu01:1", "names the box");
    is_str(licenses(4), "rgpu:4,rgpu_box_gpu01+x4:1", "and how many GPUs");
    is_int(parse("gres:rgpu:h200:2", NULL, NULL), 0, "GPUs of a model");
    is_str(licenses(1), "rgpu:2,rgpu_model_h200+x2:1", "name the model");
    is_str(class_of(OPTION("constraint", "same-box,min-memory=16G"), OPTION("mem", "2560M"), 1),
           "rgpu_same-box+min-memory_16G+share_2560M+x2", "words of a constraint, and a share");
    is_str(class_of(OPTION("mem", "10G"), OPTION("mode", "exclusive"), 1), "rgpu_memory_10G+x2",
           "a GPU that has so much memory");
    is_str(class_of(OPTION("constraint", "box=gpu0*,compute=25%"), NULL, 1),
           "rgpu_box_gpu0*+compute_25%+x2", "patterns and percent");
    is_str(class_of(OPTION("constraint", "model=NVIDIA*"), NULL, 1), "rgpu_model_NVIDIA*+x2",
           "the beginning of a model's name");
    ok(is_hash(class_of(OPTION("constraint", "model=H200"), NULL, 1)),
       "a model without stars is not one with stars");
    ok(is_hash(class_of(OPTION("constraint", "model=NVIDIA H200*"), NULL, 1)),
       "what no licence can be called has a hash");
    ok(is_hash(class_of(OPTION("constraint",
                               "box=a-very-long-name-of-a-box-somewhere-in-the-second-hall"),
                        NULL, 1)),
       "so has what is too long");
}

static void is_freed(char *text, const char *want, const char *what)
{
    is_str(text ? text : "(no memory)", want, "%s", what);
    free(text);
}

static void licence_texts(void)
{
    ok(licenses_name_ours("matlab:1,rgpu:8"), "ours among others");
    ok(licenses_name_ours("RGPU_MEM@db=3"), "in another case, with a server");
    ok(licenses_name_ours("a|rgpu:1"), "as a choice");
    ok(licenses_name_ours("rgpu_0123456789ab:1"), "a class");
    ok(!licenses_name_ours("rgpus:1,xrgpu") && !licenses_name_ours(NULL), "names that look alike");
    is_freed(gpu_request_without_type("gres:rgpu:h200:2,gres:gpu:h200:1", "h200"),
             "gres:rgpu:2,gres:gpu:h200:1", "without its type");
    is_freed(licenses_replace("matlab:1,rgpu:8", "rgpu:2"), "matlab:1,rgpu:2", "replaced");
    is_freed(licenses_replace("rgpu:8", ""), "", "removed");
    is_freed(licenses_replace(NULL, "rgpu:1"), "rgpu:1", "added");
    is_freed(licenses_replace("a:1|b:1", ""), "a:1|b:1", "others are left as they are");
    ok(licenses_same("rgpu:2,rgpu_a:1", "rgpu_a:1,rgpu:2") && licenses_same("", ""),
       "the same in another order");
    ok(!licenses_same("rgpu:2,rgpu_a:1", "rgpu:2,rgpu_b:1") && !licenses_same("rgpu:2", "rgpu:12"),
       "and others");
    is_freed(licenses_select_ours("a:1,rgpu:2,rgpu_mem:4"), "rgpu:2,rgpu_mem:4", "selected");
}

static void gpus_of_nodes(void)
{
    ok(gres_text_has_gpus("gres:gpu:2") && gres_text_has_gpus("cpu:1,gres/gpu:h200:2") &&
           gres_text_has_gpus("gpu") && gres_text_has_gpus("gres/gpu=2"),
       "GPUs of nodes");
    ok(!gres_text_has_gpus(NULL) && !gres_text_has_gpus("gres:rgpu:2") &&
           !gres_text_has_gpus("gres:gpux:2,nic:gpu:1"),
       "names that look alike");
    is_freed(gres_text_gpus_as_rgpu("nic:1,gres:gpu:h200:2,gpu"), "gres:rgpu:h200:2,rgpu",
             "become remote ones");
    is_freed(gres_text_without_gpus("nic:1,gres:gpu:h200:2,cpu:1"), "nic:1,cpu:1",
             "or are left out");
}

static void keys(void)
{
    struct slurm_settings settings = {.cluster = (char *)"c"};
    char key[LEASE_KEY_MAX];
    uint32_t job = 0;
    time_t start = 0;

    lease_key(&settings, 42, 1700000000, key);
    is_str(key, "slurm/c/42/1700000000", "a key");
    ok(lease_key_parse(&settings, key, &job, &start) && job == 42 && start == 1700000000,
       "and back");
    lease_key_prefix(&settings, 4, key);
    is_str(key, "slurm/c/4/", "job 4 is not the beginning of job 42");
    ok(!lease_key_parse(&settings, "slurm/d/42/1", &job, &start), "another cluster's");
    ok(!lease_key_parse(&settings, "slurm/c/x/1", &job, &start) &&
           !lease_key_parse(&settings, "slurm/c/1", &job, &start) &&
           !lease_key_parse(&settings, NULL, &job, &start),
       "others' keys");
}

int main(void)
{
    counts();
    places();
    constraints();
    modes();
    classes();
    class_names();
    licence_texts();
    gpus_of_nodes();
    keys();
    return done();
}
