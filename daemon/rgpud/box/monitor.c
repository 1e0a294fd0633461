// SPDX-License-Identifier: BSD-3-Clause
// A monitor that ends is restarted, unless it has reported that there are no figures.
#include "daemon/rgpud/box/monitor.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/net/control.h"
#include "common/base/log.h"
#include "common/base/spawn.h"

enum {
    TIMEOUT_SECONDS = 10, // timeout of the first round
    PAUSE_SECONDS = 30,   // before a restart
    LINE_MAX_BYTES = 512,
};

struct monitor {
    struct event_base *base;
    struct monitor_settings settings;
    struct bufferevent *output;
    int wants;           // a pipe, with one byte for each request; -1: the monitor does not run
    struct event *timer; // timeout of the first round, then the pause
    pid_t pid;           // 0: the monitor does not run
    bool reported;       // a round came, or the box has stopped waiting for one
    bool ended;          // it has reported why there are no figures
    monitor_took *took;
    void *argument;
    struct monitor_round round;
};

static void monitor_arm(struct monitor *monitor, int seconds)
{
    struct timeval delay = {.tv_sec = seconds};

    evtimer_add(monitor->timer, &delay);
}

static void monitor_tell(struct monitor *monitor, const struct monitor_round *round)
{
    if (!monitor->reported && monitor->pid)
        evtimer_del(monitor->timer);
    monitor->reported = true;
    monitor->took(monitor->argument, round);
}

static void monitor_stop(struct monitor *monitor)
{
    int status;

    if (monitor->output)
        bufferevent_free(monitor->output);
    monitor->output = NULL;
    if (monitor->wants >= 0)
        close(monitor->wants);
    monitor->wants = -1;
    if (monitor->pid && waitpid(monitor->pid, &status, WNOHANG) == 0) {
        kill(monitor->pid, SIGKILL);
        waitpid(monitor->pid, &status, 0);
    }
    monitor->pid = 0;
}

// ---- output of the monitor ----

static void monitor_clear(struct monitor *monitor)
{
    monitor->round.gpu_count = monitor->round.process_count = monitor->round.xid_count = 0;
    monitor->round.system.size = 0;
    monitor->round.is_glance = false;
}

static void monitor_take_gpu(struct monitor_round *round, const char *line)
{
    struct monitor_gpu *gpu = &round->gpus[round->gpu_count];
    unsigned long long used, total;

    if (round->gpu_count == MONITOR_GPUS_MAX ||
        sscanf(line, "gpu %47s %u %llu %llu", gpu->uuid, &gpu->number, &used, &total) != 4)
        return;
    gpu->used = used;
    gpu->total = total;
    gpu->hidden = false;
    gpu->answers.size = 0;
    gpu->utilization = gpu->memory_utilization = (struct figure){0};
    gpu->temperature = gpu->power = gpu->energy = (struct figure){0};
    gpu->partitioned = false;
    gpu->instance = (struct monitor_instance){0};
    memset(gpu->counters, 0, sizeof(gpu->counters));
    round->gpu_count++;
}

static void take_instance(struct monitor_round *round, const char *line)
{
    struct monitor_instance one = {0};

    if (round->gpu_count &&
        sscanf(line, "instance %47s %u %u %u %15s %127[^\n]", one.parent, &one.gpu_instance,
               &one.compute_instance, &one.capability, one.pci, one.name) == 6)
        round->gpus[round->gpu_count - 1].instance = one;
}

// Parses a figure. Words that are not numbers mean that the figure is not known.
static struct figure monitor_read_figure(const char *word)
{
    char *end;
    long long value = strtoll(word, &end, 10);

    return (struct figure){end != word && !*end, value};
}

static void monitor_take_busy(struct monitor_round *round, const char *line)
{
    struct monitor_gpu *gpu = &round->gpus[round->gpu_count];
    char utilization[16], memory[16];

    if (round->gpu_count == MONITOR_GPUS_MAX ||
        sscanf(line, "busy %47s %15s %15s", gpu->uuid, utilization, memory) != 3)
        return;
    gpu->hidden = false;
    gpu->energy = (struct figure){0};
    gpu->utilization = monitor_read_figure(utilization);
    gpu->memory_utilization = monitor_read_figure(memory);
    round->gpu_count++;
}

static void monitor_take_figures(struct monitor_round *round, const char *line)
{
    char utilization[16], memory[16], temperature[16], power[16];

    if (!round->gpu_count ||
        sscanf(line, "figures %15s %15s %15s %15s", utilization, memory, temperature, power) != 4)
        return;
    struct monitor_gpu *gpu = &round->gpus[round->gpu_count - 1];
    gpu->utilization = monitor_read_figure(utilization);
    gpu->memory_utilization = monitor_read_figure(memory);
    gpu->temperature = monitor_read_figure(temperature);
    gpu->power = monitor_read_figure(power);
}

