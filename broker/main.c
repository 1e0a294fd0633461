// SPDX-License-Identifier: BSD-3-Clause
// rgpu-brokerd: manages the pool of GPUs and grants leases.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "broker/leases/history.h"
#include "broker/pool/holder.h"
#include "broker/api/http.h"
#include "broker/http/http_listeners.h"
#include "broker/leases/restoration.h"
#include "broker/leases/start.h"
#include "broker/serving.h"
#include "common/base/clock.h"
#include "common/base/descriptor.h"
#include "common/base/fault.h"
#include "common/base/log.h"
#include "common/service/program.h"
#include "common/base/scope.h"
#include "common/net/json_memory.h"

enum { OWN_FILES = 64 }; // open beside connections

static void tell_manager(const char *state)
{
    sd_notify(0, state);
}

static int load_keys(const struct broker_settings *settings, struct ticket_keyring *keys)
{
    int error;

    if (!settings->cluster_key || !*settings->cluster_key)
        return 0;
    error = ticket_keyring_load(settings->cluster_key, keys);
    if (error == -ENOENT) {
        log_warn("cluster_key=%s is not there: no tickets are issued; make one with "
                 "rgpu-brokerd --make-key",
                 settings->cluster_key);
        return 0;
    }
    if (error)
        config_complain(settings_table, "tickets", "cluster_key", "cluster_key=%s: %s",
                        settings->cluster_key, ticket_keyring_explain(error));
    return error;
}

static struct broker_limits limits_of(const struct broker_settings *settings)
{
    return (struct broker_limits){
        .away_seconds = (double)settings->away_after * 1e-6,
        .ticket_seconds = (int64_t)(settings->ticket_lifetime / 1000000),
        .privacy = settings->protection == 1,
        .max_ticket_seconds = (int64_t)(settings->max_ticket_lifetime / 1000000),
        .history_seconds = (int64_t)(settings->history / 1000000),
        .max_lifetime = (int64_t)(settings->max_lifetime / 1000000),
        .keep_events = settings->keep_events,
        .bandwidth = settings->max_bandwidth_per_lease,
    };
}

// ---- running ----

// A connection per box and per waiting client: as many files as the system lets us have, and fewer
// connections where those are too few, since the database needs some too.
static int fit_connections(struct broker_settings *settings)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -errno;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < 2 * OWN_FILES) {
        log_error("no more than %llu files may be open; raise the limit (LimitNOFILE=)",
                  (unsigned long long)limit.rlim_max);
        return -EMFILE;
    }
    if ((uint64_t)settings->max_connections <= limit.rlim_max - OWN_FILES)
        return 0;
    settings->max_connections = (int64_t)(limit.rlim_max - OWN_FILES);
    log_warn("max_connections=%lld is all that the limit of open files=%llu allows",
             (long long)settings->max_connections, (unsigned long long)limit.rlim_max);
    return 0;
}

static void on_hangup(evutil_socket_t number, short events, void *argument);

// Errors are in the log.
static enum outcome broker_lead(struct broker_settings *settings, struct holder *holder,
                                struct replication *replication)
{
    struct broker broker = {.limits = limits_of(settings), .replication = replication};
    struct server server = {.broker = &broker, .settings = settings};
    char path[4096];
    enum outcome error = outcome_of(load_keys(settings, &broker.keys));

    snprintf(path, sizeof(path), "%s/pool.sqlite", settings->state_dir);
    if (!error)
        error = broker_open(path, settings->synchronous == 0, &broker);
    if (!error)
        error = outcome_of(holder_sign(holder, broker.run));
    if (!error) {
        broker.holder = holder;
        if (holder->took_over || replication)
            error = history_take_over(&broker);
    }
    if (error == OUTCOME_DATABASE_DAMAGED)
        log_error(
            "%s is damaged; restore it from a copy (rgpu-brokerd --restore), or move it away to "
            "begin anew: the leases that boxes serve are then adopted",
            path);
    if (!error)
        error = serve_pool(&server, on_hangup);
    broker_close(&broker);
    return error;
}

// Waits until this broker leads. Returns false if it was stopped before, or failed.
static bool broker_wait(struct broker_settings *settings, struct replication *replication,
                        enum outcome *error)
{
    struct broker broker = {.pool = pool_new(), .replication = replication};
    struct server server = {.broker = &broker, .settings = settings, .waiting = true};
    char path[4096];
    bool leads = false;

    snprintf(path, sizeof(path), "%s/pool.sqlite", settings->state_dir);
    *error = broker.pool ? outcome_of(load_keys(settings, &broker.keys)) : OUTCOME_NO_MEMORY;
    if (!*error)
        *error = serve_waiting(&server, path, on_hangup, &leads);
    broker_close(&broker);
    return leads && !*error;
}

