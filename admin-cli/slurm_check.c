// SPDX-License-Identifier: BSD-3-Clause
// rgpuctl slurm-check: checks everything that a job with remote GPUs needs of Slurm on this host,
// up to a job that runs. Prints each problem with its remedy.
#include <glob.h>
#include <ini.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin-cli/doctor.h"
#include "admin-cli/findings.h"
#include "admin-cli/output/conversation.h"
#include "admin-cli/slurm_output.h"
#include "common/base/scope.h"
#include "version.h"

enum { VALUE_MAX = 2048 };

// ---- what slurmctld has read ----

static const struct {
    const char *setting, *word; // of the list in slurm.conf
    const char *remedy;
} expected[] = {
    {"GresTypes", "rgpu", "so --gres=rgpu:N is unknown"},
    {"JobSubmitPlugins", "rgpu", "so requests do not become licences"},
    {"PrEpPlugins", "rgpu", "so jobs get no lease"},
    {"Licenses", "rgpu", "so GPUs are not counted"},
    {"Licenses", "rgpu_mem", "so shares are not counted"},
    {"SchedulerParameters", "bf_licenses", "so backfill does not plan jobs that wait for GPUs"},
    {"SchedulerParameters", "allow_zero_lic",
     "so jobs are refused that ask for more GPUs than are in service just now"},
};

static void slurm_check_settings(const char *config)
{
    char value[VALUE_MAX], what[200];

    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        slurm_output_setting(config, expected[i].setting, value, sizeof(value));
        if (slurm_output_has(value, expected[i].word)) {
            finding_well("slurm.conf", "%s has %s", expected[i].setting, expected[i].word);
            continue;
        }
        snprintf(what, sizeof(what), "%s lacks %s, %s", expected[i].setting, expected[i].word,
                 expected[i].remedy);
        finding_problem(
            "slurm.conf", what,
            "`rgpuctl slurm-config` prints the line; then restart slurmctld and slurmd");
    }
    slurm_output_setting(config, "AuthType", value, sizeof(value));
    if (strcmp(value, "auth/munge") != 0)
        finding_problem("slurm.conf", "AuthType is not auth/munge",
                        "give broker_key in " SLURM_SETTINGS
                        ", as leases cannot be signed by munge");
}

static void check_gres(void)
{
    static const char *const words[] = {"scontrol", "show", "nodes", "--oneliner", NULL};
    SCOPED_FREE char *nodes = NULL;
    unsigned all = 0, with = 0;
    char *position = NULL;

    if (slurm_output_of(words, &nodes) || !nodes)
        return;
    for (char *line = strtok_r(nodes, "\n", &position); line;
         line = strtok_r(NULL, "\n", &position)) {
        const char *gres = strstr(line, " Gres=");
        all++;
        with += gres && slurm_output_has(gres + 6, "rgpu");
    }
    if (with == 0)
        finding_problem("nodes", "no node has Gres=rgpu:N, so no job with remote GPUs can run",
                        "add it to the NodeName lines: `rgpuctl slurm-config` prints it");
    else
        finding_well("nodes", "%u of %u have Gres=rgpu", with, all);
}

// ---- what is installed on this host ----

static void check_plugins(const char *config)
{
    static const char *const files[] = {"job_submit_rgpu.so", "rgpu_submit.so", "prep_rgpu.so",
                                        "rgpu_prep.so",       "gres_rgpu.so",   "spank_rgpu.so",
                                        "rgpu_step.so"};
    char list[VALUE_MAX], path[PATH_MAX], *position = NULL, *directory;

    slurm_output_setting(config, "PluginDir", list, sizeof(list));
    for (directory = strtok_r(list, ":", &position); directory;
         directory = strtok_r(NULL, ":", &position)) {
        snprintf(path, sizeof(path), "%.1000s/%s", directory, files[0]);
        if (!access(path, F_OK))
            break;
    }
    if (!directory) {
        finding_problem("plugins", "no directory of PluginDir has rgpu's plugins on this host",
                        "install rgpu-slurm here, and put its directory in front of PluginDir");
        return;
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%.1000s/%s", directory, files[i]);
        if (access(path, R_OK))
            finding_problem("plugins", path, "it cannot be read: install rgpu-slurm anew");
    }
    finding_well("plugins", "%s", directory);
}

