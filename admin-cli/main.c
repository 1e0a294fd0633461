// SPDX-License-Identifier: BSD-3-Clause
// rgpuctl: command line tool for users and administrators of rgpu.
#include <stdio.h>
#include <string.h>

#include "admin-cli/complete.h"
#include "admin-cli/output/command.h"
#include "common/base/descriptor.h"
#include "common/service/program.h"

static const struct command *const groups[] = {
    run_commands,      box_commands,         pool_list_commands,  pool_show_commands,
    pool_top_commands, pool_event_commands,  pool_steer_commands, suspend_commands,
    move_commands,     slurm_commands,       doctor_commands,     ping_commands,
    vm_commands,       slurm_check_commands, test_commands,       cdi_commands,
};
enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

static void print_commands(void)
{
    for (int g = 0; g < GROUPS; g++)
        for (const struct command *c = groups[g]; c->name; c++)
            printf("  %-12s %s\n", c->name, c->help);
    printf("\nrgpuctl COMMAND --help tells more. --version prints the version.\n");
}

static const struct program_about about = {
    .name = "rgpuctl",
    .usage = "usage: rgpuctl COMMAND [options] [arguments]\n\n",
    .more = print_commands,
};

static const struct command *admin_cli_find(const char *name)
{
    for (int g = 0; g < GROUPS; g++)
        for (const struct command *c = groups[g]; c->name; c++)
            if (!strcmp(c->name, name))
                return c;
    return NULL;
}

// Called with the words after the program's name, of which the last is incomplete.
static int admin_cli_complete(int count, char **words)
{
    const struct command *command = count > 1 ? admin_cli_find(words[0]) : NULL;

    for (int g = 0; count < 2 && g < GROUPS; g++)
        for (const struct command *c = groups[g]; c->name; c++)
            complete_offer(c->name, count ? words[0] : "", c->help);
    return command ? complete_words(command, count, words) : 0;
}

static int admin_cli_answer(int argc, char **argv)
{
    const struct command *command = argc > 1 ? admin_cli_find(argv[1]) : NULL;

    if (command)
        return command->run(command, argc - 1, argv + 1);
    if (argc == 1 || !strcmp(argv[1], "help")) {
        program_print_help(&about);
        return argc > 1 ? 0 : EXIT_USAGE;
    }
    if (program_answer(&about, 2, argv))
        return 0;
    if (!strcmp(argv[1], "--complete"))
        return admin_cli_complete(argc - 2, argv + 2);
    if (*argv[1] == '-')
        fprintf(stderr,
                "rgpuctl: options follow the command: rgpuctl COMMAND %s ...; see rgpuctl --help\n",
                argv[1]);
    else
        fprintf(stderr, "rgpuctl: unknown command %s; see rgpuctl --help\n", argv[1]);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    descriptor_keep_standard();
    return program_finish("rgpuctl", admin_cli_answer(argc, argv));
}