static int broker_run(struct broker_settings *settings)
{
    const struct etcd_access access = {.endpoints = settings->replication,
                                       .ca = settings->replication_ca,
                                       .cert = settings->replication_cert,
                                       .key = settings->replication_key};
    struct replication *replication = NULL;
    struct holder holder;
    enum outcome error;
    bool leads = true;

    if (holder_take(settings->state_dir, settings->standby, tell_manager, &holder))
        return -1;
    error = outcome_of(fit_connections(settings));
    if (!error && *settings->replication) {
        error = outcome_of(replication_open(&access, settings->listen, &replication));
        leads = !error && broker_wait(settings, replication, &error);
    }
    if (!error && leads)
        error = broker_lead(settings, &holder, replication);
    sd_notify(0, "STOPPING=1");
    replication_close(&replication);
    holder_release(&holder);
    return error ? -1 : 0;
}

// ---- the command line ----

static int broker_make_key(const char *path)
{
    struct ticket_keyring ring = {.count = 1};
    SCOPED_FD int fd = -1;
    char text[256], id[32];
    int size, error;

    snprintf(id, sizeof(id), "k%lld", (long long)clock_wall_seconds());
    error = ticket_key_generate(id, &ring.keys[0]);
    size = error ? error : ticket_keyring_print(&ring, text, sizeof(text));
    if (size < 0)
        return size;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, (size_t)size) != size || fsync(fd) < 0) {
        log_error("%s: %s", path, strerror(errno));
        return -errno;
    }
    explicit_bzero(text, sizeof(text));
    printf("%s: key %s\n", path, id);
    return 0;
}

static const struct program_about about = {
    .name = "rgpu-brokerd",
    .usage =
        "usage: rgpu-brokerd [--config FILE] [--OPTION VALUE]...\n"
        "       rgpu-brokerd --make-key FILE      a new cluster key\n"
        "       rgpu-brokerd [--config FILE] --backup FILE   a copy of the database, also while\n"
        "                                         the broker runs\n"
        "       rgpu-brokerd [--config FILE] --restore FILE   puts such a copy in place of the\n"
        "                                         database, while no broker runs\n"
        "       rgpu-brokerd [--config FILE] --check [--database FILE]   whether the database,\n"
        "                                         or a copy, is sound and keeps the promises\n"
        "       rgpu-brokerd [--config FILE] --check-config   all that is wrong with the settings;\n"
        "                                         status 1 where something is\n"
        "       rgpu-brokerd --print-config       the sample file: every option, its default\n"
        "       rgpu-brokerd --version\n\n",
    .settings = settings_table,
    .settings_are_options = true,
};

static int broker_configure(int *argc, char **argv, struct broker_settings *settings)
{
    const char *file = program_take_value(argc, argv, "--config");
    enum log_level level;
    int error = config_defaults(settings_table, settings), more;

    if (error)
        return error;
    // Each check runs even if an earlier one has failed, so that all errors are reported at once.
    error = file ? config_load(settings_table, file, settings) : 0;
    more = config_command_line(settings_table, argc, argv, settings);
    if (!more && *argc > 1) {
        log_error("not understood: %s; see --help", argv[1]);
        more = -EINVAL;
    }
    error = error ? error : more;
    more = settings_check(settings);
    if (!log_level_parse(settings->log_level ? settings->log_level : "info", &level))
        log_set_level(level);
    log_level_from_environment();
    return error ? error : more;
}

// The command line as it was given: a reload reads its settings again after those of the file.
static struct {
    int count;
    char **words;
} command_line;

// Returns a copy of the words, which the caller frees, or NULL.
static char **copy_words(int count, char **words)
{
    char **copy = calloc((size_t)count + 1, sizeof(*copy));

    if (copy)
        memcpy(copy, words, (size_t)count * sizeof(*copy));
    return copy;
}

static int read_settings_again(struct broker_settings *settings)
{
    SCOPED_FREE char **words = copy_words(command_line.count, command_line.words);
    int count = command_line.count, error;

    if (!words)
        return -ENOMEM;
    error = broker_configure(&count, words, settings);
    return error ? error : fit_connections(settings);
}

// Becomes the user of the service, whose keys and directory these are.
static void become_service(void)
{
    SCOPED_FREE char **words = copy_words(command_line.count, command_line.words);
    int count = command_line.count;
    const char *file = words ? program_take_value(&count, words, "--config") : NULL;

    if (program_become("rgpu-broker", file))
        log_info("checked as user rgpu-broker");
}

