# SPDX-License-Identifier: BSD-3-Clause
"""A box on another machine: commands that run there by ssh, from the same paths as here, and end when we do."""
import os
import shlex
import shutil

# Ends what it runs when its input ends, which ssh closes when it goes.
UNTIL_INPUT_ENDS = 'exec 3<&0; "$@" </dev/null 3<&- & child=$!; { cat <&3 >/dev/null; kill "$child"; } 2>/dev/null & wait "$child"'


class Host:
    """Where the box is: NAME as ssh knows it, ADDRESS as programs reach it. SHELL stands for ssh."""

    def __init__(self, name, address=None, shell="ssh -o BatchMode=yes"):
        self.name, self.address = name, address or name.rpartition("@")[2]
        self.shell = shlex.split(shell) + [name]

    def missing(self):
        return None if shutil.which(self.shell[0]) else "%s is not there: it runs commands on %s" % (self.shell[0], self.name)

    @staticmethod
    def settings(environment):
        """NAME=VALUE words of what differs from this process's own environment, and where libraries are."""
        return ["%s=%s" % item for item in sorted(environment.items())
                if os.environ.get(item[0]) != item[1] or item[0] == "LD_LIBRARY_PATH"]

    def command(self, words, environment=None):
        """What runs the WORDS there with our input and output."""
        script = "exec " + shlex.join(["env", *self.settings(environment or {}), *words])
        return self.shell + [script]

    def server(self, words, environment):
        """The same for a server: it ends when our end of its input does."""
        guarded = ["sh", "-c", UNTIL_INPUT_ENDS, "sh", "env", *self.settings(environment), *words]
        return self.shell + ["exec " + shlex.join(guarded)]
