// SPDX-License-Identifier: BSD-3-Clause
// Settings: every type, every mistake with its place and a hint, and the settings that a reload
// changes.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/service/config.h"
#include "common/service/config_retired.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "tests/tap.h"

struct sample {
    bool on;
    int64_t number;
    uint64_t size, part, time, pause;
    char *text;
    int word;
    char **list;
};

static const char *const words[] = {"low", "high", NULL};
static const struct config_retired retired[] = {
    CONFIG_RETIRED("one", "old_limit", "size_limit in section [one] says it"),
    CONFIG_RETIRED_END,
};
static const struct config_option table[] = {
    CONFIG_BOOL("one", "on", struct sample, on, "no", "a switch", .reloadable = true),
    CONFIG_INT("one", "number", struct sample, number, "7", -5, 50, "a number"),
    CONFIG_SIZE("one", "size_limit", struct sample, size, "512K", "a size"),
    CONFIG_SIZE("one", "part", struct sample, part, "64K", "a part", .word = "auto",
                .min = 16 << 10, .max = 1 << 20, .step = 4 << 10),
    CONFIG_DURATION("two", "time", struct sample, time, "5s", "a time"),
    CONFIG_DURATION("two", "pause", struct sample, pause, "0", "a time", .zero = true),
    CONFIG_STRING("two", "text", struct sample, text, "", "a text", .reloadable = true),
    CONFIG_ENUM("two", "word", struct sample, word, "low", words, "a word"),
    CONFIG_LIST("two", "list", struct sample, list, "a, b", "a list", .reloadable = true),
    CONFIG_END_RETIRED(retired),
};

static struct sample sample;
static char logged[4096];
static int log_pipe[2];

static const char *take_log(void)
{
    ssize_t n = read(log_pipe[0], logged, sizeof(logged) - 1);

    logged[n > 0 ? n : 0] = '\0';
    return logged;
}

static int load(const char *text)
{
    char path[] = "/tmp/rgpu-settings-XXXXXX";
    int fd = mkstemp(path);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        bail("cannot write %s", path);
    close(fd);
    config_clear(table, &sample);
    if (config_defaults(table, &sample))
        bail("defaults");
    int err = config_load(table, path, &sample);
    unlink(path);
    return err;
}

static void units(void)
{
    uint64_t value;

    ok(!units_parse_size("16M", &value) && value == 16 << 20, "16M");
    ok(!units_parse_size("4 GiB", &value) && value == 4ull << 30, "4 GiB");
    ok(!units_parse_duration("20ms", &value) && value == 20000, "20ms");
    ok(!units_parse_duration("2", &value) && value == 2000000, "a plain time is seconds");
    is_int(units_parse_size("-1", &value), -EINVAL, "a negative size");
    is_int(units_parse_size("99999999999T", &value), -ERANGE, "a size that is too large");
    is_int(units_parse_size("5X", &value), -EINVAL, "an unknown unit");
    is_int(units_parse_duration("", &value), -EINVAL, "no time at all");
}

static void defaults_and_values(void)
{
    is_int(load(""), 0, "an empty file is fine");
    ok(!sample.on && sample.number == 7 && sample.size == 512 << 10 && sample.time == 5000000 &&
           !sample.text && !sample.word && !strcmp(sample.list[1], "b") && !sample.list[2],
       "every default");
    is_int(load("# comment\n[one]\non = yes\nnumber = -5\nsize_limit = 1G\n[two]\n"
                "time = 3ms\ntext = some words\nword = HIGH\nlist = x\n"),
           0, "every type");
    ok(sample.on && sample.number == -5 && sample.size == 1 << 30 && sample.time == 3000 &&
           !strcmp(sample.text, "some words") && sample.word == 1 && !strcmp(sample.list[0], "x") &&
           !sample.list[1],
       "every value");
    is_int(sample.part, 64 << 10, "a size within limits");
    is_int(load("[one]\npart = auto\n"), 0, "or a word in its place");
    is_int(sample.part, 0, "which is kept as 0");
    is_int(load("[two]\npause = 0\n"), 0, "no time where that means something");
    is_int(load("[one]\npart = 1M\n"), 0, "the largest size");
}

static void mistake(const char *text, const char *expected)
{
    take_log();
    int err = load(text);
    const char *log = take_log();

    if (!ok(err == -EINVAL && strstr(log, expected), "%s", expected))
        diag("logged: %s", log);
}