static void on_hangup(evutil_socket_t number, short events, void *argument)
{
    struct server *server = argument;
    struct ticket_keyring keys = server->broker->keys;
    struct broker_settings fresh = {0};

    (void)number;
    (void)events;
    if (read_settings_again(&fresh) || load_keys(server->settings, &keys) < 0 ||
        auth_reload(server->auth, &fresh)) {
        log_error("reload failed, the old settings and keys stay");
    } else {
        config_report_restart_needed(settings_table, server->settings, &fresh);
        config_take_reloadable(settings_table, server->settings, &fresh);
        server->broker->limits = limits_of(server->settings);
        server->broker->keys = keys;
        log_info("settings reloaded; cluster keys read again: keys=%zu", keys.count);
    }
    explicit_bzero(&keys, sizeof(keys));
    config_clear(settings_table, &fresh);
}

#define UNIT_STATE_DIR "/var/lib/rgpu-broker"

static int check_state_dir(const struct broker_settings *settings)
{
    const char *directory = settings->state_dir ? settings->state_dir : "";
    int error = access(directory, R_OK | W_OK | X_OK) ? -errno : 0;

    // The unit makes its own directory when it starts.
    if (error == -ENOENT && !strcmp(directory, UNIT_STATE_DIR))
        return 0;
    if (error)
        config_complain(settings_table, "broker", "state_dir", "state_dir=%s: %s", directory,
                        strerror(-error));
    return error;
}

// Returns true if a file of the settings cannot be read.
static bool lacks_file(const char *name, const char *path)
{
    if (!path || !*path || access(path, R_OK) == 0)
        return false;
    config_complain(settings_table, "broker", name, "%s=%s: %s", name, path, strerror(errno));
    return true;
}

static int check_replication_files(const struct broker_settings *settings)
{
    bool lacks = lacks_file("replication_ca", settings->replication_ca);

    lacks |= lacks_file("replication_cert", settings->replication_cert);
    lacks |= lacks_file("replication_key", settings->replication_key);
    return lacks ? -EINVAL : 0;
}

// Checks the files that a start reads beside the settings, without starting. All errors are logged.
static int check_start(const struct broker_settings *settings)
{
    struct ticket_keyring keys;
    int parts[] = {load_keys(settings, &keys), auth_settings_check(settings),
                   http_listeners_check(settings), check_state_dir(settings),
                   check_replication_files(settings)};

    explicit_bzero(&keys, sizeof(keys));
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (parts[i])
            return parts[i];
    return 0;
}

// A task on the database instead of serving it.
struct offline_task {
    const char *backup, *restore, *database;
    bool check;
};

static int run_task(const struct offline_task *task, const struct broker_settings *settings)
{
    char path[4096];
    int error;

    if (task->restore)
        return restoration_run(settings->state_dir, task->restore);
    snprintf(path, sizeof(path), "%s/pool.sqlite", settings->state_dir);
    error = task->backup ? store_backup(path, task->backup)
                         : store_check(task->database ? task->database : path);
    if (!error)
        printf("%s: %s\n",
               task->backup     ? task->backup
               : task->database ? task->database
                                : path,
               "sound, and all promises hold");
    return error;
}

int main(int argc, char **argv)
{
    struct broker_settings settings = {0};
    struct offline_task task = {0};
    const char *key_path;
    bool check_config;
    int error, more;

    descriptor_keep_standard();
    log_init("rgpu-brokerd", LOG_LEVEL_INFO);
    fault_init();
    json_memory_set_up();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); // a limit on file sizes is an error to report, not a reason to die
    umask(077);
    if (program_answer(&about, argc, argv))
        return program_finish(about.name, 0);
    key_path = program_take_value(&argc, argv, "--make-key");
    if (key_path)
        return broker_make_key(key_path) < 0 ? 1 : 0;
    check_config = program_take_flag(&argc, argv, "--check-config");
    task.check = program_take_flag(&argc, argv, "--check");
    task.backup = program_take_value(&argc, argv, "--backup");
    task.restore = program_take_value(&argc, argv, "--restore");
    task.database = program_take_value(&argc, argv, "--database");
    config_keep_places();
    command_line.count = argc;
    command_line.words = copy_words(argc, argv);
    if (!command_line.words)
        return 1;
    if (check_config)
        become_service();
    error = broker_configure(&argc, argv, &settings);
    if (check_config) {
        more = check_start(&settings);
        error = error ? error : more;
        if (!error)
            printf("rgpu-brokerd: the settings are in order\n");
    } else if (!error) {
        error = task.check || task.backup || task.restore ? run_task(&task, &settings)
                                                          : broker_run(&settings);
    }
    config_clear(settings_table, &settings);
    free(command_line.words);
    return error ? 1 : 0;
}
