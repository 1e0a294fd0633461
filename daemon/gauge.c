// SPDX-License-Identifier: BSD-3-Clause
// See gauge.h. The process is started again when it ends, unless it said that there is nothing to tell.
#include "daemon/gauge.h"

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

#include "common/control.h"
#include "common/log.h"
#include "common/spawn.h"

enum {
    PATIENCE_SECONDS = 10, // for the first round
    PAUSE_SECONDS = 30,    // before it is started again
    LINE_MAX_BYTES = 512,
};

struct gauge {
    struct event_base *base;
    struct gauge_settings settings;
    struct bufferevent *output;
    int wants;           // a byte for each client that wants answers; -1: it does not run
    struct event *timer; // patience, then the pause
    pid_t pid;           // 0: it does not run
    bool told;           // a round came, or nobody waits for one any more
    bool ended;          // it said why there is nothing
    gauge_took *took;
    void *argument;
    struct gauge_round round;
};

static void arm(struct gauge *gauge, int seconds)
{
    struct timeval delay = {.tv_sec = seconds};

    evtimer_add(gauge->timer, &delay);
}

static void tell(struct gauge *gauge, const struct gauge_round *round)
{
    if (!gauge->told && gauge->pid)
        evtimer_del(gauge->timer);
    gauge->told = true;
    gauge->took(gauge->argument, round);
}

static void stop(struct gauge *gauge)
{
    int status;

    if (gauge->output)
        bufferevent_free(gauge->output);
    gauge->output = NULL;
    if (gauge->wants >= 0)
        close(gauge->wants);
    gauge->wants = -1;
    if (gauge->pid && waitpid(gauge->pid, &status, WNOHANG) == 0) {
        kill(gauge->pid, SIGKILL);
        waitpid(gauge->pid, &status, 0);
    }
    gauge->pid = 0;
}

// ---- what it says ----

static void clear(struct gauge *gauge)
{
    gauge->round.gpu_count = gauge->round.process_count = 0;
    gauge->round.system.size = 0;
    gauge->round.is_glance = false;
}

static void take_gpu(struct gauge_round *round, const char *line)
{
    struct gauge_gpu *gpu = &round->gpus[round->gpu_count];
    unsigned long long used, total;

    if (round->gpu_count == GAUGE_GPUS_MAX ||
        sscanf(line, "gpu %47s %u %llu %llu", gpu->uuid, &gpu->number, &used, &total) != 4)
        return;
    gpu->used = used;
    gpu->total = total;
    gpu->hidden = false;
    gpu->answers.size = 0;
    gpu->utilization = gpu->memory_utilization = (struct figure){0};
    gpu->temperature = gpu->power = (struct figure){0};
    gpu->partitioned = false;
    gpu->instance = (struct gauge_instance){0};
    round->gpu_count++;
}

static void take_instance(struct gauge_round *round, const char *line)
{
    struct gauge_instance one = {0};

    if (round->gpu_count &&
        sscanf(line, "instance %47s %u %u %u %15s %127[^\n]", one.parent, &one.gpu_instance,
               &one.compute_instance, &one.capability, one.pci, one.name) == 6)
        round->gpus[round->gpu_count - 1].instance = one;
}

// What is no number is not known.
static struct figure read_figure(const char *word)
{
    char *end;
    long long value = strtoll(word, &end, 10);

    return (struct figure){end != word && !*end, value};
}

static void take_busy(struct gauge_round *round, const char *line)
{
    struct gauge_gpu *gpu = &round->gpus[round->gpu_count];
    char utilization[16], memory[16];

    if (round->gpu_count == GAUGE_GPUS_MAX ||
        sscanf(line, "busy %47s %15s %15s", gpu->uuid, utilization, memory) != 3)
        return;
    gpu->hidden = false;
    gpu->utilization = read_figure(utilization);
    gpu->memory_utilization = read_figure(memory);
    round->gpu_count++;
}

static void take_figures(struct gauge_round *round, const char *line)
{
    char utilization[16], memory[16], temperature[16], power[16];

    if (!round->gpu_count ||
        sscanf(line, "figures %15s %15s %15s %15s", utilization, memory, temperature, power) != 4)
        return;
    struct gauge_gpu *gpu = &round->gpus[round->gpu_count - 1];
    gpu->utilization = read_figure(utilization);
    gpu->memory_utilization = read_figure(memory);
    gpu->temperature = read_figure(temperature);
    gpu->power = read_figure(power);
}

static void take_process(struct gauge_round *round, const char *line)
{
    struct gauge_process *process = &round->processes[round->process_count];
    unsigned long long used;
    char utilization[16];
    int pid;

    if (!round->gpu_count || round->process_count == GAUGE_PROCESSES_MAX ||
        sscanf(line, "process %d %llu %15s", &pid, &used, utilization) != 3)
        return;
    *process = (struct gauge_process){.gpu = round->gpu_count - 1,
                                      .pid = pid,
                                      .used = used,
                                      .utilization = read_figure(utilization)};
    round->process_count++;
}

static int digit(char letter)
{
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
                                            : -1;
}

