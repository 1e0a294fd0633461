# SPDX-License-Identifier: BSD-3-Clause
"""bench/studies/report: one HTML page without anything from elsewhere, and the same as PDF, of files of results."""
import argparse
import dataclasses
import html
import os
import shutil
import subprocess
import sys
import tempfile

from house import catalog, complete, declare, record
from house.figures import Figures, WIDE, shown, shown_size, wide_spreads
from house.machine import same_machine
from house.plan import with_columns

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222; }
h1, h2, h3 { line-height: 1.2; } h2 { border-bottom: 1px solid #ccc; margin-top: 2.5em; }
table { border-collapse: collapse; font-size: 13px; margin: 1em 0; }
th, td { border-bottom: 1px solid #ddd; padding: 3px 8px; text-align: left; vertical-align: top; }
table.answers { table-layout: fixed; width: 100%; min-width: 50em; } table.answers td:nth-child(3) { background: #f4f8fc; }
table.answers th:nth-child(1) { width: 13%; } table.answers th:nth-child(2) { width: 15%; } table.answers th:nth-child(3) { width: 25%; }
table.answers th:nth-child(4) { width: 17%; }
td.number { text-align: right; white-space: nowrap; } .ratio { color: #666; }
.note { border-left: 4px solid #0b6fb8; padding-left: .8em; } .warning { background: #fff4d6; padding: .3em .8em; } .missing { color: #777; }
figure { margin: 1.5em 0; break-inside: avoid; } figure svg { max-width: 100%; height: auto; } figcaption { color: #555; font-size: 13px; }
.wide { overflow-x: auto; } summary { cursor: pointer; }
@media print { body { max-width: none; font-size: 11px; } table { font-size: 9px; } h2 { break-before: page; }
  .wide { overflow: visible; } table.figures { font-size: 8px; } table.figures th, table.figures td { padding: 2px 4px; }
  td.number { white-space: normal; } h2 + p, h3 { break-after: avoid; }
  details::details-content { content-visibility: visible; height: auto; display: block; } }
"""
e = html.escape


class Machine:
    """One machine's results, of one file or of several."""

    def __init__(self, number):
        self.number, self.results, self.figures = number, [], None

    def says(self):
        return self.results[0].run["machine"]

    def name(self):
        said = self.says()
        count = len(said["gpus"])
        place = " of %s, reached over the network" % said["box"] if said.get("box") else ""
        return "%s%s%s, %d cores" % ("%d × " % count if count > 1 else "", said["gpu"], place, said["cores"])

    def studies(self):
        return list(dict.fromkeys(sample["study"] for results in self.results for sample in results.samples))

    def rows(self, kind, study):
        return [row for results in self.results for row in getattr(results, kind) if row["study"] == study]

    def left_out(self, study):
        """What no run of this machine has measured, with the reasons."""
        measured = self.figures.keys(study)
        programs, columns = {key.program for key in measured}, {key.column for key in measured}
        return [row for row in self.rows("skipped", study)
                if row.get("program") not in programs and (row.get("program") or row.get("column") not in columns)]


def machines_of(all_results):
    """Files of one machine go together: those of the same studies are more rounds of one run, if its GPUs are as many."""
    machines = []
    for results in all_results:
        said = results.run["machine"]
        for known in machines:
            if same_machine(known.says(), said):
                break
        else:
            known = Machine(len(machines))
            machines.append(known)
        known.results.append(results)
    for known in machines:
        known.figures = Figures(known.results)
    return machines


def tag(name, text, **attributes):
    return "<%s%s>%s</%s>" % (name, "".join(' %s="%s"' % (key.rstrip("_").replace("_", "-"), e(str(value)))
                                            for key, value in attributes.items()), text, name)


def table(head, rows, kind="figures"):
    cells = "".join(tag("tr", "".join(rows_)) for rows_ in rows)
    return tag("div", tag("table", tag("thead", tag("tr", "".join(tag("th", e(name)) for name in head))) + tag("tbody", cells), class_=kind),
               class_="wide")


def paragraph(text, **attributes):
    return "".join(tag("p", e(part.strip()), **attributes) for part in text.strip().split("\n\n"))


def machine_table(machines):
    rows = []
    for known in machines:
        said = known.says()
        runs = ", ".join("%s (%d rounds%s)" % (r.run.get("time", "")[:16].replace("T", " "), r.run["settings"]["rounds"],
                                               ", miniature" if r.run["settings"]["miniature"] else "") for r in known.results)
        software = "%s, kernel %s, driver %s, %s" % (said["system"], said["kernel"], said["driver"] or "none", said["rgpu"])
        hardware = "%s, %d cores%s, %d GiB" % (said["cpu"], said["cores"], " (virtual)" if said["virtual"] else "",
                                               said["memory"] >> 10)
        load = ", ".join("%.1f" % r.run["machine"]["load"] for r in known.results)
        rows.append([tag("td", e(text)) for text in (known.name(), hardware, software,
                                                     ", ".join(said["rdma"]) or "none", load, runs)])
    return table(("GPU", "host", "software", "RDMA devices", "load at the start", "runs"), rows)


def cell(figures, key, base):
    p = figures.point(key)
    if not p:
        return tag("td", "–", class_="number missing")
    unit = figures.unit(key)
    text = tag("span", e(shown(p.median, unit)), title="%d rounds, %s to %s" % (p.count, shown(p.low, unit), shown(p.high, unit)))
    if p.count > 2:
        text += " ±%.0f %%" % (p.spread * 50)
    ratio = figures.ratio(key, base) if key.column != base else None
    if ratio:
        text += " " + tag("span", "× %.2f" % ratio.median, class_="ratio")
    return tag("td", text, class_="number")


def figures_table(figures, study, program, base):
    """All figures of a program: a row for each figure and size, a column for each column."""
    keys = figures.keys(study.name, program=program.name)
    columns = [column for column in study.columns if any(key.column == column.name for key in keys)]
    rows = []
    for figure, x in dict.fromkeys((key.figure, key.x) for key in keys):
        row = [tag("td", e(figure)), tag("td", e(shown_size(x)), class_="number")]
        for column in columns:
            key = next((k for k in keys if (k.figure, k.x, k.column) == (figure, x, column.name)), None)
            row.append(cell(figures, key, base) if key else tag("td", "–", class_="number missing"))
        rows.append(row)
    if not rows:
        return ""
    head = ["figure", "x"] + [column.title for column in columns]
    return tag("details", tag("summary", "All figures: %s" % e(program.title or program.name)) + table(head, rows))


def picture(figures, study, plot):
    """The picture with what is to be said of it, or nothing where nothing of it was measured."""
    from house import pictures
    try:
        svg = pictures.draw(figures, study, plot)
    except pictures.Empty:
        return ""
    drawn = " ".join(sorted({name for name, _ in pictures.series(figures, study, plot)}))
    sources = "; ".join("%s: %s" % (", ".join(r.label for r in plot.references if r.source == source), source)
                        for source in dict.fromkeys(r.source for r in plot.references))
    caption = " ".join(part for part in (plot.note, "Others' figures: %s." % sources if sources else "") if part)
    return tag("figure", svg + (tag("figcaption", e(caption)) if caption else ""), class_="plot", data_study=study.name, data_plot=plot.title,
               data_columns=drawn)


def all_pictures(figures, study):
    drawn = [(plot, picture(figures, study, plot)) for plot in study.plots]
    missing = [plot.title for plot, text in drawn if not text]
    note = "Not drawn, as nothing of it was measured here: %s." % "; ".join(missing)
    return "".join(text for _, text in drawn) + (tag("p", e(note), class_="missing") if missing else "")


def left_out(known, study):
    reasons = {}
    for row in known.left_out(study.name):
        what = " ".join("%s %s" % (part, row[part]) for part in ("program", "column") if row.get(part)) or "all"
        reasons.setdefault(row["why"], {})[what] = True
    items = ["%s: %s" % (", ".join(what), why) for why, what in reasons.items()]
    failed = {}
    for row in known.rows("done", study.name):
        if row["status"] != "ok":
            what = "%s%s in column %s" % (row["program"], "" if row["size"] is None else " %s" % row["size"], row["column"])
            failed.setdefault((what, row.get("error", "")), []).append(row["round"])
    text = ""
    if items:
        text += tag("p", "Left out here:") + tag("ul", "".join(tag("li", e(item)) for item in items))
    if failed:
        text += tag("p", "Failed:") + tag("ul", "".join(
            tag("li", e("%s, %d times: %s" % (what, len(rounds), error[-400:]))) for (what, error), rounds in failed.items()))
    return text


def gap_note(known, study):
    found = complete.gaps(study, known)
    return tag("p", e("Missing, though declared: %s." % "; ".join(found)), class_="warning gap") if found else ""


def spread_note(known, study):
    wide = wide_spreads(known.figures, study.name)
    few = sum(known.figures.point(key).count < 3 for key in known.figures.keys(study.name))
    note = "%d of %d figures were measured in fewer than three rounds: how far they spread is not known." % (
        few, known.figures.count(study.name)) if few else ""
    if not wide:
        return tag("p", e(note), class_="missing few") if few else ""
    worst = sorted(wide, key=lambda pair: -pair[1].spread)[:3]
    names = "; ".join("%s %s in column %s %.0f %%" % (key.figure, shown_size(key.x), key.column, p.spread * 100)
                      for key, p in worst)
    return paragraph("%d of %d figures spread by more than %.0f %% between their quartiles, the widest: %s. Of these only large "
                     "differences mean something. %s" % (len(wide), known.figures.count(study.name), WIDE * 100, names, note),
                     class_="warning")


def first_ratio(machines, study, wanted, column, base):
    """(machine, ratio) of a Headline's or an Ours' figure, of the first machine that measured it; None where none did."""
    for known in machines:
        key = known.figures.find(study.name, wanted.figure, column, wanted.x, wanted.program)
        ratio = known.figures.ratio(key, base) if key else None
        if ratio:
            return known, ratio
    return None


def headline_cell(machines, study, headline, column):
    if column not in headline.columns:
        return tag("td", "")
    found = first_ratio(machines, study, headline, column, "native")
    if not found:
        return tag("td", "–", class_="number missing")
    known, ratio = found
    title = "%s, %d rounds, %.2f to %.2f" % (known.name(), ratio.count, ratio.low, ratio.high)
    return tag("td", tag("span", "× %.2f" % ratio.median, title=title), class_="number")


def in_brief(studies, machines):
    """The table that answers most of what a newcomer asks."""
    lines = [(study, headline) for study in studies for headline in study.headlines]
    if not lines:
        return ""
    columns = [column for column in dict.fromkeys(column for _, headline in lines for column in headline.columns)
               if any(first_ratio(machines, *line, column, "native") for line in lines if column in line[1].columns)]
    rows = [[tag("td", tag("a", e(headline.text), href="#" + study.name))]
            + [headline_cell(machines, study, headline, column) for column in columns] for study, headline in lines]
    titles = {column.name: column.title for study in studies for column in study.columns}
    return (tag("h2", "In brief", id="brief") + tag("p", "Time over native time, on the first machine below that measured it.")
            + table(["what"] + [titles[column] for column in columns], rows))


def ours_ratio(machines, study, wanted):
    """Our ratio, with the number of the machine where that is not the first."""
    found = first_ratio(machines, study, wanted, wanted.column, wanted.base)
    if not found:
        return "not measured"
    known, ratio = found
    return "%.2f" % ratio.median + (tag("sup", str(known.number + 1), title=known.name()) if known.number else "")


def ours_text(machines, study, ours):
    """One line for each figure and size, with its columns; of which program, where there are several."""
    lines, several = {}, len({wanted.program for wanted in ours}) > 1
    for wanted in ours:
        size = " (%s)" % wanted.program if several and wanted.program else ""
        size += " at %s" % shown_size(wanted.x) if wanted.x is not None else ""
        line = lines.setdefault("%s%s" % (wanted.figure, size) + ("" if wanted.base == "native" else ", over %s" % wanted.base), [])
        line.append("%s %s" % (e(wanted.column), tag("b", ours_ratio(machines, study, wanted))))
    return tag("td", "<br>".join("%s: %s" % (e(what), ", ".join(line)) for what, line in lines.items()) or "–")


def answers(studies, machines):
    rows = []
    for study in studies:
        for answer in study.answers:
            rows.append([tag("td", e("%s, %s" % (answer.paper, answer.figure))), tag("td", e(answer.same)),
                         ours_text(machines, study, answer.ours), tag("td", e(answer.theirs)), tag("td", e(answer.why))])
    head = ("paper", "same experiment?", "ours (× native)", "theirs", "why they differ")
    note = "Ratios are medians: time over native time, or over that of the column that is named. What others found is their own figure, "
    note += "of their machines." + (" A small number is that of the machine in the table above." if len(machines) > 1 else "")
    return paragraph(note) + table(head, rows, "answers") if rows else ""


def section(study, machines):
    here = [known for known in machines if study.name in known.studies() or known.rows("skipped", study.name)
            or known.rows("done", study.name)]
    text = tag("h2", e(study.title), id=study.name) + paragraph(study.question)
    text += tag("p", tag("b", "Measured. ") + e(study.measured)) + tag("p", tag("b", "Not measured. ") + e(study.unmeasured))
    for known in here:
        text += tag("h3", e("On %s" % known.name())) if len(machines) > 1 else ""
        text += left_out(known, study)
        if study.name not in known.studies():
            continue
        text += gap_note(known, study) + spread_note(known, study) + all_pictures(known.figures, study)
        text += "".join(figures_table(known.figures, study, program, study.columns[0].name) for program in study.programs)
    for title, more in (study.derive([known.figures for known in machines]) if study.derive else ()):
        text += tag("h3", e(title)) + more
    return tag("section", text, data_study=study.name)


INTRODUCTION = """What it costs to use GPUs of other machines through rgpu, beside the same unmodified programs on a GPU of their
own machine. Each study asks one question. All columns of a study were measured in turns, round after round; values are medians over
rounds, ± is half the distance of the quartiles, and pictures have bands or bars from the least to the most. A ratio (×) is that of the
medians round by round and always such that less is better: 1 is as fast as natively, 2 twice as slow, 0.5 twice as fast.

Figures of one machine are not comparable with those of another. Where client and box are on one host no network is
measured: shared memory is what programs on the box's own host get, and TCP goes over the loopback device."""


def page(studies, machines, title, note=""):
    names = tag("ul", "".join(tag("li", tag("a", e(study.title), href="#" + study.name) + ": " + e(study.question))
                              for study in studies))
    body = tag("h1", e(title)) + paragraph(INTRODUCTION) + (paragraph(note, class_="note") if note else "")
    if any(r.run["settings"]["miniature"] for known in machines for r in known.results):
        body += paragraph("This is a miniature: it shows that all works, and its figures say nothing.", class_="warning")
    body += in_brief(studies, machines)
    body += tag("h2", "Machines", id="machines") + machine_table(machines) + tag("h2", "Studies") + names
    answered = answers(studies, machines)
    if answered:
        body += tag("h2", "What others found", id="answers") + answered
    body += "".join(section(study, machines) for study in studies)
    return "<!DOCTYPE html>\n" + tag("html", tag("head", '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
                                                 + tag("title", e(title)) + tag("style", STYLE)) + tag("body", body), lang="en")


def studies_in(all_results):
    """The studies of all files, in the order of their declaration, with all columns that any file has."""
    found, more, mini = {}, [], False
    for results in all_results:
        settings = results.run["settings"]
        for name in settings["studies"]:
            found.setdefault(name, catalog.load(name, settings.get("declared") or catalog.DECLARED))
        more += [catalog.column_from(row) for row in settings["more"]]
        mini = mini or settings["miniature"]
    return [dataclasses.replace(study, columns=with_columns(study, (), more)) for study in
            (declare.miniature(study) if mini else study for study in found.values())]


def write_pictures(studies, machines, directory):
    """STUDY-NUMBER.svg of the first machine that has it, for other pages."""
    from house import pictures
    os.makedirs(directory, exist_ok=True)
    for study in studies:
        for number, plot in enumerate(study.plots, 1):
            for known in machines:
                try:
                    svg = pictures.draw(known.figures, study, plot)
                except pictures.Empty:
                    continue
                with open(os.path.join(directory, "%s-%d.svg" % (study.name, number)), "w") as file:
                    file.write('<?xml version="1.0" encoding="UTF-8"?>\n' + svg)
                break


def print_pdf(path, to):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not browser:
        return "no PDF: Chromium makes it, and is not there (scripts/install-deps studies)"
    with tempfile.TemporaryDirectory(prefix="rgpu-report.") as profile:
        try:
            done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                   "--user-data-dir=" + profile, "--no-pdf-header-footer", "--print-to-pdf=" + to,
                                   "file://" + os.path.abspath(path)], capture_output=True, text=True, timeout=180,
                                  env=dict(os.environ, TMPDIR=profile))
        except subprocess.TimeoutExpired:
            return "no PDF: Chromium took more than 180 s"
    return None if os.path.exists(to) else "no PDF: Chromium said %s" % done.stderr[-300:]


def arguments(argv):
    p = argparse.ArgumentParser(prog="bench/studies/report", description="Makes a report of results of bench/studies/run: one page of HTML "
                                "without anything from elsewhere, and a PDF. Results of several machines go into one report.")
    p.add_argument("results", nargs="+", metavar="RESULTS", help="directories or files that bench/studies/run wrote")
    p.add_argument("--output", metavar="DIRECTORY", help="for report.html and report.pdf; default: the first one's directory")
    p.add_argument("--title", default="What remote GPUs cost")
    p.add_argument("--note", default="", help="a paragraph for the beginning: what is special about these runs")
    p.add_argument("--pictures", action="store_true", help="each picture as a file of its own too")
    p.add_argument("--no-pdf", action="store_true", help="the page only")
    return p.parse_args(argv)


def main(argv):
    options = arguments(argv)
    try:
        all_results = [record.Results(path) for path in options.results]
        studies = studies_in(all_results)
    except (record.ResultError, catalog.CatalogError) as error:
        sys.exit("report: %s" % error)
    try:
        text = page(studies, machines_of(all_results), options.title, options.note)
    except ModuleNotFoundError as error:
        sys.exit("report: %s: pictures need it (Debian: python3-matplotlib, scripts/install-deps studies); "
                 "the results can be taken to a machine that has it" % error)
    directory = options.output or os.path.dirname(all_results[0].path)
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, "report.html")
    with open(path, "w") as file:
        file.write(text)
    print(path)
    if options.pictures:
        write_pictures(studies, machines_of(all_results), os.path.join(directory, "pictures"))
    if not options.no_pdf:
        why = print_pdf(path, os.path.join(directory, "report.pdf"))
        print(why or os.path.join(directory, "report.pdf"), file=sys.stderr if why else sys.stdout)
