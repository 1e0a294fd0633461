# SPDX-License-Identifier: BSD-3-Clause
"""One run of an input of LAMMPS' own benchmark, as bench/studies/build-lammps has built it; a JSON line per figure:

    molecules.py DIRECTORY lj|eam|rhodo|chain THOUSANDS [--ranks N] [--gpus N] [--own] [--no-gpu] [--steps N]

With STUDY_LAMMPS=processors a rank runs on each core, without a GPU. THOUSANDS of atoms: 32 or a multiple that repeats the
input in three directions. Of molecules LAMMPS' kernels list the neighbours of half a million atoms at most: where a rank has
more, the processor lists them. The ranks share GPUS (each takes its own in turn). --own: of several clients of a study (STUDY_CLIENT) each takes one GPU, in turn. The figure is the time of LAMMPS'
loop; the run must end with as many atoms as it began with, and with finite energy."""
import argparse
import json
import math
import os
import re
import subprocess
import sys

INPUTS = {"lj": "in.lj", "eam": "in.eam", "rhodo": "in.rhodo.scaled", "chain": "in.chain.scaled"}
BASE = 32  # thousands of atoms in each input
MOLECULES = {"rhodo": 400, "chain": 500}  # thousands of atoms beside which those of neighbouring copies make half a million


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("directory")
    p.add_argument("input", choices=INPUTS)
    p.add_argument("thousands", type=float)
    p.add_argument("--ranks", type=int, default=1)
    p.add_argument("--gpus", type=int, default=1)
    p.add_argument("--own", action="store_true")
    p.add_argument("--no-gpu", action="store_true")
    p.add_argument("--steps", type=int, default=100)
    options = p.parse_args()
    if os.environ.get("STUDY_LAMMPS") == "processors":
        options.no_gpu, options.ranks = True, len(os.sched_getaffinity(0))
    return options


def factors(times):
    """Three numbers whose product is TIMES, as near to each other as can be."""
    best = None
    for a in range(1, times + 1):
        for b in range(a, times // a + 1):
            c = times // (a * b)
            if c >= b and a * b * c == times and (best is None or c - a < best[2] - best[0]):
                best = (a, b, c)
    return best


def extent(options):
    """What the input's x, y and z are; below one unit only crystals can be made."""
    if options.thousands >= BASE:
        return factors(round(options.thousands / BASE))
    if options.input not in ("lj", "eam"):
        sys.exit("molecules: %s has at least %d thousand atoms" % (options.input, BASE))
    side = max(1, round((options.thousands * 1000 / 4) ** (1 / 3))) / 20
    return (side, side, side)


def script(options, scratch):
    """The input with its number of steps; files that it names are found where it lies."""
    with open(os.path.join(options.directory, INPUTS[options.input])) as file:
        text = file.read()
    text = re.sub(r"(?m)^run\s+\d+", "run %d" % options.steps, text)
    for name in ("data.rhodo", "data.chain", "Cu_u3.eam"):
        text = text.replace(name, os.path.join(options.directory, name))
    path = os.path.join(scratch, "in.%d" % os.getpid())
    with open(path, "w") as file:
        file.write(text)
    return path


def command(options, scratch):
    x, y, z = (str(n) for n in extent(options))
    line = [os.path.join(options.directory, "lmp")]
    if options.ranks > 1:
        starter = os.path.join(options.directory, "mpiexec.hydra")
        line = [starter if os.path.exists(starter) else "mpiexec", "-launcher", "fork", "-n", str(options.ranks)] + line
    if not options.no_gpu:
        first = int(os.environ.get("STUDY_CLIENT", "0")) % options.gpus if options.own else 0
        line += ["-sf", "gpu", "-pk", "gpu", "1" if options.own else str(options.gpus), "gpuID", str(first)]
        if options.thousands / options.ranks > MOLECULES.get(options.input, math.inf):
            line += ["neigh", "no"]
    return line + ["-in", script(options, scratch), "-log", "none", "-var", "x", x, "-var", "y", y, "-var", "z", z]


def last_energy(text):
    """Of the last line before the loop's time, or of thermo_style multi."""
    multi = re.findall(r"TotEng\s*=\s*(\S+)", text)
    if multi:
        return float(multi[-1])
    head = list(re.finditer(r"(?m)^Step .*TotEng.*$", text))[-1]
    column = head[0].split().index("TotEng")
    rows = re.findall(r"(?m)^ +\d+ .*$", text[head.end():text.index("Loop time", head.end())])
    return float(rows[-1].split()[column])


def main():
    options = arguments()
    env = dict({"UCX_TLS": "posix,sysv,self"}, **os.environ)
    done = subprocess.run(command(options, os.getcwd()), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    loop = re.search(r"Loop time of (\S+) on (\d+) procs for (\d+) steps with (\d+) atoms", done.stdout)
    if done.returncode or not loop:
        sys.exit("molecules: status %d: %s" % (done.returncode, done.stdout[-1500:]))
    begun = re.findall(r"(\d+) atoms", done.stdout[:loop.start()])
    if begun and int(begun[-1]) > int(loop[4]) or int(loop[2]) != options.ranks:
        sys.exit("molecules: %s atoms are left, on %s of %d ranks" % (loop[4], loop[2], options.ranks))
    energy = last_energy(done.stdout)
    if not math.isfinite(energy):
        sys.exit("molecules: the energy is no number")
    print(json.dumps({"energy": energy}))
    print(json.dumps({"figure": options.input, "value": float(loop[1]), "unit": "s"}))
    print(json.dumps({"figure": options.input + ", atom steps", "unit": "M/s",
                      "value": float(loop[3]) * float(loop[4]) / float(loop[1]) / 1e6}))


main()
