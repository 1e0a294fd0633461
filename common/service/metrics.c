// SPDX-License-Identifier: BSD-3-Clause
#include "common/service/metrics.h"

#include <dirent.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/descriptor.h"
#include "version.h"

static const double bounds[HISTOGRAM_BOUNDS] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                0.01,   0.025,   0.05,   0.1,   0.25,   0.5,
                                                1,      2.5,     5,      10,    30,     60};

void histogram_add(struct histogram *histogram, double seconds)
{
    int i = 0;

    while (i < HISTOGRAM_BOUNDS && seconds > bounds[i])
        i++;
    histogram->counts[i]++;
    histogram->sum += seconds;
}

static void describe(FILE *out, const char *prefix, const char *name, const char *type,
                     const char *help)
{
    fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", prefix, name, help, prefix, name, type);
}

// Figures that DCGM has too are known by its names.
static const char *prefix_of(const char *name)
{
    return strncmp(name, "DCGM_", 5) ? "rgpu_" : "";
}

void metrics_describe(FILE *out, const char *name, const char *type, const char *help)
{
    describe(out, prefix_of(name), name, type, help);
}

void metrics_put(FILE *out, const char *name, const char *type, const char *help, double value)
{
    metrics_describe(out, name, type, help);
    fprintf(out, "rgpu_%s %.17g\n", name, value);
}

void metrics_put_histogram(FILE *out, const char *name, const char *help,
                           const struct histogram *histogram)
{
    uint64_t count = 0;

    metrics_describe(out, name, "histogram", help);
    for (int i = 0; i < HISTOGRAM_BOUNDS; i++) {
        count += histogram->counts[i];
        fprintf(out, "rgpu_%s_bucket{le=\"%g\"} %llu\n", name, bounds[i],
                (unsigned long long)count);
    }
    count += histogram->counts[HISTOGRAM_BOUNDS];
    fprintf(out, "rgpu_%s_bucket{le=\"+Inf\"} %llu\nrgpu_%s_sum %.17g\nrgpu_%s_count %llu\n", name,
            (unsigned long long)count, name, histogram->sum, name, (unsigned long long)count);
}

// Names come from other machines; a control byte or one outside ASCII would end the scrape.
static void put_value(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text >= ' ' && *text < 0x7f ? *text : '?', out);
    }
}

void metrics_put_sample(FILE *out, const char *name, const char *const (*labels)[2], int count,
                        double value)
{
    fprintf(out, "%s%s", prefix_of(name), name);
    for (int i = 0; i < count; i++) {
        fprintf(out, "%s%s=\"", i ? "," : "{", labels[i][0]);
        put_value(out, labels[i][1]);
        fputc('"', out);
    }
    fprintf(out, "%s %.17g\n", count ? "}" : "", value);
}

// ---- the process ----

struct process_figures {
    double start_ticks, resident_pages, virtual_bytes;
};

static int read_stat(struct process_figures *out)
{
    FILE *file = descriptor_open_file("/proc/self/stat", "r");
    char text[1024] = "";
    const char *after = NULL;

    if (file) {
        if (fgets(text, sizeof(text), file))
            after = strrchr(text, ')'); // the program's name may contain anything
        fclose(file);
    }
    // Fields 3 to 24 of proc(5).
    return after && sscanf(after + 1,
                           " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
                           " %*s %*s %*s %*s %lf %lf %lf",
                           &out->start_ticks, &out->virtual_bytes, &out->resident_pages) == 3
               ? 0
               : -1;
}

static double count_files(void)
{
    DIR *directory = descriptor_open_directory("/proc/self/fd");
    double count = -3; // ".", "..", and the directory itself

    if (!directory)
        return 0;
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static void put_process(FILE *out, const char *name, const char *type, const char *help,
                        double value)
{
    describe(out, "process_", name, type, help);
    fprintf(out, "process_%s %.17g\n", name, value);
}

void metrics_put_process(FILE *out, const char *program)
{
    const char *const labels[][2] = {{"program", program}, {"version", RGPU_VERSION}};
    struct process_figures figures;
    struct rlimit files;
    struct rusage used;

    metrics_describe(out, "build_info", "gauge", "1; which program this is.");
    metrics_put_sample(out, "build_info", labels, 2, 1);
    if (!getrusage(RUSAGE_SELF, &used))
        put_process(out, "cpu_seconds_total", "counter", "Processor time.",
                    (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                        (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6);
    put_process(out, "open_fds", "gauge", "Open files.", count_files());
    if (!getrlimit(RLIMIT_NOFILE, &files))
        put_process(out, "max_fds", "gauge", "Files that may be open.", (double)files.rlim_cur);
    if (read_stat(&figures))
        return;
    put_process(out, "virtual_memory_bytes", "gauge", "Address space.", figures.virtual_bytes);
    put_process(out, "resident_memory_bytes", "gauge", "Memory.",
                figures.resident_pages * (double)sysconf(_SC_PAGESIZE));
    put_process(out, "start_time_seconds", "gauge", "When it was started, since 1970.",
                (double)clock_wall_seconds() - clock_boot_seconds() +
                    figures.start_ticks / (double)sysconf(_SC_CLK_TCK));
}
