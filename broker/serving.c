// SPDX-License-Identifier: BSD-3-Clause
#include "broker/serving.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "broker/api/http.h"
#include "common/base/log.h"
#include "common/base/quiet_thread.h"
#include "common/service/loop_stall.h"

static void broker_on_signal(evutil_socket_t number, short events, void *argument)
{
    (void)events;
    log_info("stopping: signal=%d", (int)number);
    event_base_loopbreak(argument);
}

static void on_watchdog(evutil_socket_t fd, short events, void *argument)
{
    (void)fd;
    (void)events;
    (void)argument;
    sd_notify(0, "WATCHDOG=1");
}

static int broker_serve(struct server *server, event_callback_fn reload)
{
    const char *line = server->waiting ? "rgpu-brokerd waits" : "rgpu-brokerd is ready";
    struct event *term, *interrupt, *hangup, *watchdog = NULL;
    uint64_t watchdog_us = 0;
    struct timeval period;
    int error = server_start(server);

    if (error)
        return error;
    term = evsignal_new(server->base, SIGTERM, broker_on_signal, server->base);
    interrupt = evsignal_new(server->base, SIGINT, broker_on_signal, server->base);
    hangup = evsignal_new(server->base, SIGHUP, reload, server);
    event_add(term, NULL);
    event_add(interrupt, NULL);
    event_add(hangup, NULL);
    if (sd_watchdog_enabled(0, &watchdog_us) > 0) {
        period.tv_sec = (time_t)(watchdog_us / 2000000);
        period.tv_usec = (suseconds_t)(watchdog_us / 2 % 1000000);
        watchdog = event_new(server->base, -1, EV_PERSIST, on_watchdog, NULL);
        event_priority_set(watchdog, PRIORITY_TIME);
        event_add(watchdog, &period);
    }
    puts(line);
    fflush(stdout);
    sd_notifyf(0, "READY=1\nSTATUS=%s", line);
    loop_stall_start();
    event_base_dispatch(server->base);
    event_free(term);
    event_free(interrupt);
    event_free(hangup);
    if (watchdog)
        event_free(watchdog);
    return 0;
}

// Timers (the tick, the watchdog) have priority over requests, however many there are.
static struct event_base *new_base(void)
{
    const struct timeval interval = {.tv_usec = 100000};
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (config &&
        event_config_set_max_dispatch_interval(config, &interval, 64, PRIORITY_REQUESTS) == 0)
        base = event_base_new_with_config(config);
    if (config)
        event_config_free(config);
    if (base && event_base_priority_init(base, PRIORITY_REQUESTS + 1) < 0) {
        event_base_free(base);
        base = NULL;
    }
    return base;
}

enum outcome serve_pool(struct server *server, event_callback_fn reload)
{
    enum outcome error = OUTCOME_NO_MEMORY;

    if (!server->base)
        server->base = new_base();
    if (server->base)
        error = outcome_of(auth_new(server->settings, server->base, &server->auth));
    if (!error) {
        error = outcome_of(broker_serve(server, reload));
        server_stop(server);
    }
    auth_free(&server->auth);
    if (server->base)
        event_base_free(server->base);
    server->base = NULL;
    return error;
}

// ---- waiting ----

struct log_wait {
    const char *path;
    struct server *server;
    int done; // an eventfd
    atomic_bool stop;
    bool leads; // of the thread, until it ends
    bool over;  // the thread has ended by itself, and not because of a signal
};

static void *follow_log(void *argument)
{
    struct log_wait *self = argument;
    const uint64_t one = 1;

    self->leads = store_follow(self->path, self->server->broker->replication, &self->stop);
    if (write(self->done, &one, sizeof(one)) < 0)
        log_error("the end of the wait is not reported: %s", strerror(errno));
    return NULL;
}

static void on_lead(evutil_socket_t fd, short events, void *argument)
{
    struct log_wait *self = argument;

    (void)fd;
    (void)events;
    self->over = true;
    event_base_loopbreak(self->server->base);
}

enum outcome serve_waiting(struct server *server, const char *path, event_callback_fn reload,
                           bool *leads)
{
    struct log_wait self = {.path = path, .server = server, .done = eventfd(0, EFD_CLOEXEC)};
    struct event *event = NULL;
    enum outcome error = OUTCOME_NO_MEMORY;
    pthread_t thread;

    server->base = new_base();
    if (server->base && self.done >= 0)
        event = event_new(server->base, self.done, EV_READ, on_lead, &self);
    if (event && event_add(event, NULL) == 0)
        error = outcome_of(quiet_thread_start(&thread, follow_log, &self));
    if (!error) {
        error = serve_pool(server, reload);
        atomic_store(&self.stop, true);
        pthread_join(thread, NULL);
    }
    if (event)
        event_free(event);
    if (self.done >= 0)
        close(self.done);
    *leads = self.over && self.leads;
    return error;
}