static void mistakes(void)
{
    mistake("[one]\nnubmer = 3\n",
            ":2: unknown option nubmer in section [one]; did you mean number");
    mistake("[two]\nnumber = 3\n",
            ":2: unknown option number in section [two]; did you mean number in [one]");
    mistake("[one]\nzzzzzzzzz = 3\n", ":2: unknown option zzzzzzzzz in section [one]\n");
    mistake("\n\n[one]\nnumber = 51\n", ":4: number=51 is not a number from -5 to 50");
    mistake("[one]\nnumber = 5x\n", ":2: number=5x is not a number");
    mistake("[one]\npart = 12K\n",
            ":2: part=12K is not auto or a size from 16K to 1024K in steps of 4K");
    mistake("[one]\npart = 2M\n", ":2: part=2M is not auto or a size from 16K");
    mistake("[one]\npart = 17K\n", ":2: part=17K is not auto or a size from 16K");
    mistake("[one]\nsize_limit = auto\n", ":2: size_limit=auto is not a size such as");
    mistake("[one]\non = maybe\n", ":2: on=maybe is not yes or no");
    mistake("[two]\nword = middle\n", ":2: word=middle is not one of low high");
    mistake("[two]\ntime = soon\n", ":2: time=soon is not a time with its unit such as");
    mistake("[two]\ntime = 5\n", ":2: time=5 is not a time with its unit such as");
    mistake("[two]\ntime = 0\n", ":2: time=0 is not a time with its unit such as");
    mistake("[two]\npause = 7\n", ":2: pause=7 is not 0 or a time with its unit such as");
    mistake("[one]\nnumber = 3\n[two]\nword = low\n[one]\nnumber = 3\n",
            ":6: number in section [one] was given before, on line 2");
    mistake("[two]\nlist = a,\n  b\n", ":3: list in section [two] was given before, on line 2");
    mistake("[one\n", ":1: not understood");
    mistake(
        "[two]\ntext = xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
        ":2: line too long");
    is_int(config_load(table, "/nonexistent/file", &sample), -ENOENT, "a file that is not there");
    ok(strstr(take_log(), "file=/nonexistent/file"), "is named");
}

// A release took them out, so that files that were right still are.
static void retired_options(void)
{
    take_log();
    is_int(load("[one]\nold_limit = 3\nsize_limit = 1G\n"), 0,
           "an option that was taken out is none");
    ok(strstr(take_log(), "warn: ") &&
           strstr(logged, ":2: old_limit in section [one] does nothing any more: size_limit in "
                          "section [one] says it; remove it"),
       "is told with its place, and what has replaced it");
    ok(sample.size == 1 << 30, "and hinders no other");
    mistake("[two]\nold_limit = 3\n", ":2: unknown option old_limit in section [two]");
    mistake("[one]\nold_limits = 3\n", ":2: unknown option old_limits in section [one]");

    char *argv[] = {"program", "--old-limit",  "9",    "--old-limit=8", "--number",
                    "3",       "--old-limits", "rest", "--old-limit",   NULL};
    int argc = 9;
    take_log();
    is_int(config_command_line(table, &argc, argv, &sample), 0, "nor on the command line");
    ok(strstr(take_log(), "command line: --old-limit: old_limit in section [one] does nothing"),
       "where it is told as well");
    ok(argc == 3 && !strcmp(argv[1], "--old-limits") && !strcmp(argv[2], "rest") &&
           sample.number == 3,
       "and goes with its value, and with nothing else");
}

static void command_line(void)
{
    char *argv[] = {"program", "--number", "9",        "rest", "--size-limit=2M",
                    "--on",    "--",       "--number", "10",   NULL};
    int argc = 9;

    is_int(load("[one]\nnumber = 1\n"), 0, "a file");
    is_int(config_command_line(table, &argc, argv, &sample), 0, "and a command line");
    ok(sample.number == 9 && sample.size == 2 << 20 && sample.on, "the command line wins");
    is_int(argc, 5, "what is not ours stays");
    ok(!strcmp(argv[1], "rest") && !strcmp(argv[2], "--") && !argv[5], "in order");
    char *word[] = {"program", "--on", "no", "rest", NULL}, *last[] = {"program", "--on", NULL};
    argc = 4;
    is_int(config_command_line(table, &argc, word, &sample), 0, "yes or no as a word of its own");
    ok(!sample.on && argc == 2 && !strcmp(word[1], "rest"), "is the option's value");
    argc = 2;
    is_int(config_command_line(table, &argc, last, &sample), 0, "without a word");
    ok(sample.on, "it is yes");
    char *missing[] = {"program", "--number", NULL};
    argc = 2;
    take_log();
    is_int(config_command_line(table, &argc, missing, &sample), -EINVAL, "a missing value");
    ok(strstr(take_log(), "command line: --number: a value is missing"), "is explained");
}

static void reload(void)
{
    struct sample fresh = {0};

    is_int(load(""), 0, "settings");
    if (config_defaults(table, &fresh) || config_set(table, "one", "number", "8", "test", &fresh) ||
        config_set(table, "two", "text", "new", "test", &fresh) ||
        config_set(table, "two", "list", "n1,n2,n3", "test", &fresh))
        bail("setting values");
    take_log();
    config_report_restart_needed(table, &sample, &fresh);
    const char *log = take_log();
    ok(strstr(log, "needs a restart section=one name=number") && !strstr(log, "name=text"),
       "what needs a restart is named, and nothing else");
    config_take_reloadable(table, &sample, &fresh);
    ok(!strcmp(sample.text, "new") && !strcmp(sample.list[2], "n3"), "what can change changes");
    is_int(sample.number, 7, "what cannot stays");
    config_clear(table, &fresh);
    config_clear(table, &sample);
}

int main(void)
{
    if (pipe2(log_pipe, O_NONBLOCK))
        bail("pipe");
    log_init("test", LOG_LEVEL_WARN);
    log_set_level(LOG_LEVEL_WARN);
    log_set_fd(log_pipe[1]);
    units();
    defaults_and_values();
    mistakes();
    command_line();
    retired_options();
    reload();
    return done();
}