// What does not fit any more is left out, like an answer that is no whole number of bytes.
static void take_answer(struct gauge_round *round, const char *hex)
{
    struct gauge_answers *answers = round->gpu_count ? &round->gpus[round->gpu_count - 1].answers
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

static void take_line(struct gauge *gauge, const char *line)
{
    struct gauge_round *round = &gauge->round;

    if (!strncmp(line, "gpu ", 4)) {
        take_gpu(round, line);
    } else if (!strncmp(line, "figures ", 8)) {
        take_figures(round, line);
    } else if (!strncmp(line, "answer ", 7)) {
        take_answer(round, line + 7);
    } else if (!strncmp(line, "process ", 8)) {
        take_process(round, line);
    } else if (!strncmp(line, "instance ", 9)) {
        take_instance(round, line);
    } else if (!strcmp(line, "partitioned")) {
        if (round->gpu_count)
            round->gpus[round->gpu_count - 1].partitioned = true;
    } else if (!strcmp(line, "hidden")) {
        if (round->gpu_count)
            round->gpus[round->gpu_count - 1].hidden = true;
    } else if (!strcmp(line, "round")) {
        tell(gauge, round);
        clear(gauge);
    } else if (!strncmp(line, "busy ", 5)) {
        take_busy(round, line);
    } else if (!strcmp(line, "glance")) {
        round->is_glance = true;
        gauge->took(gauge->argument, round);
        clear(gauge);
    } else if (!strncmp(line, "none ", 5)) {
        log_info(
            "accounts of memory are not compared with the driver's figures: library=%s reason=\"%s\"",
            gauge->settings.library, line + 5);
        gauge->ended = true;
        tell(gauge, NULL);
    }
}

static void readable(struct bufferevent *output, void *argument)
{
    struct gauge *gauge = argument;
    struct evbuffer *in = bufferevent_get_input(output);
    char *line;

    while ((line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF))) {
        take_line(gauge, line);
        free(line);
    }
    if (evbuffer_get_length(in) > LINE_MAX_BYTES)
        evbuffer_drain(in, evbuffer_get_length(in));
}

// Its output ends when it does, which is seen by its death.
static void closed(struct bufferevent *output, short events, void *argument)
{
    bufferevent_disable(output, EV_READ);
}

// ---- starting ----

static int spawn(struct gauge *gauge)
{
    char interval[24];
    const struct gauge_settings *settings = &gauge->settings;
    char *arguments[] = {"rgpu-gauge", (char *)settings->library, interval, NULL};
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
    gauge->wants = wants[1];
    const int fds[] = {wants[0], ends[1], STDERR_FILENO,
                       -1, [CONTROL_WORKER_DRIVER_FD] = settings->driver_fd};
    const struct spawn_request request = {.program = settings->program,
                                          .arguments = arguments,
                                          .fds = fds,
                                          .fd_count = sizeof(fds) / sizeof(fds[0]),
                                          .own_process_group = true};
    int err = spawn_program(&request, &gauge->pid);
    close(ends[1]);
    close(wants[0]);
    if (!err) {
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        gauge->output = bufferevent_socket_new(gauge->base, ends[0], BEV_OPT_CLOSE_ON_FREE);
        err = gauge->output ? 0 : -ENOMEM;
    }
    if (err) {
        close(ends[0]);
        return err;
    }
    bufferevent_setcb(gauge->output, readable, NULL, closed, gauge);
    return bufferevent_enable(gauge->output, EV_READ) ? -ENOMEM : 0;
}

static void start(struct gauge *gauge)
{
    clear(gauge);
    int err = spawn(gauge);
    if (!err) {
        if (!gauge->told)
            arm(gauge, PATIENCE_SECONDS);
        return;
    }
    log_warn(
        "accounts of memory are not compared with the driver's figures: cannot start %s error=\"%s\"",
        gauge->settings.program, strerror(-err));
    stop(gauge);
    gauge->ended = true;
    arm(gauge, 0);
}

static void on_timer(evutil_socket_t fd, short events, void *argument)
{
    struct gauge *gauge = argument;

    if (gauge->told && !gauge->pid && !gauge->ended) {
        start(gauge);
    } else if (!gauge->told) {
        if (!gauge->ended)
            log_warn(
                "the management library does not answer library=%s; the box starts without its figures",
                gauge->settings.library);
        tell(gauge, NULL);
    }
}

struct gauge *gauge_open(struct event_base *base, const struct gauge_settings *settings,
                         gauge_took *took, void *argument)
{
    struct gauge *gauge = calloc(1, sizeof(*gauge));

    if (!gauge)
        return NULL;
    *gauge = (struct gauge){
        .base = base, .settings = *settings, .wants = -1, .took = took, .argument = argument};
    gauge->timer = evtimer_new(base, on_timer, gauge);
    if (!gauge->timer) {
        free(gauge);
        return NULL;
    }
    start(gauge);
    return gauge;
}

static bool say(struct gauge *gauge, char what)
{
    if (!gauge || gauge->wants < 0)
        return false;
    // A full pipe says so, too.
    if (write(gauge->wants, &what, 1) == 1 || errno == EAGAIN)
        return true;
    log_debug("rgpu-gauge does not hear error=\"%s\"", strerror(errno));
    return false;
}

void gauge_want_answers(struct gauge *gauge)
{
    (void)say(gauge, '\0');
}

bool gauge_glance(struct gauge *gauge)
{
    return say(gauge, GAUGE_GLANCE);
}

void gauge_reap(struct gauge *gauge)
{
    char how[128];
    int status;

    if (!gauge || !gauge->pid || waitpid(gauge->pid, &status, WNOHANG) != gauge->pid)
        return;
    gauge->pid = 0;
    readable(gauge->output, gauge); // its last words
    stop(gauge);
    if (!gauge->ended) {
        spawn_describe_status(status, how, sizeof(how));
        log_warn("rgpu-gauge ended how=\"%s\"; it is started again", how);
        arm(gauge, PAUSE_SECONDS);
    }
    tell(gauge, NULL);
}

void gauge_close(struct gauge **pointer)
{
    struct gauge *gauge = *pointer;

    if (!gauge)
        return;
    stop(gauge);
    event_free(gauge->timer);
    free(gauge);
    *pointer = NULL;
}
