# SPDX-License-Identifier: BSD-3-Clause
"""Shows the results of bench/places as one table and one picture: place by transport and path by size. Latency is a copy's time,
bandwidth its size by that time."""
import collections
import json
import os
import statistics
import sys

MICROSECONDS = {"us": 1, "ms": 1e3, "s": 1e6}
LARGE = 1 << 20  # above this size bandwidth counts
COLOURS = {"chosen": "#000000", "native": "#999999", "shm": "#0b6fb8", "vm": "#8e44ad", "tcp": "#d9541e", "verbs": "#2e8b57"}
STYLES = {"inline": ":", "staged": "--", "mapped": "-.", "one": (0, (1, 3)), "one-sided": (0, (5, 1, 1, 1, 1, 1)),
          "direct": (0, (3, 1, 1, 1))}


def rows_of(directory):
    with open(os.path.join(directory, "places.json")) as file:
        return json.load(file)


def samples_of(path, place):
    """(program, direction, size, path) and microseconds of every sample."""
    with open(os.path.join(path, "results.jsonl")) as lines:
        for sample in map(json.loads, lines):
            scale = MICROSECONDS.get(sample.get("unit"))
            if sample["kind"] == "sample" and sample.get("x") and scale:
                column = sample["column"]
                yield (sample["program"], sample["figure"].replace(" the GPU", ""), sample["x"],
                       column[len(place) + 1:] if column.startswith(place + "-") else column), sample["value"] * scale


def failures_of(path):
    """{(program, column): the last words of a run that failed}"""
    with open(os.path.join(path, "results.jsonl")) as lines:
        return {(done["program"], done["column"]): done["error"] for done in map(json.loads, lines)
                if done["kind"] == "done" and done["status"] != "ok"}


def failed(directories):
    """(place, GPU, program, column, why) of everything that was to be measured and failed, once each."""
    found = {}
    for directory in directories:
        for row in rows_of(directory):
            if "results" in row:
                for (program, column), why in failures_of(os.path.join(directory, row["results"])).items():
                    found[row["place"], row["gpu"], program, column] = why
    return [(*key, " ".join(why.split())) for key, why in found.items()]


def gathered(directories):
    """{(place, GPU): {(program, direction, size, path): microseconds}}, and {(place, GPU): why it was not measured}: medians over all
    rounds of all runs. What was measured in one run is not missing for another's reason."""
    seen, missing = {}, {}
    for directory in directories:
        for row in rows_of(directory):
            name = (row["place"], row["gpu"])
            if "missing" in row:
                missing[name] = row["missing"]
                continue
            values = seen.setdefault(name, collections.defaultdict(list))
            for key, value in samples_of(os.path.join(directory, row["results"]), row["place"]):
                values[key].append(value)
    figures = {name: {key: statistics.median(values) for key, values in found.items()} for name, found in seen.items()}
    return figures, {name: why for name, why in missing.items() if name not in figures}


def shown_size(size):
    return "%d B" % size if size < 1024 else "%d KiB" % (size >> 10) if size < LARGE else "%d MiB" % (size >> 20)


def shown(size, us):
    return "%.1f us" % us if size < LARGE else "%.2f GB/s" % (size / us / 1e3)


def ratio(found, program, direction, size):
    """The chosen path's time to that of the best one that is forced."""
    forced = [us for (p, d, s, path), us in found.items() if (p, d, s) == (program, direction, size) and path not in ("chosen", "native")]
    chosen = found.get((program, direction, size, "chosen"))
    return chosen / min(forced) if chosen and forced else None


def kinds(found):
    return sorted({key[:2] for key in found})


def paths_of(found, kind):
    return list(dict.fromkeys(key[3] for key in found if key[:2] == kind))


