# SPDX-License-Identifier: BSD-3-Clause
"""The words in which a study is declared: what runs, where it runs, what is drawn of it, and what others found.

Every file of bench/studies/declared/ makes one Study of these and names it STUDY. docs/design/studies.md explains the words."""
import dataclasses
import json
import re

ALL = "all"  # of a Box: every GPU that there is


class DeclarationError(Exception):
    """A study that contradicts itself."""


@dataclasses.dataclass(frozen=True)
class Need:
    """Something that a program or a column cannot do without. KIND is a row of house/needs.py."""
    kind: str
    what: str = ""


@dataclasses.dataclass(frozen=True)
class Box:
    """One rgpud. GPUS are ordinals of the machine's; OPTIONS go to rgpud; CORES: None, "first" or "second" half."""
    gpus: object = ALL
    options: tuple = ()
    cores: str = None


@dataclasses.dataclass(frozen=True)
class Column:
    """One way to reach a GPU: an environment, the boxes or another server, and the libraries of the client.

    LIBRARY is a directory that programs load libcuda.so.1 from; None is the machine's own driver.
    SERVER is the command of somebody else's server, READY what it prints when it is ready (None: it takes connections).
    Where the box is another machine, programs that use no server run there: HERE says that they do not. OWN: it is a user's.
    """
    name: str
    title: str
    library: str = None
    environment: dict = dataclasses.field(default_factory=dict)
    boxes: tuple = ()
    server: tuple = ()
    server_environment: dict = dataclasses.field(default_factory=dict)
    ready: str = None
    needs: tuple = ()
    cores: str = None
    here: bool = False
    own: bool = False
    note: str = ""

    def but(self, name, title, **changes):
        """The same with other settings: environment and needs are added to, all else is replaced."""
        if "environment" in changes:
            changes["environment"] = {**self.environment, **changes["environment"]}
        if "needs" in changes:
            changes["needs"] = self.needs + tuple(changes["needs"])
        return dataclasses.replace(self, name=name, title=title, **changes)


NATIVE = Column("native", "native")
TCP = Column("tcp", "rgpu, TCP", library="{lib}", boxes=(Box(),), environment={"RGPU_TRANSPORT": "tcp"})
SHM = TCP.but("shm", "rgpu, shared memory", environment={"RGPU_TRANSPORT": "shm"}, needs=(Need("same-host"),))
VERBS = TCP.but("verbs", "rgpu, verbs", environment={"RGPU_TRANSPORT": "rdma"}, needs=(Need("rdma"),))
# What GVirtuS measured as its naive way: memory is registered for each message, and each call is waited for.
NAIVE_TCP = TCP.but("naive-tcp", "TCP, naive", environment={"STUDY_NAIVE": "1"})
NAIVE_VERBS = VERBS.but("naive-verbs", "verbs, naive", environment={"STUDY_NAIVE": "1"})
USUAL = (NATIVE, SHM, TCP, VERBS)
USUAL_NAMES = tuple(column.name for column in USUAL)


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def json_figures(text):
    """The figures of a program that prints JSON lines with figure, value and unit, and x where it is one of a curve."""
    return (record for record in json_lines(text) if "figure" in record and "value" in record)


def sized_figures(text):
    """The same, where the last word of a figure's name is its size: "copy pinned to 64"."""
    for record in json_figures(text):
        found = re.fullmatch(r"(.*) (\d+)", record["figure"])
        yield {**record, "figure": found[1], "x": int(found[2])} if found else record