static void monitor_take_process(struct monitor_round *round, const char *line)
{
    struct monitor_process *process = &round->processes[round->process_count];
    unsigned long long used;
    char utilization[16];
    int pid;

    if (!round->gpu_count || round->process_count == MONITOR_PROCESSES_MAX ||
        sscanf(line, "process %d %llu %15s", &pid, &used, utilization) != 3)
        return;
    *process = (struct monitor_process){.gpu = round->gpu_count - 1,
                                        .pid = pid,
                                        .used = used,
                                        .utilization = monitor_read_figure(utilization)};
    round->process_count++;
}

static void monitor_take_counter(struct monitor_round *round, const char *line)
{
    unsigned place;
    long long value;

    if (round->gpu_count && sscanf(line, "counter %u %lld", &place, &value) == 2 &&
        place < GPU_COUNTERS_MAX)
        round->gpus[round->gpu_count - 1].counters[place] = (struct figure){true, value};
}

static void monitor_take_xid(struct monitor_round *round, const char *line)
{
    struct monitor_xid *xid = &round->xids[round->xid_count];

    if (round->xid_count < MONITOR_XIDS_MAX &&
        sscanf(line, "xid %47s %u", xid->uuid, &xid->number) == 2)
        round->xid_count++;
}

static int digit(char letter)
{
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
                                            : -1;
}

// Adds an answer. Answers that do not fit or are not whole bytes are left out.
static void monitor_take_answer(struct monitor_round *round, const char *hex)
{
    struct monitor_answers *answers = round->gpu_count ? &round->gpus[round->gpu_count - 1].answers
                                                       : &round->system;
    size_t count = strlen(hex) / 2;

    if (strlen(hex) % 2 || count > sizeof(answers->bytes) - answers->size)
        return;
    for (size_t i = 0; i < count; i++) {
        int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return;
        answers->bytes[answers->size + i] = (uint8_t)(high << 4 | low);
    }
    answers->size += count;
}

static void monitor_take_line(struct monitor *monitor, const char *line)
{
    struct monitor_round *round = &monitor->round;

    if (!strncmp(line, "gpu ", 4)) {
        monitor_take_gpu(round, line);
    } else if (!strncmp(line, "figures ", 8)) {
        monitor_take_figures(round, line);
    } else if (!strncmp(line, "energy ", 7)) {
        if (round->gpu_count)
            round->gpus[round->gpu_count - 1].energy = monitor_read_figure(line + 7);
    } else if (!strncmp(line, "answer ", 7)) {
        monitor_take_answer(round, line + 7);
    } else if (!strncmp(line, "counter ", 8)) {
        monitor_take_counter(round, line);
    } else if (!strncmp(line, "xid ", 4)) {
        monitor_take_xid(round, line);
    } else if (!strncmp(line, "process ", 8)) {
        monitor_take_process(round, line);
    } else if (!strncmp(line, "instance ", 9)) {
        take_instance(round, line);
    } else if (!strcmp(line, "partitioned")) {
        if (round->gpu_count)
            round->gpus[round->gpu_count - 1].partitioned = true;
    } else if (!strcmp(line, "hidden")) {
        if (round->gpu_count)
            round->gpus[round->gpu_count - 1].hidden = true;
    } else if (!strcmp(line, "round")) {
        monitor_tell(monitor, round);
        monitor_clear(monitor);
    } else if (!strncmp(line, "busy ", 5)) {
        monitor_take_busy(round, line);
    } else if (!strcmp(line, "glance")) {
        round->is_glance = true;
        monitor->took(monitor->argument, round);
        monitor_clear(monitor);
    } else if (!strncmp(line, "none ", 5)) {
        log_info(
            "accounts of memory are not compared with the driver's figures: library=%s reason=\"%s\"",
            monitor->settings.library, line + 5);
        monitor->ended = true;
        monitor_tell(monitor, NULL);
    }
}

static void monitor_readable(struct bufferevent *output, void *argument)
{
    struct monitor *monitor = argument;
    struct evbuffer *in = bufferevent_get_input(output);
    char *line;

    while ((line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF))) {
        monitor_take_line(monitor, line);
        free(line);
    }
    if (evbuffer_get_length(in) > LINE_MAX_BYTES)
        evbuffer_drain(in, evbuffer_get_length(in));
}

// Handles the end of the output. SIGCHLD reports the monitor's end.
static void monitor_closed(struct bufferevent *output, short events, void *argument)
{
    bufferevent_disable(output, EV_READ);
}

