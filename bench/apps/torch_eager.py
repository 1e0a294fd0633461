# SPDX-License-Identifier: BSD-3-Clause
"""Uses PyTorch as most programs do: results of each library, a training step and inference."""
import time

from app import batch_time, check, figure, needs

start = time.perf_counter()
torch = needs("torch")
nn = torch.nn
wait = torch.cuda.synchronize

torch.zeros(1, device="cuda")
wait()
figure("import to first result", time.perf_counter() - start)

torch.manual_seed(0)
a, b = torch.randn(512, 512), torch.randn(512, 512)
check("matrix product", torch.allclose((a.cuda() @ b.cuda()).cpu(), a @ b, atol=1e-2))
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    total = torch.ones(1000000, device="cuda").sum()
stream.synchronize()
check("sum on a stream of its own", total.item() == 1000000)
pinned = torch.randn(1 << 20).pin_memory()
there = pinned.to("cuda", non_blocking=True)
check("pinned memory", torch.equal((there * 2).cpu(), pinned * 2))
x = torch.randn(1 << 12)
check("FFT", torch.allclose(torch.fft.rfft(x.cuda()).cpu(), torch.fft.rfft(x), atol=1e-2))
for kind in (torch.bfloat16, torch.float16):
    layer = nn.Linear(256, 128).to("cuda", kind)
    rows = torch.randn(64, 256, device="cuda", dtype=kind)
    exact = nn.functional.linear(rows.double(), layer.weight.double(), layer.bias.double())
    check(f"linear layer with bias in {kind}", torch.allclose(layer(rows).double(), exact, atol=5e-2))

net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(),
                    nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
images = torch.randn(64, 3, 32, 32, device="cuda")
labels = torch.randint(0, 10, (64,), device="cuda")
losses = []


def step():
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
    losses.append(loss)


batch_time("training step of a small convolutional network", step, wait)
check("the loss falls", losses[-1].item() < losses[0].item())

layer = nn.TransformerEncoderLayer(256, 8, 512, batch_first=True)
encoder = nn.TransformerEncoder(layer, 6).cuda().eval()
tokens = torch.randn(8, 64, 256, device="cuda")
with torch.no_grad():
    batch_time("inference of a 6-layer transformer", lambda: encoder(tokens), wait, rounds=50)