static bool names_spank(const char *path)
{
    SCOPED_FREE char *line = NULL;
    size_t room = 0;
    char pattern[PATH_MAX];
    SCOPED_FILE FILE *file = fopen(path, "re");

    while (file && getline(&line, &room, file) > 0) {
        char *text = line + strspn(line, " \t");
        char *name = strpbrk(text, " \t");
        glob_t found;
        bool there = false;

        if (*text == '#' || !name)
            continue;
        name += strspn(name, " \t");
        name[strcspn(name, " \t\n")] = '\0';
        if (strncmp(text, "include", 7) != 0) {
            if (!strcmp(basename(name), "spank_rgpu.so"))
                return true;
            continue;
        }
        // A relative pattern counts from the folder of this file.
        const char *end =
            *name == '/' ? path : path + (strrchr(path, '/') ? strrchr(path, '/') - path + 1 : 0);
        snprintf(pattern, sizeof(pattern), "%.*s%s", (int)(end - path), path, name);
        if (glob(pattern, 0, NULL, &found))
            continue;
        for (size_t i = 0; i < found.gl_pathc && !there; i++)
            there = strcmp(found.gl_pathv[i], path) != 0 && names_spank(found.gl_pathv[i]);
        globfree(&found);
        if (there)
            return true;
    }
    return false;
}

// Slurm reads the file beside slurm.conf if no other one is set, and prints no path then.
static void find_plugstack(const char *config, char *path, size_t size)
{
    char settings[VALUE_MAX];
    char *name;

    slurm_output_setting(config, "PlugStackConfig", path, size);
    if (*path)
        return;
    slurm_output_setting(config, "SLURM_CONF", settings, sizeof(settings));
    if ((name = strrchr(settings, '/')))
        snprintf(path, size, "%.*s/plugstack.conf", (int)(name - settings), settings);
}

static void check_plugstack(const char *config)
{
    char path[VALUE_MAX + 16], what[VALUE_MAX + 96];

    find_plugstack(config, path, sizeof(path));
    if (names_spank(path)) {
        finding_well("plugstack", "%s names spank_rgpu.so", path);
        return;
    }
    snprintf(what, sizeof(what), "%s does not name spank_rgpu.so, so steps get no tickets", path);
    finding_problem("plugstack", what,
                    "`rgpuctl slurm-config` prints the line; every node needs it");
}

static bool here; // a daemon of Slurm runs on this host

static void report_plugin(const char *daemon, const char *pid, const char *plugin, int mapped)
{
    char what[200];

    here = true;
    snprintf(what, sizeof(what), "%s (pid %s) has not loaded %s", daemon, pid, plugin);
    if (mapped > 0)
        finding_well("daemon", "%s (pid %s) has loaded %s", daemon, pid, plugin);
    else if (mapped < 0)
        finding_well("daemon", "%s (pid %s): only root can see what it has loaded", daemon, pid);
    else
        finding_problem(
            "daemon", what,
            "it was started before slurm.conf named the plugin, or the plugin was built "
            "for another version of Slurm: restart it, its log says which");
}

static void check_daemons(void)
{
    slurm_each_plugin(report_plugin);
    if (!here)
        finding_well("daemon", "neither slurmctld nor slurmd runs on this host");
    if (slurm_runs_here("slurmctld") && !slurm_runs_here("rgpu-slurm-sync"))
        finding_problem("sync",
                        "rgpu-slurm-sync does not run beside slurmctld, so what slurmctld "
                        "forgets stays leased",
                        "systemctl enable --now rgpu-slurm-sync");
}

// ---- rgpu's settings and the broker ----

