# SPDX-License-Identifier: BSD-3-Clause
"""Where things are: the words in braces that commands and environments of studies may have."""
import os
import re
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOP = os.path.dirname(os.path.dirname(HERE))


class UnknownPlace(Exception):
    """A word in braces that stands for nothing here."""


def places(build):
    build = os.path.abspath(build)
    return {"top": TOP, "here": HERE, "build": build, "bin": os.path.join(build, "bin"), "lib": os.path.join(build, "lib"),
            "bench": os.path.join(build, "bench"), "programs": os.path.join(build, "bench", "studies"),
            "tests": os.path.join(build, "tests", "programs"), "apps": os.path.join(TOP, "bench", "apps"),
            "python": sys.executable}


def fill(text, known):
    """TEXT with its words in braces replaced; other braces, as of JSON, stay."""
    def word(found):
        if found[1] not in known:
            raise UnknownPlace("{%s} in %r stands for nothing; known are %s" %
                               (found[1], text, ", ".join(sorted(known))))
        return str(known[found[1]])

    return re.sub(r"\{([a-z_]+)\}", word, text)


def fill_all(words, known):
    return [fill(str(word), known) for word in words]


def without_ours(environment, known):
    """A copy of the ENVIRONMENT in which nothing leads to rgpu."""
    clean = {name: value for name, value in environment.items() if not name.startswith("RGPU_")}
    parts = clean.get("LD_LIBRARY_PATH", "").split(":")
    clean["LD_LIBRARY_PATH"] = ":".join(part for part in parts if part and os.path.abspath(part) != known["lib"])
    return clean


def with_library(environment, directory):
    path = environment.get("LD_LIBRARY_PATH", "")
    return dict(environment, LD_LIBRARY_PATH=directory + (":" + path if path else ""))
