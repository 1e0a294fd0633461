# SPDX-License-Identifier: BSD-3-Clause
"""Products of matrices by cuBLAS: whole programs, many small products, single calls; beside the processors' BLAS."""
from house.declare import (NATIVE, SHM, TCP, USUAL_NAMES, VERBS, Answer, Column, Need, Ours, Plot, Program, Reference,
                           Study)

SIZES = (256, 512, 1024, 2048, 4096, 8192, 13848)
PAPER = "Reaño et al., rCUDA (K20, FDR InfiniBand, 2015), figure 7b"
PROCESSORS = Column("processors", "processors (OpenBLAS)", environment={"STUDY_BLAS": "processors"},
                    needs=(Need("python", "numpy"),))
CUBLAS = (Need("real-gpu"), Need("file", "{programs}/blas"))
OWN = {"needs": (), "limit": 30}


def whole(name, kind, seconds):
    return Program(name, ("{python}", "{here}/programs/products.py", "{programs}/blas", "whole", kind, "{size}"),
                   title="%sGEMM: memory, copies from and to ordinary memory, one product" % kind.upper(), sizes=SIZES,
                   needs=CUBLAS, seconds=seconds, limit=180,
                   miniature=dict(OWN, sizes=(48,), needs=() if kind == "s" else CUBLAS,
                                  command=("{python}", "{here}/programs/products.py", "{programs}/own_kernels", "whole", kind,
                                           "{size}")))


ALONE = ("SGEMM, the product alone",)
MANY = ("one by one", "batched", "strided")
CALLS = ("product of 64, issued", "product of 64, one of 1000", "product of 64, waited for", "dot product to the host",
         "a handle made and ended", "start until the first handle")

STUDY = Study(
    name="cublas",
    title="Matrix products by cuBLAS",
    question="How much longer does a program take that multiplies matrices on a remote GPU, from what size on does that not "
             "matter, and when is the remote GPU better than the processors at hand?",
    columns=(NATIVE, SHM, TCP, VERBS, PROCESSORS),
    programs=(
        whole("sgemm", "s", 3),
        whole("dgemm", "d", 4),
        Program("many", ("{programs}/blas", "many", "{size}"), title="64 products: one by one, batched, strided", columns=USUAL_NAMES,
                sizes=(32, 128, 512), needs=CUBLAS, seconds=3, miniature=dict(sizes=(16,))),
        Program("calls", ("{programs}/blas", "calls"), title="What one call costs", columns=USUAL_NAMES, needs=CUBLAS, seconds=4,
                miniature=dict(limit=30)),
        Program("own-calls", ("{programs}/own_kernels", "calls"), title="The same for a kernel of the program's own",
                columns=USUAL_NAMES, needs=(Need("file", "{programs}/own_kernels"),), seconds=2, miniature=dict(OWN)),
    ),
    plots=(
        Plot("SGEMM from ordinary memory", ("SGEMM",), program="sgemm", x="n", y="ms", log="xy",
             note="Memory, two matrices to the GPU, the product, one matrix back; the processors need no copies."),
        Plot("SGEMM beside the native driver", ("SGEMM",), program="sgemm", show="ratio", x="n", log="x",
             columns=("shm", "tcp", "verbs"),
             references=(Reference("rCUDA, 10 % faster", PAPER, value=1 / 1.10), Reference("rCUDA, 85 % faster", PAPER, value=1 / 1.85))),
        Plot("The product alone", ALONE, program="sgemm", show="ratio", x="n", log="x", columns=("shm", "tcp", "verbs")),
        Plot("DGEMM from ordinary memory", ("DGEMM",), program="dgemm", x="n", y="ms", log="xy"),
        Plot("DGEMM beside the native driver", ("DGEMM",), program="dgemm", show="ratio", x="n", log="x",
             columns=("shm", "tcp", "verbs")),
        Plot("64 products of one size", MANY, program="many", show="ratio", x="n", log="x"),
        Plot("Single calls of cuBLAS", CALLS, program="calls", kind="bars", show="ratio", log="y"),
        Plot("Single launches of a kernel of the program's own", ("small product, issued", "small product, waited for"),
             program="own-calls", kind="bars", show="ratio"),
    ),
    measured="Each run is a process. It allocates three matrices, copies two from ordinary (pageable) memory, multiplies by "
             "cuBLAS and copies the product back; one number of the product is computed again on the host. \"The product "
             "alone\" has the matrices on the GPU already and waits for the product. Figures are medians within a process, "
             "then medians over rounds. The processors' column is NumPy's BLAS on all cores that the run may use.",
    unmeasured="In miniature, on software GPUs, a plain kernel stands in for cuBLAS, which has machine code only; batched and "
               "strided products and DGEMM are left out there. MKL is not measured: it is not free to install everywhere.",
    answers=(
        Answer("rCUDA", "7b, SGEMM with pageable memory", "yes: the same steps and largest size; another GPU, one host",
               "10 to 85 % faster than the local GPU", "The gain is the same: copies of ordinary memory are pipelined through "
               "page-locked blocks by several threads, which the native driver does with one; it is largest where copies count "
               "most, and over TCP on one host the processor's own copies eat it up. "
               "With n of 512 to 2048 ours took longer than natively in two runs and shorter at 2048 in a later one, of a later build; why was "
               "not looked into.",
               (Ours("SGEMM", "shm", 2048, "sgemm"), Ours("SGEMM", "shm", 4096, "sgemm"), Ours("SGEMM", "shm", 13848, "sgemm"),
                Ours("SGEMM", "tcp", 13848, "sgemm"))),
        Answer("rCUDA", "7b, beside the processors' BLAS", "partly: OpenBLAS instead of MKL, the cores of this machine",
               "up to 4.5 times as fast as MKL on 12 cores", "GPUs have grown faster than processors since 2013.",
               (Ours("SGEMM", "processors", 13848, "sgemm", base="shm"), Ours("SGEMM", "processors", 13848, "sgemm", base="tcp"))),
    ),
)