struct slurm_rgpu_settings {
    char cluster[128], broker[300], key_file[PATH_MAX], munge_socket[PATH_MAX], broker_user[64];
};

static int slurm_check_take_setting(void *argument, const char *section, const char *name,
                                    const char *value)
{
    struct slurm_rgpu_settings *settings = argument;

    if (strcmp(section, "slurm") != 0)
        return 1;
    if (!strcmp(name, "cluster"))
        snprintf(settings->cluster, sizeof(settings->cluster), "%s", value);
    else if (!strcmp(name, "broker"))
        snprintf(settings->broker, sizeof(settings->broker), "%s", value);
    else if (!strcmp(name, "broker_key"))
        snprintf(settings->key_file, sizeof(settings->key_file), "%s", value);
    else if (!strcmp(name, "munge_socket"))
        snprintf(settings->munge_socket, sizeof(settings->munge_socket), "%s", value);
    else if (!strcmp(name, "broker_user"))
        snprintf(settings->broker_user, sizeof(settings->broker_user), "%s", value);
    return 1;
}

static void check_rgpu_settings(const char *path)
{
    static const char *const words[] = {"rgpu-slurm-sync", "--check-config", NULL};
    SCOPED_FREE char *said = NULL;
    char line[400];

    if (access(path, R_OK)) {
        finding_well("settings", "no %s here: defaults, and the broker of " BROKER_ADDRESS_FILE,
                     path);
        return;
    }
    int status = slurm_output_of(words, &said);
    slurm_output_last_line(said, line, sizeof(line));
    if (status == 127 && !slurm_runs_here("slurmctld"))
        finding_well("settings",
                     "%s is not checked: rgpu-slurm-sync is not in PATH or lacks a library", path);
    else if (status == 127)
        finding_problem("settings", "rgpu-slurm-sync is not in PATH or lacks a library",
                        "install rgpu-slurm and what it needs");
    else if (status)
        finding_problem("settings", line, "mend %s; rgpu-slurm-sync --check-config says all", path);
    else
        finding_well("settings", "%s", path);
}

static const char *given(const char *text)
{
    return *text ? text : NULL;
}

static void check_broker(struct conversation *pool, const struct slurm_rgpu_settings *settings)
{
    const char *broker = pool_option(pool, "broker"), *key = pool_option(pool, "key");
    const struct broker_client_options options = {
        .address = broker ? broker : given(settings->broker),
        .key_file = key ? key : given(settings->key_file),
        .munge_socket = given(settings->munge_socket),
        .broker_user = given(settings->broker_user),
        .timeout_ms = 5000,
    };
    json_t *boxes = doctor_ask_broker(pool, &options), *answer = NULL;

    if (boxes && broker_client_call(pool->client, "GET", "/v1/gpus", NULL, &answer) == 0) {
        size_t gpus = json_array_size(json_object_get(answer, "gpus"));
        if (gpus)
            finding_well("pool", "GPUs %zu", gpus);
        else
            finding_problem("pool", "it has no GPUs",
                            "start rgpud on the boxes; see rgpuctl boxes");
    }
    json_decref(answer);
    json_decref(boxes);
}

static void slurm_check_name(const char *config, const struct slurm_rgpu_settings *settings)
{
    char name[128];

    slurm_output_setting(config, "ClusterName", name, sizeof(name));
    finding_well("cluster", "leases are named slurm/%s/JOB/START",
                 *settings->cluster ? settings->cluster : name);
}

// ---- what is counted, and a job ----

static void check_count(void)
{
    static const char *const words[] = {"scontrol", "show", "licenses", "rgpu", NULL};
    SCOPED_FREE char *said = NULL;
    const char *total;

    if (slurm_output_of(words, &said) || !said)
        return;
    total = strstr(said, "Total=");
    if (total && strtoull(total + 6, NULL, 10) > 0)
        finding_well("licenses", "rgpu %.*s", (int)strcspn(total, "\n"), total);
    else
        finding_problem("licenses", "slurmctld counts no GPUs",
                        "slurmctld's log says why it does not reach the broker, or whose name the "
                        "cluster has");
}

