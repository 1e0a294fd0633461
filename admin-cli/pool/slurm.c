// SPDX-License-Identifier: BSD-3-Clause
// rgpuctl slurm: prints the lines that Slurm's configuration needs, and checks if the Slurm daemons
// have loaded rgpu's plugins.
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin-cli/output/conversation.h"
#include "common/base/program_path.h"
#include "common/base/scope.h"

// ---- slurm-config ----

static int count_gpus(struct conversation *pool, json_int_t *gpus)
{
    json_t *answer;
    int status = pool_call(pool, "GET", "/v1/gpus", NULL, &answer);

    if (status)
        return status;
    *gpus = (json_int_t)json_array_size(json_object_get(answer, "gpus"));
    json_decref(answer);
    return 0;
}

static void slurm_find_directory(const char *installed, const char *built, const char *standard,
                                 char *path, size_t size)
{
    const char *const candidates[] = {installed, built, NULL};
    char resolved[PATH_MAX];

    if (program_path_find(candidates, path, size) || !realpath(path, resolved)) {
        snprintf(path, size, "%s", standard);
        return;
    }
    *strrchr(resolved, '/') = '\0';
    snprintf(path, size, "%s", resolved);
}

static void print_slurm_conf(json_int_t gpus, const char *plugins)
{
    printf(
        "# ---- slurm.conf, the same on every node ----\n"
        "# PluginDir: ours in front of what `scontrol show config` says now. Licenses: their count\n"
        "# follows the pool (now %lld GPUs); the number here is the most that jobs of this cluster\n"
        "# may have of it. SchedulerParameters: with those that you have.\n"
        "PluginDir=%s:/usr/lib/x86_64-linux-gnu/slurm-wlm\n"
        "GresTypes=rgpu\n"
        "JobSubmitPlugins=rgpu\n"
        "PrEpPlugins=prep/script,prep/rgpu\n"
        "Licenses=rgpu:2147483647,rgpu_mem:2147483647\n"
        "SchedulerParameters=bf_licenses,allow_zero_lic\n"
        "# and on every NodeName line, so that the pool and not the node is the limit:\n"
        "#   NodeName=... Gres=rgpu:%lld\n\n",
        (long long)gpus, plugins, (long long)(gpus ? gpus : 1));
}

static int run_slurm_config(const struct command *command, int argc, char **argv)
{
    char plugins[PATH_MAX], library[PATH_MAX];
    json_int_t gpus = 0;
    struct conversation pool;
    int status = pool_open(&pool, command, argc, argv, 0, 0);

    if (status >= 0)
        return status;
    status = count_gpus(&pool, &gpus);
    if (!status) {
        slurm_find_directory("../lib/rgpu/slurm/gres_rgpu.so", "../lib/slurm/gres_rgpu.so",
                             "/usr/local/lib/rgpu/slurm", plugins, sizeof(plugins));
        slurm_find_directory("../lib/rgpu/libcuda.so.1", "../lib/libcuda.so.1",
                             "/usr/local/lib/rgpu", library, sizeof(library));
        print_slurm_conf(gpus, plugins);
        printf("# ---- plugstack.conf, on every node and login node ----\n"
               "optional %s/spank_rgpu.so\n\n"
               "# ---- " SLURM_SETTINGS ", on every node ----\n"
               "[slurm]\n"
               "broker = %s\n"
               "[jobs]\n"
               "library = %s\n\n"
               "# ---- on the host of slurmctld; it runs as the SlurmUser ----\n"
               "# systemctl enable --now rgpu-slurm-sync\n",
               plugins, broker_client_address(pool.client), library);
    }
    pool_close(&pool);
    return status;
}

static const struct command_option slurm_options[] = {
    POOL_OPTIONS,
    {0},
};

const struct command slurm_commands[] = {
    {"slurm-config", "", "Prints what Slurm's files need to contain for this pool.", slurm_options,
     run_slurm_config},
    {0},
};

