# SPDX-License-Identifier: BSD-3-Clause
"""bench/studies/run: measures studies in rounds, column beside column, and keeps every sample."""
import argparse
import dataclasses
import os
import shutil
import signal
import sys
import tempfile
import time

from house import catalog, declare, machine, plan, record
from house.execute import execute, named
from house.figures import Figures, wide_spreads
from house.places import TOP, places
from house.progress import Progress
from house.remote import Host
from house.servers import Servers

EPILOG = """Without names all studies run, as far as this machine can; what is left out is said, with the reason.
An interrupted run is gone on with by --resume DIRECTORY. bench/studies/report makes the report, here or on another machine."""


class Stop(Exception):
    """The run has to end in order: a signal, or the time is up."""


def arguments(argv):
    p = argparse.ArgumentParser(prog="bench/studies/run", epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
                                description="Measures what remote GPUs cost, natively and through boxes, in turns.")
    p.add_argument("names", metavar="NAME", nargs="*", help="studies, or NAME:PROGRAM or NAME:PROGRAM:SIZE for a part of one; --list shows them")
    p.add_argument("--list", action="store_true", help="the studies, and what each asks")
    p.add_argument("--rounds", type=int, help="how often everything is repeated; default 5, in miniature 1")
    p.add_argument("--limit", type=float, metavar="SECONDS", help="begin nothing new after this time")
    p.add_argument("--columns", help="only these columns, with commas between: native,shm,tcp,...")
    p.add_argument("--column", action="append", default=[], metavar="FILE", help="a column of your own: another system")
    p.add_argument("--box", metavar="HOST", help="boxes and native programs run there, by ssh, from the same paths as here")
    p.add_argument("--box-address", metavar="ADDRESS", help="how programs reach HOST; default HOST")
    p.add_argument("--box-shell", metavar="COMMAND", default="ssh -o BatchMode=yes", help=argparse.SUPPRESS)
    p.add_argument("--devices", choices=("auto", "real", "software"), default="auto", help="which GPUs")
    p.add_argument("--miniature", action="store_true", help="small sizes on software GPUs: shows that all works, measures nothing")
    p.add_argument("--pilot", action="store_true", help="one round of the first size of each program: shows in short what a long run will do")
    p.add_argument("--output", metavar="DIRECTORY", help="for results; default BUILD/bench/studies/results/DATE")
    p.add_argument("--resume", metavar="DIRECTORY", help="go on with a run that was interrupted, or has become able to "
                   "do more; with --rounds more than it had, add rounds")
    p.add_argument("--declared", metavar="DIRECTORY", default=catalog.DECLARED, help="studies of your own instead of rgpu's")
    p.add_argument("--build", default=os.path.join(TOP, "build"), help="where rgpu is built")
    a = p.parse_args(argv)
    if a.rounds is not None and a.rounds < 1:
        p.error("--rounds: at least one")
    if a.resume and (a.names or a.output or a.column or a.columns or a.miniature or a.pilot):
        p.error("--resume takes studies and columns from the run itself; --rounds may add rounds")
    return a


def find_gpus(devices, known):
    """The real GPUs to use; none means software GPUs."""
    real = [] if devices == "software" else machine.gpus(known)
    if devices == "real" and not real:
        sys.exit("studies: no NVIDIA GPU answers here; --devices software takes software GPUs, which measure nothing of a real one")
    return real


def settings_of(options):
    """What a run is, for its first record: what --resume goes by."""
    studies = catalog.load_all(options.names, options.declared)
    more = [catalog.read_column(path) for path in options.column]
    chosen = [name for name in (options.columns or "").split(",") if name]
    known_columns = {column.name for study in studies for column in study.columns} | {column.name for column in more}
    unknown = sorted(set(chosen) - known_columns)
    if unknown:
        raise catalog.CatalogError("there is no column %s; there are %s" % (", ".join(unknown), ", ".join(sorted(known_columns))))
    own = None if options.declared == catalog.DECLARED else os.path.abspath(options.declared)
    return {"studies": [study.name for study in studies], "programs": catalog.chosen_programs(options.names),
            "sizes": catalog.chosen_sizes(options.names),
            "chosen": chosen, "more": [dataclasses.asdict(c) for c in more], "declared": own,
            "rounds": options.rounds or (1 if options.miniature or options.pilot else 5), "miniature": options.miniature,
            "pilot": options.pilot,
            "devices": "software" if options.miniature else options.devices}


def studies_of(settings):
    """The studies as this run measures them, and the columns of each."""
    studies = [catalog.load(name, settings["declared"] or catalog.DECLARED) for name in settings["studies"]]
    if settings["miniature"]:
        studies = [declare.miniature(study) for study in studies]
    if settings.get("pilot"):
        studies = [declare.pilot(study) for study in studies]
    studies = [catalog.with_sizes(study, settings.get("sizes", {})) for study in studies]
    more = [catalog.column_from(row) for row in settings["more"]]
    return studies, {study.name: plan.with_columns(study, settings["chosen"], more) for study in studies}