static void check_job(const struct conversation *pool)
{
    const char *partition = pool_option(pool, "partition"), *wait = pool_option(pool, "wait");
    char self[PATH_MAX], immediate[40], line[400];
    const char *words[20] = {"srun",          "--quiet",    "--job-name=rgpu-check",
                             "--gres=rgpu:1", "--ntasks=1", "--time=2",
                             "--chdir=/",     immediate};
    size_t n = 8;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    SCOPED_FREE char *said = NULL;

    if (length < 0)
        return;
    self[length] = '\0';
    snprintf(immediate, sizeof(immediate), "--immediate=%.20s", wait ? wait : "60");
    if (partition) {
        words[n++] = "--partition";
        words[n++] = partition;
    }
    words[n++] = self;
    words[n++] = "ping";
    int status = slurm_output_of(words, &said);
    slurm_output_last_line(said, line, sizeof(line));
    if (status == 0 && strstr(line, "computed right"))
        finding_well("job", "it got a GPU: %s", line);
    else if (status == 127)
        finding_problem("job", *line ? line : "srun is not in PATH", "install Slurm's commands");
    else
        finding_problem("job", *line ? line : "a job with one GPU did not succeed",
                        "run it by hand: srun --gres=rgpu:1 %s ping", self);
}

// ---- the command ----

static char *slurm_check_slurmctld(void)
{
    static const char *const words[] = {"scontrol", "show", "config", NULL};
    char *config = NULL, line[400], version[64];
    int status = slurm_output_of(words, &config);

    if (status == 0 && config) {
        slurm_output_setting(config, "SLURM_VERSION", version, sizeof(version));
        finding_well("slurmctld", "it answers, version %s", version);
        return config;
    }
    slurm_output_last_line(config, line, sizeof(line));
    finding_problem("slurmctld", *line ? line : "scontrol cannot be run",
                    status == 127 ? "install Slurm's commands on this host"
                                  : "start slurmctld, or mend slurm.conf and munge on this host");
    free(config);
    return NULL;
}

static int run_slurm_check(const struct command *command, int argc, char **argv)
{
    struct conversation pool = {.command = command};
    struct slurm_rgpu_settings settings = {.cluster = ""};
    const char *path = slurm_settings_path();
    int status = command_parse(command, argc, argv, &pool.line);

    if (status >= 0)
        return status;
    if (pool.line.argc) {
        fprintf(stderr,
                "rgpuctl slurm-check: it takes no arguments; see rgpuctl slurm-check --help\n");
        return EXIT_USAGE;
    }
    findings_as_json(pool_option(&pool, "json") != NULL);
    finding_well("version", "rgpuctl %s", RGPU_VERSION);
    SCOPED_FREE char *config = slurm_check_slurmctld();
    if (config) {
        slurm_check_settings(config);
        check_gres();
        check_plugins(config);
        check_plugstack(config);
    }
    check_daemons();
    check_rgpu_settings(path);
    (void)ini_parse(path, slurm_check_take_setting, &settings);
    check_broker(&pool, &settings);
    if (config) {
        slurm_check_name(config, &settings);
        check_count();
    }
    if (config && !pool_option(&pool, "no-job"))
        check_job(&pool);
    pool_close(&pool);
    return findings_bad() ? EXIT_ANSWER_NO : 0;
}

static const struct command_option slurm_check_options[] = {
    POOL_OPTIONS,
    {"no-job", NULL, "run no job", 0},
    {"partition", "NAME", "partition of the job", 'p'},
    {"wait", "SECONDS", "how long the job may wait for its start [60]", 0, "1..86400"},
    {"json", NULL, "one JSON object per line", 0},
    {0},
};

const struct command slurm_check_commands[] = {
    {"slurm-check", "",
     "Says of everything that Slurm's jobs need for remote GPUs that it is well, or what to do.",
     slurm_check_options, run_slurm_check},
    {0},
};
