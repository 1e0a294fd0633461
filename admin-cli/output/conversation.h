// SPDX-License-Identifier: BSD-3-Clause
// Functions for commands that send requests to the broker.
#ifndef RGPU_ADMIN_CLI_CONVERSATION_H
#define RGPU_ADMIN_CLI_CONVERSATION_H

#include <jansson.h>
#include <stdbool.h>

#include "admin-cli/output/command.h"
#include "admin-cli/output/table.h"
#include "common/net/broker_client.h"

#define POOL_OPTIONS \
    {"broker", "ADDRESS", "host:port or unix:/path [RGPU_BROKER, " BROKER_ADDRESS_FILE "]", 0}, \
    { \
        "key", "FILE", "shared key instead of munge [RGPU_BROKER_KEY]", 0 \
    }

#define TIMEOUT_OPTION(what) \
    { \
        "timeout", "TIME", "give up " what " this time, such as 30s or 5m", 0 \
    }

// A command, its parsed command line, and its connection to the broker.
struct conversation {
    const struct command *command;
    struct command_line line;
    struct broker_client *client;
    double until; // time at which the command gives up waiting (clock_seconds); 0: never
};

// Parses the command line, with MIN to MAX arguments, and opens a client of the broker. Returns a
// negative number if the command can go on; the command must then call pool_close. Otherwise
// returns the exit status.
int pool_open(struct conversation *pool, const struct command *command, int argc, char **argv,
              int min, int max);
void pool_close(struct conversation *pool);
// Sets *UNTIL to the end of the option --timeout, or to 0 without that option. Returns 0, or
// EXIT_USAGE after a message.
int pool_read_timeout(const struct command *command, const struct command_line *line,
                      double *until);
// Returns true, after a message, if UNTIL has passed. UNTIL 0 never does.
bool pool_is_late(const struct command *command, const struct command_line *line, double until);
const char *pool_option(const struct conversation *pool, const char *name);

// Sends a request. Prints errors. Returns 0, or the exit status.
int pool_call(struct conversation *pool, const char *method, const char *path, const json_t *body,
              json_t **answer);
// Prints an error of the client and returns the exit status for it.
int pool_explain(const struct conversation *pool, int error);
// Waits at most SECONDS until the event log has events after *LAST, and sets *LAST to the number of
// the last one. Returns 0, or the exit status: that of a negative answer, after a message, once the
// time of --timeout is over.
int pool_await_event(struct conversation *pool, unsigned seconds, json_int_t *last);

// Prints the list MEMBER of ANSWER: as a table, or with --json as one JSON object per line.
int pool_print(const struct conversation *pool, const json_t *answer, const char *member,
               const struct table_column *columns);

// Adds "user" to each row: the name of the user id in "owner".
void pool_name_owners(json_t *rows);
// Returns the name of the user in the author of an event ("admin uid=0" is root), valid until the
// next call, or ACTOR if it names no user that is known here.
const char *pool_name_actor(const char *actor);

// Adds "why" to each row with a "drain", such as "fan 3 rattles (root, 2026-11-22 07:40)".
void pool_tell_drains(json_t *rows);
// Writes such a text for one drain to TEXT.
void pool_tell_drain(const json_t *drain, char *text, size_t size);

// For commands that query either the box of this machine or the pool. Returns true for the pool: an
// argument names something in it, --broker is given or, if WITHOUT_NAME is set, a broker is
// configured. Always returns false with --socket.
bool pool_is_meant(const struct command *command, int argc, char **argv, bool without_name);
int pool_sessions(const struct command *command, int argc, char **argv);
int pool_health(const struct command *command, int argc, char **argv);
// Reports on standard error if the Slurm daemons of this machine have not loaded rgpu's plugins.
// Returns STATUS, or EXIT_ANSWER_NO if STATUS is 0 and a plugin is missing.
int slurm_health(int status);

#define SLURM_SETTINGS "/etc/rgpu/slurm.conf"
// Returns the path of the settings of the Slurm plugins: RGPU_SLURM_CONF, else SLURM_SETTINGS.
const char *slurm_settings_path(void);
// Called with a daemon of Slurm, its pid, and a plugin that it should have loaded. MAPPED is 1 if
// it has, 0 if not, -1 if only root can see that.
typedef void slurm_plugin_report(const char *daemon, const char *pid, const char *plugin,
                                 int mapped);
// Calls REPORT for each plugin of each slurmd and slurmctld of this machine.
void slurm_each_plugin(slurm_plugin_report *report);
// Returns true if a process of this name, 15 characters at most, runs on this machine.
bool slurm_runs_here(const char *name);

int pool_usage(const struct command *command, int argc, char **argv);
// Finds the path of a box or a GPU in the API. A GPU is named by its UUID or as BOX:INDEX. Returns
// the exit status.
int pool_find_target(const struct conversation *pool, const char *name, char *path, size_t size,
                     bool *is_gpu);
int pool_drain(const struct command *command, int argc, char **argv);
// Prints that a lease is not moved and why. Returns EXIT_ANSWER_NO.
int move_explain(const struct command *command, const char *lease, const char *reason);
// Waits until a lease has been moved. Returns the exit status; prints the reason if it is not
// moved.
int pool_await_move(struct conversation *pool, const char *lease);

#endif
