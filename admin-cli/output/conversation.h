// SPDX-License-Identifier: BSD-3-Clause
// Functions shared by the commands that send requests to the broker.
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

// One command's conversation with the broker.
struct conversation {
    const struct command *command;
    struct command_line line;
    struct broker_client *client;
};

// Parses the command line and finds the broker. Negative: go on, then pool_close; else the exit
// status. MIN and MAX: how many arguments there must be.
int pool_open(struct conversation *pool, const struct command *command, int argc, char **argv,
              int min, int max);
void pool_close(struct conversation *pool);
const char *pool_option(const struct conversation *pool, const char *name);

// A call; a failure is explained on standard error. 0, or the exit status.
int pool_call(struct conversation *pool, const char *method, const char *path, const json_t *body,
              json_t **answer);
// The exit status for an error of the client, which is explained on standard error.
int pool_explain(const struct conversation *pool, int error);
// Waits at most SECONDS until the event log has grown beyond *last, and sets *last.
int pool_await_event(struct conversation *pool, unsigned seconds, json_int_t *last);

// Prints the list MEMBER of ANSWER as a table, or one JSON object per line with --json.
int pool_print(const struct conversation *pool, const json_t *answer, const char *member,
               const struct table_column *columns);

// Adds "user", the name of "owner", to each row.
void pool_name_owners(json_t *rows);

// Adds "why" to each row with a "drain": "fan 3 rattles (root, 2026-11-22 07:40)".
void pool_tell_drains(json_t *rows);
// The same of one, into TEXT.
void pool_tell_drain(const json_t *drain, char *text, size_t size);

// Commands that are the box's or the pool's: the pool's where a name is given, or, where
// WITHOUT_NAME allows, a broker is known; never with --socket.
bool pool_is_meant(const struct command *command, int argc, char **argv, bool without_name);
int pool_sessions(const struct command *command, int argc, char **argv);
int pool_health(const struct command *command, int argc, char **argv);
// Reports on standard error if the Slurm daemons of this machine have not loaded rgpu's plugins.
// Returns the exit status to go on with.
int slurm_health(int status);
int pool_usage(const struct command *command, int argc, char **argv);
int pool_drain(const struct command *command, int argc, char **argv);
// Says that a lease stays where it is, and why. EXIT_ANSWER_NO.
int move_explain(const struct command *command, const char *lease, const char *reason);
// Waits until what of the lease goes to another GPU is there. The exit status; where it stays, that
// is explained.
int pool_await_move(struct conversation *pool, const char *lease);

#endif