def start(options, known):
    """(settings, real GPUs, the machine, the file of results, keys of jobs done before)"""
    if options.resume:
        before = record.Results(options.resume)
        if before.path.endswith(".gz"):
            raise record.ResultError("%s: is packed and done; unpack it to go on with it" % before.path)
        settings, real = before.run["settings"], find_gpus(before.run["settings"]["devices"], known)
        if options.rounds and options.rounds < settings["rounds"]:
            raise record.ResultError("%s: has %d rounds, which --rounds can only add to" % (before.path, settings["rounds"]))
        settings["rounds"] = options.rounds or settings["rounds"]
        now = machine.describe(known, real)
        differ = machine.differences(before.run["machine"], now)
        if differ:
            raise record.ResultError("%s: is of another machine: its %s differ: start anew; a report may be of both" %
                                     (before.path, ", ".join(differ)))
        return settings, real, now, before.path, {record.key_of(done) for done in before.done}
    settings = settings_of(options)
    real = find_gpus(settings["devices"], known)
    if not real and settings["devices"] == "auto":
        print("studies: no NVIDIA GPU answers here: small sizes on software GPUs show how all works and measure nothing; "
              "--devices software takes the full sizes", file=sys.stderr)
        settings.update(miniature=True, devices="software", rounds=options.rounds or 1)
    directory = options.output or os.path.join(known["programs"], "results", time.strftime("%Y-%m-%d-%H%M%S"))
    path = os.path.join(directory, "results.jsonl")
    if os.path.exists(path):
        raise record.ResultError("%s: is there already; --resume %s goes on with it" % (path, directory))
    return settings, real, machine.describe(known, real), path, set()


def how_to_go_on(path):
    return "bench/studies/run --resume %s goes on" % os.path.dirname(path)


def run_jobs(jobs, servers, known, writer, limit):
    """Each job in turn; between studies those servers end that no later job of this round needs."""
    progress, begun, study = Progress(jobs), time.monotonic(), None
    try:
        for at, job in enumerate(jobs):
            if limit is not None and time.monotonic() - begun >= limit:
                progress.say("the time is up: %d of %d runs are done; %s" % (at, len(jobs), how_to_go_on(writer.path)))
                return
            if job.study is not study:
                study = job.study
                servers.keep_only([other.column for other in jobs[at:] if other.study is study])
            progress.show(at)
            scratch = tempfile.mkdtemp(dir=servers.scratch)
            records = execute(job, servers, dict(known, scratch=scratch), scratch)
            shutil.rmtree(scratch, ignore_errors=True)
            writer.add(records)
            done = records[-1]
            progress.learn(job, done["wall"], done["status"] != "ok")
            if done["status"] != "ok":
                progress.say("%s %s in column %s failed: %s" % (job.study.name, job.program.name, job.column.name,
                                                                done["error"][-300:]))
    finally:
        progress.end()


def say_before(jobs, left_out, now, writer):
    print("studies: %s%s, %d cores, %s; results go to %s" % (now["gpu"], " of " + now["box"] if now["box"] else "", now["cores"],
                                                             now["rgpu"], writer.path), file=sys.stderr)
    reasons = {}
    for row in left_out:
        reasons.setdefault(row["why"], []).append("%s of %s" % (row["program"] or row["column"], row["study"]))
    for why, what in reasons.items():
        print("studies: left out: %s: %s" % (", ".join(what), why), file=sys.stderr)
    if now["load"] > now["cores"] / 2:
        print("studies: the machine is busy (load %.1f): figures will be noisy" % now["load"], file=sys.stderr)


def say_after(path, jobs):
    results = record.Results(path)
    figures = Figures([results])
    for study in results.run["studies"]:
        wide = wide_spreads(figures, study)
        if wide and not results.run["settings"]["miniature"]:
            print("studies: %s: %d of %d figures spread by more than 10 %%: the machine is noisy, or more rounds are needed" %
                  (study, len(wide), figures.count(study)), file=sys.stderr)
    if not jobs:
        print("studies: nothing could run here", file=sys.stderr)


def measure(options, known):
    settings, real, now, path, before = start(options, known)
    studies, columns = studies_of(settings)
    jobs, left_out = plan.make(studies, columns, plan.Context(now, real, known), settings["rounds"], settings["programs"])
    jobs = [job for job in jobs if record.key_of(named(job)) not in before]
    writer = record.Writer(path)
    if jobs or not options.resume:
        writer.add([{"kind": "run", "version": record.VERSION, "machine": now, "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
                     "studies": settings["studies"], "settings": settings, "limit": options.limit}] + left_out)
    say_before(jobs, left_out, now, writer)
    scratch = tempfile.mkdtemp(prefix="rgpu-studies.")
    os.chmod(scratch, 0o711)  # a GPU's MPS daemon runs as another user
    servers = Servers(known, scratch, real, max([study.gpus for study in studies], default=1))
    try:
        run_jobs(jobs, servers, known, writer, options.limit)
    except Stop as why:
        raise Stop("%s; %s" % (why, how_to_go_on(path))) from None
    finally:
        servers.end_all()
        shutil.rmtree(scratch, ignore_errors=True)
    say_after(path, jobs)
    print(os.path.dirname(path))


def stop(number, _):
    raise Stop("studies: ended by %s" % signal.Signals(number).name)


def reach(known):
    """The machine of the box answers, and has what is run there."""
    host, program = known["host"], os.path.join(known["bin"], "rgpud")
    why = host.missing()
    if not why and not machine.said_by(host.command([program, "--version"])):
        why = "%s does not run %s: it must let us in by ssh without a password and have the build at this path" % (host.name, program)
    if why:
        sys.exit("studies: " + why)


def list_studies(options):
    try:
        for study in catalog.load_all(options.names, options.declared):
            print("%-12s %s" % (study.name, study.question))
    except catalog.CatalogError as error:
        sys.exit("studies: %s" % error)


def main(argv):
    options = arguments(argv)
    if options.list:
        return list_studies(options)
    known = places(options.build)
    if options.box:
        known["host"] = Host(options.box, options.box_address, options.box_shell)
        reach(known)
    for program in (os.path.join(known["bin"], "rgpud"), os.path.join(known["bench"], "measure")):
        if not os.path.exists(program):
            sys.exit("studies: %s is not there: `make studies` builds all, or --build names where it is built" % program)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        measure(options, known)
    except (catalog.CatalogError, record.ResultError) as error:
        sys.exit("studies: %s" % error)
    except Stop as why:
        sys.exit(str(why))
