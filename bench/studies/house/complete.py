# SPDX-License-Identifier: BSD-3-Clause
"""What a report should have by the declarations and does not: columns without figures and pictures without columns.

What was left out with a reason is no gap."""
from house.plan import program_columns


def expected_columns(study, program, skipped):
    """Names of the columns in which the program should have run."""
    if any(row["program"] == program.name for row in skipped):
        return []
    without = {row["column"] for row in skipped if row["program"] is None}
    return [column.name for column in program_columns(program, study.columns) if column.name not in without]


def gaps_of_programs(study, known, skipped):
    for program in study.programs:
        for column in expected_columns(study, program, skipped):
            if not known.figures.keys(study.name, program=program.name, column=column):
                yield "program %s has no figure in column %s" % (program.name, column)


def gaps_of_plots(study, known, skipped):
    for plot in study.plots:
        programs = [p for p in study.programs if plot.program in (None, p.name)]
        columns = {name for p in programs for name in expected_columns(study, p, skipped)
                   if plot.columns is None or name in plot.columns}
        if plot.show == "ratio":
            columns = {name for name in columns if plot.base_of(name)}
        for figure in plot.figures:
            seen = {key.column for key in known.figures.keys(study.name, figure, plot.program)}
            if columns and not seen & columns:
                yield "picture %r has no %r" % (plot.title, figure)


def gaps(study, known):
    """Texts, one for each gap of a study on one machine."""
    skipped = known.left_out(study.name)
    return list(gaps_of_programs(study, known, skipped)) + list(gaps_of_plots(study, known, skipped))