// ---- starting ----

static int monitor_spawn(struct monitor *monitor)
{
    char interval[24];
    const struct monitor_settings *settings = &monitor->settings;
    char *arguments[] = {"rgpu-monitor", (char *)settings->library, interval, NULL};
    int ends[2], wants[2];

    snprintf(interval, sizeof(interval), "%llu", (unsigned long long)settings->interval / 1000);
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    if (pipe2(wants, O_CLOEXEC | O_NONBLOCK)) {
        int err = -errno;
        close(ends[0]);
        close(ends[1]);
        return err;
    }
    monitor->wants = wants[1];
    const int fds[] = {wants[0], ends[1], STDERR_FILENO,
                       -1, [CONTROL_WORKER_DRIVER_FD] = settings->driver_fd};
    const struct spawn_request request = {.program = settings->program,
                                          .arguments = arguments,
                                          .fds = fds,
                                          .fd_count = sizeof(fds) / sizeof(fds[0]),
                                          .own_process_group = true};
    int err = spawn_program(&request, &monitor->pid);
    close(ends[1]);
    close(wants[0]);
    if (!err) {
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        monitor->output = bufferevent_socket_new(monitor->base, ends[0], BEV_OPT_CLOSE_ON_FREE);
        err = monitor->output ? 0 : -ENOMEM;
    }
    if (err) {
        close(ends[0]);
        return err;
    }
    bufferevent_setcb(monitor->output, monitor_readable, NULL, monitor_closed, monitor);
    return bufferevent_enable(monitor->output, EV_READ) ? -ENOMEM : 0;
}

static void monitor_start(struct monitor *monitor)
{
    monitor_clear(monitor);
    int err = monitor_spawn(monitor);
    if (!err) {
        if (!monitor->reported)
            monitor_arm(monitor, TIMEOUT_SECONDS);
        return;
    }
    log_warn(
        "accounts of memory are not compared with the driver's figures: cannot start %s error=\"%s\"",
        monitor->settings.program, strerror(-err));
    monitor_stop(monitor);
    monitor->ended = true;
    monitor_arm(monitor, 0);
}

static void monitor_on_timer(evutil_socket_t fd, short events, void *argument)
{
    struct monitor *monitor = argument;

    if (monitor->reported && !monitor->pid && !monitor->ended) {
        monitor_start(monitor);
    } else if (!monitor->reported) {
        if (!monitor->ended)
            log_warn(
                "the management library does not answer library=%s; the box starts without its figures",
                monitor->settings.library);
        monitor_tell(monitor, NULL);
    }
}

struct monitor *monitor_open(struct event_base *base, const struct monitor_settings *settings,
                             monitor_took *took, void *argument)
{
    struct monitor *monitor = calloc(1, sizeof(*monitor));

    if (!monitor)
        return NULL;
    *monitor = (struct monitor){
        .base = base, .settings = *settings, .wants = -1, .took = took, .argument = argument};
    monitor->timer = evtimer_new(base, monitor_on_timer, monitor);
    if (!monitor->timer) {
        free(monitor);
        return NULL;
    }
    monitor_start(monitor);
    return monitor;
}

static bool monitor_say(struct monitor *monitor, char what)
{
    if (!monitor || monitor->wants < 0)
        return false;
    // If the pipe is full, earlier bytes already carry the request.
    if (write(monitor->wants, &what, 1) == 1 || errno == EAGAIN)
        return true;
    log_debug("rgpu-monitor does not hear error=\"%s\"", strerror(errno));
    return false;
}

void monitor_want_answers(struct monitor *monitor)
{
    (void)monitor_say(monitor, '\0');
}

bool monitor_glance(struct monitor *monitor)
{
    return monitor_say(monitor, MONITOR_GLANCE);
}

void monitor_reap(struct monitor *monitor)
{
    char how[128];
    int status;

    if (!monitor || !monitor->pid || waitpid(monitor->pid, &status, WNOHANG) != monitor->pid)
        return;
    monitor->pid = 0;
    monitor_readable(monitor->output, monitor); // its last output
    monitor_stop(monitor);
    if (!monitor->ended) {
        spawn_describe_status(status, how, sizeof(how));
        log_warn("rgpu-monitor ended how=\"%s\"; it is started again", how);
        monitor_arm(monitor, PAUSE_SECONDS);
    }
    monitor_tell(monitor, NULL);
}

void monitor_close(struct monitor **pointer)
{
    struct monitor *monitor = *pointer;

    if (!monitor)
        return;
    monitor_stop(monitor);
    event_free(monitor->timer);
    free(monitor);
    *pointer = NULL;
}
