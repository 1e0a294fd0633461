# SPDX-License-Identifier: BSD-3-Clause
"""Finds the declared studies, and reads columns that a user describes in a file."""
import configparser
import dataclasses
import importlib.util
import os

from house.declare import Column, DeclarationError, Need, Study
from house.places import HERE

DECLARED = os.path.join(HERE, "declared")


class CatalogError(Exception):
    """A name or a file that leads to nothing, with the way out."""


def names(directory=DECLARED):
    try:
        return sorted(name[:-3] for name in os.listdir(directory) if name.endswith(".py") and not name.startswith("_"))
    except OSError as error:
        raise CatalogError("%s: no directory of studies: %s" % (directory, error.strerror)) from None


def load(name, directory=DECLARED):
    if name not in names(directory):
        raise CatalogError("there is no study %r in %s; there are %s" % (name, directory, ", ".join(names(directory))))
    path = os.path.join(directory, name + ".py")
    spec = importlib.util.spec_from_file_location("declared_" + name, path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except DeclarationError as error:
        raise CatalogError(str(error)) from None
    except Exception as error:
        raise CatalogError("%s: is no declaration: %s: %s" % (path, type(error).__name__, error)) from None
    study = getattr(module, "STUDY", None)
    if not isinstance(study, Study) or study.name != name:
        raise CatalogError("%s does not declare STUDY, a Study of the name %s" % (path, name))
    return study


def chosen_programs(words):
    """{study: programs} of words such as `copies`, `lammps:lj` and `lammps:lj:256`; None instead of programs is all of them."""
    chosen = {}
    for word in words:
        name, program = (word.split(":") + [""])[:2]
        programs = chosen.setdefault(name, [] if program else None)
        if not program:
            chosen[name] = None
        elif programs is not None and program not in programs:
            programs.append(program)
    return chosen


def chosen_sizes(words):
    """{"study:program": sizes} of the words that name sizes."""
    chosen = {}
    for word in words:
        name, size = word.rpartition(":")[::2]
        if word.count(":") == 2:
            chosen.setdefault(name, []).append(size)
    return chosen


def with_sizes(study, chosen):
    """The study whose programs have those sizes only that were chosen for them."""
    def of(program):
        wanted = chosen.get("%s:%s" % (study.name, program.name))
        if wanted is None:
            return program
        there = {str(size): size for size in program.sizes}
        for size in wanted:
            if size not in there:
                raise CatalogError("program %s of study %s has no size %r; it has %s" % (program.name, study.name, size, ", ".join(there)))
        return dataclasses.replace(program, sizes=tuple(there[size] for size in there if size in wanted))

    return dataclasses.replace(study, programs=tuple(of(program) for program in study.programs))


def load_all(words, directory=DECLARED):
    """The studies that the words name, all of them without any."""
    chosen = chosen_programs(words)
    studies = [load(name, directory) for name in (chosen or names(directory))]
    for study in studies:
        known = [program.name for program in study.programs]
        for program in chosen.get(study.name) or ():
            if program not in known:
                raise CatalogError("study %s has no program %r; it has %s" % (study.name, program, ", ".join(known)))
    return studies


KEYS = {"name", "title", "library", "server", "ready", "note", "needs"}


def read_column(path):
    """A column as a file declares it:

        [column]
        name = other
        title = another system, TCP
        library = /opt/other/client          a directory with its libcuda.so.1 (or libcudart.so.N)
        server = /opt/other/server --port {port}
        ready = listening                    what the server prints; without it, that it takes connections
        needs = /opt/other/server            files that must be there
        [environment]                        of the client; {port} is the server's
        OTHER_SERVER = 127.0.0.1:{port}
        [server]                             environment of the server

    {directory} is where this file lies, {devices} the GPUs of this run as rgpud's --devices has
    them, {device} the first.
    """
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    try:
        with open(path) as file:
            parser.read_string(file.read().replace("{directory}", os.path.dirname(os.path.abspath(path))), path)
    except (OSError, configparser.Error, UnicodeDecodeError) as error:
        raise CatalogError("%s: no declaration of a column: %s" % (path, str(error).replace("\n", " "))) from None
    if "column" not in parser or not parser["column"].get("name") or not parser["column"].get("title"):
        raise CatalogError("%s: a column needs [column] with name and title" % path)
    section = parser["column"]
    unknown = sorted((set(section) - KEYS) | (set(parser.sections()) - {"column", "environment", "server"}))
    if unknown:
        raise CatalogError("%s: nothing of a column is called %s; there are %s" %
                           (path, ", ".join(unknown), ", ".join(sorted(KEYS))))
    return Column(section["name"], section["title"], library=section.get("library"),
                  environment=dict(parser["environment"]) if "environment" in parser else {},
                  server=tuple(section.get("server", "").split()),
                  server_environment=dict(parser["server"]) if "server" in parser else {},
                  ready=section.get("ready"), note=section.get("note", ""), own=True,
                  needs=tuple(Need("file", word) for word in section.get("needs", "").split()))


def column_from(row):
    """A user's column as a file of results has it."""
    row = dict(row, needs=tuple(Need(**need) for need in row["needs"]), server=tuple(row["server"]), boxes=(), own=True)
    return Column(**row)
