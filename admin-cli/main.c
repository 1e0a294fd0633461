// rgpuctl: one program for users and administrators of rgpu; the commands are in tables.
#include <stdio.h>
#include <string.h>

#include "admin-cli/command.h"

static const struct command *const groups[] = {run_commands, box_commands,
                                               pool_list_commands, pool_steer_commands,
                                               slurm_commands};
enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

static void print_help(void)
{
    printf("usage: rgpuctl COMMAND [options] [arguments]\n\n");
    for (int g = 0; g < GROUPS; g++)
        for (const struct command *c = groups[g]; c->name; c++)
            printf("  %-12s %s\n", c->name, c->help);
    printf("\nrgpuctl COMMAND --help tells more. --version prints the version.\n");
}

static void list_commands(void)
{
    for (int g = 0; g < GROUPS; g++)
        for (const struct command *c = groups[g]; c->name; c++)
            puts(c->name);
}

static const struct command *find(const char *name)
{
    for (int g = 0; g < GROUPS; g++)
        for (const struct command *c = groups[g]; c->name; c++)
            if (!strcmp(c->name, name))
                return c;
    return NULL;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    const struct command *command = find(name);

    if (command)
        return command->run(command, argc - 1, argv + 1);
    if (!strcmp(name, "--help") || !strcmp(name, "help")) {
        print_help();
        return argc > 1 ? 0 : EXIT_USAGE;
    }
    if (!strcmp(name, "--version")) {
        printf("rgpuctl %s\n", RGPU_VERSION);
        return 0;
    }
    if (!strcmp(name, "--list-commands")) {
        list_commands();
        return 0;
    }
    fprintf(stderr, "rgpuctl: unknown command %s; see rgpuctl --help\n", name);
    return EXIT_USAGE;
}
