// SPDX-License-Identifier: BSD-3-Clause
// rgpuctl doctor: checks everything between a program on this machine and a remote GPU. Prints each
// problem with its remedy.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "admin-cli/box_commands.h"
#include "admin-cli/doctor.h"
#include "admin-cli/doctor_host.h"
#include "admin-cli/findings.h"
#include "admin-cli/ping.h"
#include "common/net/endpoint.h"
#include "version.h"

enum { CONNECT_TIMEOUT_MS = 3000, ADDRESSES_MAX = 16 };

static bool unreachable; // an address of a box

static void look_at_versions(void)
{
    char path[PATH_MAX];

    finding_well("version", "rgpuctl %s", RGPU_VERSION);
    if (ping_library(path, sizeof(path)))
        finding_problem("library", "the client library is not installed",
                        "install rgpu-client; it was looked for as %s", path);
    else
        finding_well("library", "%s", path);
}

// ---- the broker ----

static void explain_broker(const struct conversation *pool, int error)
{
    const char *said = broker_client_error(pool->client);
    char now[64] = "";
    time_t seconds = time(NULL);

    strftime(now, sizeof(now), "%F %T", gmtime(&seconds));
    switch (error) {
    case -EACCES:
        finding_problem("broker", said,
                        "compare the clocks, here it is %s UTC; then compare the key with "
                        "the broker's, or munge's key on both hosts",
                        now);
        break;
    case -ECONNREFUSED:
        finding_problem("broker", said,
                        "start rgpu-brokerd there, or mend its address in " BROKER_ADDRESS_FILE
                        " or RGPU_BROKER");
        break;
    case -EHOSTUNREACH:
    case -ETIMEDOUT:
        finding_problem("broker", said, "look at the host's name, the network and firewalls");
        break;
    default: finding_problem("broker", said, "see rgpu-brokerd's log");
    }
}

json_t *doctor_ask_broker(struct conversation *pool, const struct broker_client_options *options)
{
    json_t *answer = NULL;
    int error = broker_client_open(options, &pool->client);

    if (error == -ENOENT && !options->address) {
        finding_well("broker", "none is known: boxes by their addresses only");
        return NULL;
    }
    if (error) {
        finding_problem("broker", broker_client_error(pool->client),
                        "mend the address or the key file");
        return NULL;
    }
    const char *address = broker_client_address(pool->client);
    doctor_munge(address && strncmp(address, "unix:", 5) && !options->key_file &&
                     !getenv("RGPU_BROKER_KEY"),
                 options->munge_socket);
    error = broker_client_call(pool->client, "GET", "/v1/boxes", NULL, &answer);
    if (error) {
        explain_broker(pool, error);
        return NULL;
    }
    finding_well("broker", "%s answers, boxes %zu%s", address ? address : "it",
                 json_array_size(json_object_get(answer, "boxes")),
                 address && strncmp(address, "unix:", 5) ? "; clocks and key agree" : "");
    return answer;
}

// ---- boxes ----

static void look_at_address(const char *box, const struct endpoint *endpoint)
{
    char text[ENDPOINT_TEXT_MAX], what[400];
    int fd = endpoint_connect(endpoint, CONNECT_TIMEOUT_MS);

    endpoint_format(endpoint, text);
    if (fd >= 0) {
        close(fd);
        finding_well("address", "%s: %s takes connections", box, text);
        return;
    }
    unreachable = true;
    snprintf(what, sizeof(what), "%.100s: %.200s: %s", box, text, strerror(-fd));
    finding_problem(
        "address", what,
        fd == -ECONNREFUSED
            ? "start rgpud there, or mend the port (listen and announce in rgpud.conf)"
            : "look at the host's name, the route to it and firewalls (announce in rgpud.conf)");
}

static void look_at_addresses(const char *box, const char *list)
{
    struct endpoint endpoints[ADDRESSES_MAX];
    int count = endpoint_parse_list(list, ENDPOINT_DEFAULT_PORT, endpoints, ADDRESSES_MAX);

    if (count <= 0)
        finding_problem("address", "it is no host:port", "mend %s of %s", list, box);
    for (int i = 0; i < count; i++)
        look_at_address(box, &endpoints[i]);
}

static void look_at_box(const json_t *box)
{
    const char *name = json_string_value(json_object_get(box, "name"));
    const char *state = json_string_value(json_object_get(box, "state"));
    const char *version = json_string_value(json_object_get(box, "version"));
    const json_t *addresses = json_object_get(box, "addresses");
    size_t i;
    json_t *address;

    if (!name || !state || !version)
        return;
    if (!strcmp(state, "up") || !strncmp(state, "drain", 5))
        finding_well("box", "%s is %s", name, state);
    else
        finding_problem("box", "it does not report to the broker",
                        "%s is %s: look at rgpud's log there", name, state);
    if (strcmp(version, RGPU_VERSION))
        finding_problem("version", "box and library are of different releases",
                        "%s has %s, this machine %s: install the same release on both", name,
                        version, RGPU_VERSION);
    if (json_is_string(addresses))
        look_at_addresses(name, json_string_value(addresses));
    json_array_foreach(addresses, i, address)
        if (json_is_string(address))
            look_at_addresses(name, json_string_value(address));
}

