# SPDX-License-Identifier: BSD-3-Clause
"""CUDA graphs through PyTorch: replay, private pools, graphed modules, copies from the host at each replay."""
import time

from app import check, figure, needs

torch = needs("torch")
torch.manual_seed(4)
wait = torch.cuda.synchronize

x = torch.zeros(1024, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2 + 1
x.fill_(5)
graph.replay()
check("a replay reads new input", torch.equal(y, torch.full_like(y, 11)))
x.fill_(-1)
graph.replay()
check("so does the next", torch.equal(y, torch.full_like(y, -1)))

host = torch.ones(1 << 16).pin_memory()
there = torch.zeros(1 << 16, device="cuda")
back = torch.zeros(1 << 16).pin_memory()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    there.copy_(host, non_blocking=True)
    there.mul_(3)
    back.copy_(there, non_blocking=True)
for value in (1.0, 4.0, 9.0):
    host.fill_(value)
    graph.replay()
    wait()
    check(f"copies in a graph are made at each replay ({value:.0f})", bool((back == 3 * value).all()))

streams = [torch.cuda.Stream() for _ in range(3)]
a = torch.randn(256, 256, device="cuda")
for s in [torch.cuda.current_stream(), *streams]:
    with torch.cuda.stream(s):
        a @ a  # cuBLAS may not be set up in a capture
wait()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    main = torch.cuda.current_stream()
    parts = []
    for s in streams:
        s.wait_stream(main)
        with torch.cuda.stream(s):
            parts.append(a @ a)
        main.wait_stream(s)
    total = sum(parts)
a.normal_()
graph.replay()
check("branches on several streams", torch.allclose(total, 3 * (a @ a), atol=1e-2))

layers = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64)).cuda()
sample = torch.randn(32, 64, device="cuda", requires_grad=True)
graphed = torch.cuda.make_graphed_callables(layers, (sample,))
fresh = torch.randn(32, 64, device="cuda", requires_grad=True)
out = graphed(fresh)
out.sum().backward()
reference = torch.nn.functional.linear(
    torch.relu(torch.nn.functional.linear(fresh, layers[0].weight, layers[0].bias)),
    layers[2].weight, layers[2].bias)
check("a graphed module, forward", torch.allclose(out, reference, atol=1e-4))
check("and backward", fresh.grad is not None and fresh.grad.abs().sum().item() > 0)

small = torch.zeros(64, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    for _ in range(100):
        small.add_(1)
for _ in range(20):
    graph.replay()
wait()
check("a hundred kernels, twenty times", small[0].item() == 2000)
issue, complete = [], []
for _ in range(100):
    start = time.perf_counter()
    graph.replay()
    issue.append(time.perf_counter() - start)
    wait()
    complete.append(time.perf_counter() - start)
figure("issue of a graph of 100 kernels", sorted(issue)[50])
figure("such a graph until it is complete", sorted(complete)[50])
