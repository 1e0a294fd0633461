# SPDX-License-Identifier: BSD-3-Clause
"""Small calls as programs make them: the runtime API, the default stream, allocations in loops."""
from house.declare import USUAL, Headline, Need, Plot, Program, Study

WAITS = ("launch, wait for its stream", "launch, wait for the default stream", "launch, wait for the device",
         "launch in a stream, wait for the device", "memset of 1 MiB, wait for the device",
         "eight launches, wait for the device", "launch, query an event", "launch, query its stream",
         "timed pair of events", "4 B pinned back after a kernel", "1 MiB pageable to the GPU")
MEMORY = ("cudaMalloc and cudaFree of 4 KiB", "cudaMalloc and cudaFree of 1 MiB",
          "cudaMalloc and cudaFree of 16 MiB", "cudaMalloc and cudaFree of 100 sizes",
          "cudaMalloc, launch, cudaFree of 1 MiB", "cudaMallocHost and cudaFreeHost of 64 KiB",
          "cudaMallocHost and cudaFreeHost of 1 MiB", "cudaMallocManaged and cudaFree of 64 KiB",
          "cudaMallocAsync and cudaFreeAsync of 1 MiB", "cudaMemGetInfo", "a stream's life", "an event's life")

STUDY = Study(
    name="ordinary",
    title="Small calls as programs make them",
    question="What does a call of the runtime API cost in a program that uses the default stream, waits for the whole device "
             "and allocates in loops?",
    columns=USUAL,
    programs=(
        Program("calls", ("{programs}/ordinary_calls",), title="Medians of 600 calls", seconds=2, limit=60,
                needs=(Need("real-gpu"), Need("file", "{programs}/ordinary_calls")), miniature=dict(limit=30)),
    ),
    plots=(
        Plot("Waits, beside the native driver", WAITS, program="calls", kind="bars", show="ratio"),
        Plot("Memory, streams and events, beside the native driver", MEMORY, program="calls", kind="bars", show="ratio",
             log="y"),
    ),
    measured="A program built by nvcc calls each row 660 times in one process; the first 60 do not count. The figure of a "
             "process is the median. Another allocation lives beside those that come and go.",
    unmeasured="Calls of several threads at once.",
    headlines=(Headline("Launch and wait for the device", "launch, wait for the device", "calls"),
               Headline("cudaMalloc and cudaFree of 1 MiB", "cudaMalloc and cudaFree of 1 MiB", "calls")),
)