// The free GPUs of a box, of which all get a kernel.
static unsigned free_gpus(const json_t *boxes, const char *wanted)
{
    size_t i;
    json_t *box;

    json_array_foreach(json_object_get(boxes, "boxes"), i, box) {
        const char *name = json_string_value(json_object_get(box, "name"));
        json_int_t gpus = json_integer_value(json_object_get(box, "gpus")),
                   used = json_integer_value(json_object_get(box, "gpus_used"));
        if (name && !strcmp(name, wanted) && gpus > used)
            return (unsigned)(gpus - used);
    }
    return 1;
}

static void look_at_boxes(const json_t *answer, const char *wanted)
{
    bool found = false;
    size_t i;
    json_t *box;

    json_array_foreach(json_object_get(answer, "boxes"), i, box) {
        const char *name = json_string_value(json_object_get(box, "name"));
        if (!wanted || (name && !strcmp(name, wanted))) {
            look_at_box(box);
            found = true;
        }
    }
    if (wanted && !found)
        finding_problem("box", "the broker does not know it",
                        "%s: `rgpuctl boxes` lists those that it "
                        "knows; look at `broker` and `name` in rgpud.conf there",
                        wanted);
}

// Runs `rgpuctl ping` in a process of its own. Returns true if it was well.
static bool ping_well(const struct conversation *pool, const char *box, unsigned gpus)
{
    const char *broker = pool_option(pool, "broker"), *key = pool_option(pool, "key");
    const char *words[12] = {"rgpuctl", "ping", box};
    char count[16];
    int n = 3, status = -1;

    snprintf(count, sizeof(count), "%u", gpus);
    if (gpus > 1) {
        words[n++] = "--gpus";
        words[n++] = count;
    }
    if (broker) {
        words[n++] = "--broker";
        words[n++] = broker;
    }
    if (key) {
        words[n++] = "--key";
        words[n++] = key;
    }
    if (findings_are_json())
        words[n++] = "--json";
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        execv("/proc/self/exe", (char **)words);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) >= 0 && !status;
}

// The transports, and a kernel on each free GPU, or on one if others are faster or keep some.
static void look_at_transports(const struct conversation *pool, const char *box, unsigned gpus)
{
    if (ping_well(pool, box, gpus) || (gpus > 1 && ping_well(pool, box, 1)))
        finding_well("transport", "%s serves programs", box);
    else
        finding_problem("transport", "no session came about, or a kernel went wrong",
                        "%s: the lines above say why for each way and GPU", box);
}

// ---- the box on this machine ----

static void look_at_own_box(const char *path)
{
    json_t *rows = NULL, *row;
    size_t i;

    if (access(path, F_OK))
        return;
    if (box_rows(path, "devices", &rows)) {
        finding_problem("rgpud", "it does not answer at its administration socket",
                        "%s: start it, or ask as root or its group", path);
        return;
    }
    json_array_foreach(rows, i, row) {
        const char *uuid = json_string_value(json_object_get(row, "uuid"));
        const char *error = json_string_value(json_object_get(row, "last_error"));
        if (error && *error)
            finding_problem("driver", error, "%s: see rgpud's log and `nvidia-smi`",
                            uuid ? uuid : "GPU");
        else
            finding_well("driver", "%s works", uuid ? uuid : "GPU");
    }
    json_decref(rows);
    rows = NULL;
    if (box_rows(path, "health", &rows))
        return;
    row = json_array_get(rows, 0);
    const char *broker = json_string_value(json_object_get(row, "broker"));
    const char *why = json_string_value(json_object_get(row, "last_error"));
    if (broker && !strcmp(broker, "away"))
        finding_problem("registration", why && *why ? why : "the broker does not know this box",
                        "look at broker and key_file in rgpud.conf, and at rgpud's log");
    else if (broker && !strcmp(broker, "registered"))
        finding_well("registration", "the broker knows this box");
    json_decref(rows);
}

static int run_doctor(const struct command *command, int argc, char **argv)
{
    struct conversation pool = {.command = command};
    int status = command_parse(command, argc, argv, &pool.line);

    if (status >= 0)
        return status;
    if (pool.line.argc > 1) {
        fprintf(stderr, "rgpuctl doctor: too many arguments; see rgpuctl doctor --help\n");
        return EXIT_USAGE;
    }
    const char *box = pool.line.argc ? pool.line.argv[0] : NULL,
               *socket = pool_option(&pool, "socket");
    findings_as_json(pool_option(&pool, "json") != NULL);
    look_at_versions();
    doctor_host();
    look_at_own_box(socket ? socket : RGPUD_SOCKET);
    const struct broker_client_options options = {.address = pool_option(&pool, "broker"),
                                                  .key_file = pool_option(&pool, "key"),
                                                  .timeout_ms = 5000};
    json_t *boxes = box && ping_is_address(box) ? NULL : doctor_ask_broker(&pool, &options);
    if (boxes)
        look_at_boxes(boxes, box);
    else if (box && ping_is_address(box))
        look_at_addresses(box, box);
    if (box && (boxes || ping_is_address(box)) && !unreachable)
        look_at_transports(&pool, box, boxes ? free_gpus(boxes, box) : 1);
    json_decref(boxes);
    pool_close(&pool);
    return findings_bad() ? EXIT_ANSWER_NO : 0;
}

static const struct command_option doctor_options[] = {
    POOL_OPTIONS,
    {"socket", "PATH", "administration socket of rgpud [" RGPUD_SOCKET "]", 0},
    {"json", NULL, "one JSON object per line", 0},
    {0},
};

const struct command doctor_commands[] = {
    {"doctor", "[BOX|HOST:PORT]",
     "Says of everything on the way to a box that it is well, or what to do.", doctor_options,
     run_doctor},
    {0},
};
