# SPDX-License-Identifier: BSD-3-Clause
"""Draws a Plot of a study by matplotlib, as SVG text that a page can hold."""
import io
import math
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import LogLocator  # noqa: E402

from house.figures import shown_size  # noqa: E402

plt.rcParams.update({"svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3,
                     "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "rgpu"})
COLOURS = ("#222222", "#0b6fb8", "#d9541e", "#2e8b57", "#8e44ad", "#b8860b", "#c2185b", "#607d8b", "#795548", "#00838f")
USUAL_COLOURS = {"native": "#222222", "shm": "#0b6fb8", "tcp": "#d9541e", "verbs": "#2e8b57"}
STYLES = ("-", "--", ":", "-.")
MARKS = "osD^vPX*<>"
MOST_UPRIGHT = 8  # groups of bars whose names are not turned


class Empty(Exception):
    """A picture without anything in it; the text says what was to be there."""


def value_of(figures, key, plot):
    """(middle, low, high) of what the plot shows of a figure, or None."""
    if plot.show == "ratio":
        base = plot.base_of(key.column)
        found = figures.ratio(key, base) if base else None
    else:
        found = figures.point(key)
    if found is None:
        return None
    if plot.show == "rate":
        scale = {"us": 1e-6, "ms": 1e-3, "s": 1}[figures.unit(key)]
        return tuple(key.x / (value * scale) / 1e9 for value in (found.median, found.high, found.low))
    return found.median, found.low, found.high


def series(figures, study, plot):
    """(column's name, figure) -> [(x, middle, low, high)], in the order of their declaration."""
    found = {}
    for column in study.columns:
        if plot.columns and column.name not in plot.columns:
            continue
        for figure in plot.figures:
            points = {}
            for key in figures.keys(study.name, figure, plot.program, column.name):
                value = value_of(figures, key, plot)
                if value:
                    points[key.x] = value
            if points:
                found[column.name, figure] = [(x, *points[x]) for x in points]
    if not found:
        raise Empty("%s: none of its figures was measured" % plot.title)
    return found


def colours_of(found):
    """Columns that every study has keep their colour; the others take what is left, in their order."""
    names = list(dict.fromkeys(name for name, _ in found))
    colours = {name: colour for name, colour in USUAL_COLOURS.items() if name in names}
    rest = [colour for colour in COLOURS if colour not in USUAL_COLOURS.values()]
    for number, name in enumerate(name for name in names if name not in colours):
        colours[name] = rest[number % len(rest)]
    return colours


def draw_lines(axes, study, plot, found):
    colours, single = colours_of(found), len({name for name, _ in found}) == 1
    for (name, figure), points in found.items():
        column = study.column(name)
        points = sorted(point for point in points if isinstance(point[0], (int, float)))
        xs = [point[0] for point in points]
        label = figure if single and len(plot.figures) > 1 else column.title + (": " + figure if len(plot.figures) > 1 else "")
        number = plot.figures.index(figure)
        colour = colours[name]
        axes.plot(xs, [p[1] for p in points], STYLES[number % 4], marker=MARKS[number % 10], ms=3.5, lw=1.4, color=colour,
                  label=label)
        axes.fill_between(xs, [p[2] for p in points], [p[3] for p in points], color=colour, alpha=0.15, lw=0)
    ticks = sorted({point[0] for points in found.values() for point in points if isinstance(point[0], (int, float))})
    if "x" in plot.log:
        axes.set_xscale("log", base=2)
        ticks = apart(ticks)
    if "x" in plot.log or len(ticks) <= MOST_UPRIGHT:
        axes.set_xticks(ticks, [shown_size(tick) for tick in ticks])
        axes.minorticks_off()


def apart(ticks):
    """Of the places on a logarithmic axis those whose names do not touch; the last one stays."""
    least, kept = (math.log2(ticks[-1] / ticks[0]) / 11 if ticks and ticks[0] > 0 else 0), []
    for tick in reversed(ticks):
        if not kept or math.log2(kept[0] / tick) >= least:
            kept.insert(0, tick)
    return kept


def bar_group(figure, x, plot, several_x):
    if not several_x:
        return figure
    return shown_size(x) if len(plot.figures) == 1 else "%s %s" % (figure, shown_size(x))


def draw_bars(axes, study, plot, found):
    several_x = len({point[0] for points in found.values() for point in points}) > 1
    groups = []
    for (_, figure), points in found.items():
        for point in points:
            name = bar_group(figure, point[0], plot, several_x)
            if name not in groups:
                groups.append(name)
    columns = list(dict.fromkeys(name for name, _ in found))
    width, colours = 0.8 / len(columns), colours_of(found)
    labelled = set()
    for (name, figure), points in found.items():
        column = study.column(name)
        for x, middle, low, high in points:
            place = groups.index(bar_group(figure, x, plot, several_x)) - 0.4 + width * (columns.index(column.name) + 0.5)
            axes.bar(place, middle, width * 0.92, color=colours[name], yerr=[[middle - low], [high - middle]],
                     capsize=2, error_kw={"lw": 0.8}, label=None if column.name in labelled else column.title)
            labelled.add(column.name)
    if len(groups) <= MOST_UPRIGHT:
        axes.set_xticks(range(len(groups)), [in_lines(name, groups) for name in groups])
    else:
        axes.set_xticks(range(len(groups)), groups, rotation=25, ha="right")
    return groups


def in_lines(name, groups):
    """A name below the bars in as many lines as its width needs."""
    return textwrap.fill(name, max(9, 66 // len(groups)))


def depth(groups):
    """How far below the axes the legend has its place."""
    if len(groups) > MOST_UPRIGHT:
        return -0.32
    return -0.14 - 0.045 * max((in_lines(name, groups).count("\n") for name in groups), default=0)


def draw_references(axes, plot, groups):
    for number, reference in enumerate(plot.references):
        style = {"color": "#888888", "lw": 1.2, "ls": STYLES[(number + 1) % 4]}
        label = reference.label
        if reference.value is not None:
            axes.axhline(reference.value, label=label, **style)
        if reference.points:
            axes.plot(*zip(*reference.points), marker=MARKS[(number + 3) % 10], ms=5, mfc="white", label=label, **style)
        places = [(groups.index(name), value) for name, value in reference.values.items() if name in groups]
        if places:
            axes.plot(*zip(*places), marker=MARKS[(number + 3) % 10], ms=7, mfc="white", color="#555555", ls="none",
                      label=label, zorder=5)


def draw(figures, study, plot):
    """The picture as SVG text. Raises Empty where nothing of it was measured."""
    found = series(figures, study, plot)
    picture, axes = plt.subplots(figsize=(7.4, 4.2))
    groups = []
    if plot.kind == "lines":
        draw_lines(axes, study, plot, found)
    else:
        groups = draw_bars(axes, study, plot, found)
    logarithmic = "y" in plot.log and any(point[1] > 0 for points in found.values() for point in points)
    if logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
        axes.yaxis.set_minor_formatter("{x:g}")
        axes.tick_params(axis="y", which="minor", labelsize=7)
    if plot.show == "ratio":
        base = next((c.title for c in study.columns if c.name == plot.base), "as without")
        axes.axhline(1, color="#222222", lw=1, label=base)
    draw_references(axes, plot, groups)
    if not logarithmic:
        axes.set_ylim(bottom=0)
    axes.set_title(plot.title, loc="left", fontsize=10)
    axes.set_xlabel(plot.x)
    axes.set_ylabel(plot.y or {"ratio": "ratio (less is better)", "rate": "GB/s"}.get(plot.show, ""))
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, depth(groups)), ncol=2,
                frameon=False)
    text = io.StringIO()
    picture.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    plt.close(picture)
    svg = text.getvalue()
    return svg[svg.index("<svg"):]
