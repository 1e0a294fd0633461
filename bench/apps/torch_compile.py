# SPDX-License-Identifier: BSD-3-Clause
"""torch.compile in the given mode: default, reduce-overhead (CUDA graphs) or max-autotune."""
import sys

from app import batch_time, check, needs

torch = needs("torch")
nn = torch.nn
mode = sys.argv[1]
torch.manual_seed(3)
net = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 256)).cuda()
rows = torch.randn(128, 256, device="cuda")
compiled = torch.compile(net, mode=mode)
with torch.no_grad():
    expected = net(rows)
    for _ in range(3):
        got = compiled(rows).clone()
    check(f"inference, {mode}", torch.allclose(got, expected, atol=1e-2))
    batch_time(f"inference, {mode}", lambda: compiled(rows), torch.cuda.synchronize)

optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
losses = []
for _ in range(10):
    torch.compiler.cudagraph_mark_step_begin()
    optimizer.zero_grad()
    loss = compiled(rows).pow(2).mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
check(f"training, {mode}", losses[-1] < losses[0])
