// SPDX-License-Identifier: GPL-2.0-or-later
// Prints the licences of slurmctld for ever: slurm-watch-licenses MILLISECONDS. A line is a look,
// with NAME=TOTAL/USED of each licence, or "-" where slurmctld does not answer. A scontrol for each
// look would use a third of a processor at 20 ms.
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/clock.h"

static void look(void)
{
    license_info_msg_t *found = NULL;

    if (slurm_load_licenses(0, &found, SHOW_ALL) != SLURM_SUCCESS) {
        puts("-");
        return;
    }
    for (uint32_t i = 0; i < found->num_lic; i++)
        printf("%s=%u/%u ", found->lic_array[i].name, found->lic_array[i].total,
               found->lic_array[i].in_use);
    puts("");
    slurm_free_license_info_msg(found);
}

int main(int argc, char **argv)
{
    uint64_t period = argc == 2 ? strtoul(argv[1], NULL, 10) * 1000000 : 0, next = clock_ns();

    if (!period)
        return 2;
    slurm_init(NULL);
    while (!ferror(stdout)) {
        struct timespec until;
        look();
        fflush(stdout);
        next = next + period > clock_ns() ? next + period : clock_ns();
        until = deadline_timespec(next);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    return 0;
}
