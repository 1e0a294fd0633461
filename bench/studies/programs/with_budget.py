# SPDX-License-Identifier: BSD-3-Clause
"""Starts a program as the client of a study that it is (STUDY_CLIENT), with its own ticket where the box lends shares:

    with_budget.py PROGRAM...      the box of lent_box.py at STUDY_LENT_PORT, or without that as any program"""
import os
import sys
import tempfile


def directory_of(port):
    return os.path.join(tempfile.gettempdir(), "rgpu-lent-%d-%d" % (os.getuid(), int(port)))


def main():
    port = os.environ.get("STUDY_LENT_PORT")
    if port:
        os.environ["RGPU_TICKET_FILE"] = os.path.join(directory_of(port), "ticket-" + os.environ.get("STUDY_CLIENT", "0"))
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