def table(figures, missing, broken=()):
    """The table's lines, in Markdown."""
    sizes = sorted({key[2] for found in figures.values() for key in found})
    yield "| place | copy | path | " + " | ".join(map(shown_size, sizes)) + " |"
    yield "|---" * (3 + len(sizes)) + "|"
    for (place, gpu), found in figures.items():
        for kind in kinds(found):
            start = "| %s, %s | %s %s | " % (place, gpu, *kind)
            for path in paths_of(found, kind):
                cells = [found.get((*kind, size, path)) for size in sizes]
                yield start + " | ".join([path] + [shown(s, c) if c else "-" for s, c in zip(sizes, cells)]) + " |"
            ratios = [ratio(found, *kind, size) for size in sizes]
            yield start + " | ".join(["chosen to the best forced, time"] + ["%.2f" % r if r else "-" for r in ratios]) + " |"
    for (place, gpu), why in missing.items():
        yield "| %s, %s | not measured | %s |" % (place, gpu, why.replace("|", "/")) + " |" * len(sizes)
    for place, gpu, program, column, why in broken:
        yield "| %s, %s | %s failed | %s: %s |" % (place, gpu, program, column, why.replace("|", "/")) + " |" * len(sizes)


def draw_panel(axes, found, kind, large):
    for path in paths_of(found, kind):
        points = sorted((size, us) for (p, d, size, q), us in found.items() if (p, d, q) == (*kind, path) and (size >= LARGE) == large)
        if points:
            transport, _, way = path.partition("-")
            axes.plot([size for size, _ in points], [size / us / 1e3 if large else us for size, us in points],
                      linestyle=STYLES.get(way, "-"), color=COLOURS.get(transport, "#555555"), lw=2.4 if path == "chosen" else 1.2, marker="o",
                      ms=3, label=path, zorder=1 if path == "chosen" else 2)
    sizes = sorted({key[2] for key in found if (key[2] >= LARGE) == large})
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [shown_size(size) for size in sizes], fontsize=7)
    axes.minorticks_off()
    if large:
        axes.set_ylim(bottom=0)
    else:
        axes.set_yscale("log")
    axes.set_ylabel("GB/s" if large else "us", fontsize=7)
    axes.tick_params(axis="y", labelsize=7)
    axes.grid(alpha=0.3)
    axes.set_title("%s %s, %s" % (*kind, "bandwidth" if large else "latency"), loc="left", fontsize=8)


def draw(figures, missing, path):
    """One row of panels per place and kind of memory: latency and bandwidth, to and from the GPU."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "rgpu"})
    rows = [(name, program) for name, found in figures.items() for program in sorted({key[0] for key in found})]
    picture, grid = plt.subplots(len(rows), 4, figsize=(15, 2.7 * len(rows)), squeeze=False, layout="constrained")
    for ((place, gpu), program), line in zip(rows, grid):
        found = figures[place, gpu]
        panels = [(direction, large) for large in (False, True) for direction in ("to", "from")]
        for axes, (direction, large) in zip(line, panels):
            draw_panel(axes, found, (program, direction), large)
        line[0].set_ylabel("%s\n%s\n\nus" % (place, gpu), fontsize=8)
        line[3].legend(fontsize=6, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    for number, ((place, gpu), why) in enumerate(missing.items()):
        picture.text(0.01, -0.02 - 0.016 * number, "%s, %s: not measured: %s" % (place, gpu, why[:180]), fontsize=8, va="top")
    picture.savefig(path, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})


def show(directories, to):
    """Prints the table, and leaves it and the picture in the directory TO. Returns whether something was measured and
    nothing failed."""
    figures, missing = gathered(directories)
    broken = failed(directories)
    text = "\n".join(table(figures, missing, broken))
    print(text)
    with open(os.path.join(to, "places.md"), "w") as file:
        file.write(text + "\n")
    if figures:
        try:
            draw(figures, missing, os.path.join(to, "places.svg"))
            print("\n" + os.path.join(to, "places.svg"))
        except ModuleNotFoundError as error:
            print("bench/places: no picture: %s; where it is, bench/places --show %s draws it" % (error, to), file=sys.stderr)
    return bool(figures) and not broken
