// SPDX-License-Identifier: BSD-3-Clause
// Implements the commands of the MPS daemon that this software MPS supports.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "sim/mps/mps_control.h"

static bool is_server(const struct mps_server *server, const char *word)
{
    return server->pid && word && atoi(word) == (int)server->pid;
}

static void list_clients(const struct mps_server *server, char *reply, size_t room)
{
    size_t used = 0;

    for (int i = 0; i < MPS_CLIENTS_MAX && used < room; i++) {
        int pid = atomic_load(&server->board->places[i].client);
        if (pid)
            used += (size_t)snprintf(reply + used, room - used, "%d\n", pid);
    }
}

// Writes a line for each client: its process, its server, and its running kernels.
static void show_clients(const struct mps_server *server, char *reply, size_t room)
{
    size_t used = 0;

    for (int i = 0; server->pid && i < MPS_CLIENTS_MAX && used < room; i++) {
        const struct mps_place *place = &server->board->places[i];
        if (atomic_load(&place->client))
            used += (size_t)snprintf(reply + used, room - used, "%d %d %u\n",
                                     atomic_load(&place->client), (int)server->pid,
                                     atomic_load(&place->running));
    }
}

static void mps_command_terminate(const struct mps_server *server, const char *word, char *reply,
                                  size_t room)
{
    int client = word ? atoi(word) : 0;

    for (int i = 0; i < MPS_CLIENTS_MAX; i++)
        if (client && atomic_load(&server->board->places[i].client) == client) {
            atomic_store(&server->board->places[i].terminated, 1);
            snprintf(reply, room, "0\n");
            return;
        }
    snprintf(reply, room, "Invalid process %d!\n", client);
}

static void about_server(struct mps_server *server, const char *command, const char *word,
                         const char *other, char *reply, size_t room)
{
    if (!is_server(server, word))
        snprintf(reply, room, "Failed to find server %s\n", word ? word : "");
    else if (!strcmp(command, "get_server_status"))
        snprintf(reply, room, "%s\n", mps_server_state(server));
    else if (!strcmp(command, "get_client_list"))
        list_clients(server, reply, room);
    else if (!strcmp(command, "terminate_client"))
        mps_command_terminate(server, other, reply, room);
    else
        kill(server->pid, SIGKILL); // shutdown_server
}

bool mps_command(struct mps_server *server, const char *text, char *reply, size_t room)
{
    static const char *const servers[] = {"get_server_status", "get_client_list",
                                          "terminate_client", "shutdown_server"};
    char copy[256], *rest = NULL;

    *reply = '\0';
    snprintf(copy, sizeof(copy), "%s", text);
    char *command = strtok_r(copy, " \t\n", &rest);
    if (!command)
        return false;
    if (!strcmp(command, "quit"))
        return true;
    if (!strcmp(command, "get_server_list")) {
        if (server->pid)
            snprintf(reply, room, "%d\n", (int)server->pid);
        return false;
    }
    if (!strcmp(command, "ps")) {
        show_clients(server, reply, room);
        return false;
    }
    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++)
        if (!strcmp(command, servers[i])) {
            const char *word = strtok_r(NULL, " \t\n", &rest);
            about_server(server, command, word, strtok_r(NULL, " \t\n", &rest), reply, room);
            return false;
        }
    snprintf(reply, room, "Unknown command: %s\n", command);
    return false;
}
