# SPDX-License-Identifier: BSD-3-Clause
"""Which jobs a run has, in which order, and what is left out because this machine does not have what it needs."""
import dataclasses

from house.execute import Job
from house.needs import obstacle
from house.places import fill


@dataclasses.dataclass
class Context:
    """What needs are judged by."""
    machine: dict
    real: list
    known: dict

    def fill(self, text):
        return fill(text, dict(self.known, scratch="", size="", port=""))


def with_columns(study, chosen, more):
    """The study with the user's columns, and without those that he did not choose. The first stays: it is what ratios are to."""
    taken = {column.name for column in study.columns}
    columns = study.columns + tuple(column for column in more if column.name not in taken)
    if chosen:
        columns = tuple(column for column in columns if column.name in chosen)
    return columns


def skipped(study, program, column, why):
    return {"kind": "skipped", "study": study.name, "program": program.name if program else None,
            "column": column.name if column else None, "why": why}


def takes(program, column):
    """Whether the program runs in the column: where it names it, or none. A user's own is measured with what runs natively and over TCP."""
    if program.columns is None:
        return True
    return {"native", "tcp"} <= set(program.columns) if column.own else column.name in program.columns


def program_columns(program, columns):
    return [column for column in columns if takes(program, column)]


def of_study(study, columns, context, only=None):
    """(program, column) pairs that can run, and records of those that cannot. ONLY: names of programs, None is all."""
    pairs, left_out = [], []
    usable = []
    for column in columns:
        why = obstacle(column.needs, context)
        if why:
            left_out.append(skipped(study, None, column, why))
        else:
            usable.append(column)
    for program in study.programs:
        why = "it was not asked for" if only and program.name not in only else obstacle(program.needs, context)
        if why:
            left_out.append(skipped(study, program, None, why))
        else:
            pairs += [(program, column) for column in program_columns(program, usable)]
    return pairs, left_out


def turned(things, by):
    """The same in a circle, begun BY later: no column is always the first after something else."""
    by %= max(1, len(things))
    return things[by:] + things[:by]


def jobs_of_round(study, pairs, number):
    for program in study.programs:
        if program.rounds is not None and number >= program.rounds:
            continue
        columns = [column for other, column in pairs if other is program]
        for place, size in enumerate(program.sizes):
            for column in turned(columns, number + place):
                yield Job(study, program, column, size, number)


def make(studies, columns_of, context, rounds, only):
    """All jobs, round after round over all studies, and the records of what is left out. ONLY: programs of some studies."""
    pairs, left_out, jobs = {}, [], []
    for study in studies:
        left_out += [skipped(study, None, column, "it was not asked for") for column in study.columns
                     if column not in columns_of[study.name]]
        pairs[study.name], more = of_study(study, columns_of[study.name], context, only.get(study.name))
        left_out += more
    for number in range(rounds):
        for study in studies:
            jobs += jobs_of_round(study, pairs[study.name], number)
    return jobs, left_out