// ---- health ----

static const struct {
    const char *daemon;
    const char *plugins[6];
} expected[] = {
    {"slurmd", {"gres_rgpu.so", "prep_rgpu.so", NULL}},
    {"slurmctld",
     {"gres_rgpu.so", "job_submit_rgpu.so", "rgpu_submit.so", "prep_rgpu.so", "rgpu_prep.so",
      NULL}},
};

// A daemon of Debian 13 is named slurmctld-wlm in `comm` after a reconfiguration, which starts its
// program anew. Its first argument stays.
static bool slurm_has_name(const char *pid, const char *name)
{
    char path[PATH_MAX], text[PATH_MAX] = "";
    const char *base;

    snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
    SCOPED_FILE FILE *file = fopen(path, "re");
    if (!file || !fgets(text, sizeof(text), file))
        return false;
    base = strrchr(text, '/');
    return !strcmp(base ? base + 1 : text, name);
}

// 1: mapped, 0: not, -1: that cannot be seen.
static int has_mapped(const char *pid, const char *plugin)
{
    SCOPED_FREE char *line = NULL;
    char path[PATH_MAX];
    size_t room = 0;
    int found = 0, lines = 0;

    snprintf(path, sizeof(path), "/proc/%s/maps", pid);
    SCOPED_FILE FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    while (!found && getline(&line, &room, file) > 0) {
        char *name = strrchr(line, '/');
        lines++;
        found = name && !strncmp(name + 1, plugin, strlen(plugin));
    }
    return lines ? found : -1;
}

// Calls CALL with the pid of each process of this name.
static void each_process(const char *name, void (*call)(const char *pid, void *argument),
                         void *argument)
{
    struct dirent *entry;
    DIR *directory = opendir("/proc");

    while (directory && (entry = readdir(directory)))
        if (isdigit((unsigned char)entry->d_name[0]) && slurm_has_name(entry->d_name, name))
            call(entry->d_name, argument);
    if (directory)
        closedir(directory);
}

struct plugin_search {
    size_t daemon;
    slurm_plugin_report *report;
};

static void look_at_daemon(const char *pid, void *argument)
{
    const struct plugin_search *search = argument;

    for (const char *const *plugin = expected[search->daemon].plugins; *plugin; plugin++)
        search->report(expected[search->daemon].daemon, pid, *plugin, has_mapped(pid, *plugin));
}

void slurm_each_plugin(slurm_plugin_report *report)
{
    struct plugin_search search = {.report = report};

    for (; search.daemon < sizeof(expected) / sizeof(expected[0]); search.daemon++)
        each_process(expected[search.daemon].daemon, look_at_daemon, &search);
}

static void note_process(const char *pid, void *found)
{
    *(bool *)found = true;
}

bool slurm_runs_here(const char *name)
{
    bool found = false;

    each_process(name, note_process, &found);
    return found;
}

const char *slurm_settings_path(void)
{
    const char *settings = getenv("RGPU_SLURM_CONF");

    return settings && *settings ? settings : SLURM_SETTINGS;
}

static bool plugins_missing;

static void report_missing(const char *daemon, const char *pid, const char *plugin, int mapped)
{
    if (mapped > 0)
        return;
    plugins_missing = true;
    if (mapped < 0)
        fprintf(stderr, "rgpuctl health: whether %s (pid %s) has loaded %s only root can see\n",
                daemon, pid, plugin);
    else
        fprintf(stderr,
                "rgpuctl health: %s (pid %s) has not loaded %s: it is missing from "
                "PluginDir or slurm.conf, or was built for another version of Slurm; its log "
                "says which\n",
                daemon, pid, plugin);
}

int slurm_health(int status)
{
    if (access(slurm_settings_path(), F_OK))
        return status;
    slurm_each_plugin(report_missing);
    return plugins_missing && !status ? EXIT_ANSWER_NO : status;
}