@dataclasses.dataclass(frozen=True)
class Program:
    """What is run, once for each column, size and round.

    COMMAND has {bench} {programs} {tests} {scratch} and the other places of house/places.py, and {size}.
    SIZES: one run each; its x is the size, unless the program says another. CLIENTS of it run at once, a number or "size".
    MARKS: it says {"mark": "begin"} and {"mark": "end"} and waits for a line after each: all clients begin together, and
    context switches and processor time of clients and workers between the two are figures as well.
    HERE: it runs on the node also where its column would have it on the box's machine.
    BESIDE runs as long as the program does, and its figures are kept as well. COLUMNS: names; None is all of the study's.
    """
    name: str
    command: tuple
    title: str = ""
    sizes: tuple = (None,)
    columns: tuple = None
    clients: object = 1
    marks: bool = False
    beside: tuple = ()
    beside_cores: str = None
    environment: dict = dataclasses.field(default_factory=dict)
    here: bool = False
    needs: tuple = ()
    parse: object = json_figures
    limit: float = 60
    seconds: float = 2
    rounds: int = None
    miniature: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Reference:
    """A figure of others, drawn beside ours: POINTS of a curve, VALUES by bar, or one VALUE for all of a picture."""
    label: str
    source: str
    value: float = None
    points: tuple = ()
    values: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Plot:
    """One picture. FIGURES are names of figures, of PROGRAM where several have them. KIND: "lines" over x or "bars".

    SHOW: "value", "ratio" (time over the time of BASE, or the inverse of rates, so that less is better: 1 is BASE), or
    "rate" (x bytes per value of time, GB/s). BASE is a column's name, or names by names where columns have bases of their own.
    """
    title: str
    figures: tuple
    program: str = None
    kind: str = "lines"
    show: str = "value"
    base: object = "native"
    columns: tuple = None
    x: str = ""
    y: str = ""
    log: str = ""
    references: tuple = ()
    note: str = ""

    def base_of(self, column):
        """The column that this one is set against, or None where it is none that a ratio is shown of."""
        base = self.base.get(column) if isinstance(self.base, dict) else self.base
        return base if base != column else None


@dataclasses.dataclass(frozen=True)
class Ours:
    """One ratio of ours, of the column to BASE: what an Answer sets beside a paper's."""
    figure: str
    column: str
    x: object = None
    program: str = None
    base: str = "native"


@dataclasses.dataclass(frozen=True)
class Answer:
    """A figure of a paper: whether this is the same experiment, our ratio, theirs, why they differ."""
    paper: str
    figure: str
    same: str
    theirs: str
    why: str
    ours: tuple = ()


@dataclasses.dataclass(frozen=True)
class Headline:
    """A line of the report's first table: the ratios of a figure to native in the columns that programs usually have."""
    text: str
    figure: str
    program: str
    x: object = None
    columns: tuple = ("shm", "tcp", "verbs")


@dataclasses.dataclass(frozen=True)
class Study:
    """DERIVE makes (title, HTML) pairs of the Figures of all machines: what follows from them on paper."""
    name: str
    title: str
    question: str
    programs: tuple
    plots: tuple
    measured: str
    unmeasured: str
    columns: tuple = USUAL
    answers: tuple = ()
    headlines: tuple = ()
    gpus: int = 1
    derive: object = None

    def __post_init__(self):
        check(self)

    def column(self, name):
        return next(column for column in self.columns if column.name == name)


def check(study):
    def known(names, all_, what):
        for name in names or ():
            if name not in all_:
                raise DeclarationError("study %s: %s %s is not declared; there are %s" %
                                       (study.name, what, name, ", ".join(sorted(all_))))

    columns = [column.name for column in study.columns]
    programs = [program.name for program in study.programs]
    for names in (columns, programs):
        if len(names) != len(set(names)):
            raise DeclarationError("study %s: a name is there twice: %s" % (study.name, " ".join(names)))
    for program in study.programs:
        known(program.columns, columns, "column")
        known(program.miniature, [f.name for f in dataclasses.fields(Program)], "setting")
        if not program.miniature:
            raise DeclarationError("study %s: program %s declares no miniature" % (study.name, program.name))
    for plot in study.plots:
        known(plot.columns, columns, "column")
        known([plot.program] if plot.program else (), programs, "program")
        if plot.kind not in ("lines", "bars") or plot.show not in ("value", "ratio", "rate"):
            raise DeclarationError("study %s: picture %s: no such kind or show" % (study.name, plot.title))
    for headline in study.headlines:
        known(headline.columns, columns, "column")
        known([headline.program], programs, "program")
    for answer in study.answers:
        for ours in answer.ours:
            known([ours.column, ours.base], columns, "column")
            known([ours.program] if ours.program else (), programs, "program")


def miniature(study):
    """The study as tests run it: as its programs say."""
    return dataclasses.replace(study, programs=tuple(
        dataclasses.replace(program, **{"seconds": 0.3, **program.miniature}) for program in study.programs))


def pilot(study):
    """The study with the first size of each program only, each figure in a fiftieth of a second: whether all works here."""
    return dataclasses.replace(study, programs=tuple(
        dataclasses.replace(program, sizes=program.sizes[:1], seconds=min(program.seconds, 3), environment={**program.environment, "STUDY_SECONDS": "0.02"})
        for program in study.programs))
