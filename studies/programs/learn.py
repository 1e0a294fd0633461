# SPDX-License-Identifier: BSD-3-Clause
"""Trains and uses one of the models of standard_models.py, as programs do, and prints a JSON line per figure:

    learn.py resnet50|gpt2|llama [SECONDS]

A step has its batch copied from page-locked memory, the model forwards and backwards in bfloat16, and the optimizer. How
busy the GPU is comes from the driver's management library while the steps run. The loss must fall."""
import json
import os
import sys
import threading
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from standard_models import GPT2, LLAMA, Language, resnet50  # noqa: E402

SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 2.0


def figure(name, value, unit):
    print(json.dumps({"figure": name, "x": None, "value": value, "unit": unit}), flush=True)


class Busy(threading.Thread):
    """Asks how busy the GPU is, five times a second; says so as the mean, or nothing where nobody answers."""

    def __init__(self):
        super().__init__(daemon=True)
        self.samples, self.done = [], threading.Event()

    def run(self):
        try:
            import pynvml
            pynvml.nvmlInit()
            device = pynvml.nvmlDeviceGetHandleByIndex(0)
            self.done.wait(0.5)  # the driver's own window
            while not self.done.wait(0.2):
                self.samples.append(pynvml.nvmlDeviceGetUtilizationRates(device).gpu)
        except Exception as error:  # not installed, not supported: the figure is then absent
            print("learn: GPU's use: %s" % error, file=sys.stderr)

    def stop(self, name):
        self.done.set()
        self.join()
        if self.samples:
            figure("%s, GPU busy" % name, sum(self.samples) / len(self.samples), "%busy")


def steps(name, once):
    """Prints the median time of ONCE, each waited for, and how busy the GPU was."""
    for _ in range(4):
        once()
    torch.cuda.synchronize()
    busy, times, begin = Busy(), [], time.perf_counter()
    busy.start()
    while len(times) < 3 or time.perf_counter() - begin < SECONDS:
        start = time.perf_counter()
        once()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    busy.stop(name)
    figure(name, sorted(times)[len(times) // 2] * 1e3, "ms")


class Training:
    def __init__(self, model, inputs, targets, loss):
        self.model, self.inputs, self.targets, self.loss = model.train(), inputs.pin_memory(), targets.pin_memory(), loss
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
        self.seen = []

    def step(self):
        inputs = self.inputs.to("cuda", non_blocking=True)
        targets = self.targets.to("cuda", non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = self.loss(self.model(inputs), targets)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if len(self.seen) < 4:
            self.seen.append(loss.detach())
        self.last = loss.detach()

    def check(self):
        first, last = float(self.seen[0]), float(self.last)
        if not last < first:
            sys.exit("learn: the loss went from %g to %g" % (first, last))


def images(name):
    model = resnet50().cuda().to(memory_format=torch.channels_last)
    batch = torch.randn(64, 3, 224, 224).to(memory_format=torch.channels_last)
    training = Training(model, batch, torch.randint(0, 1000, (64,)), F.cross_entropy)
    steps("%s, training" % name, training.step)
    training.check()
    model.eval()
    for count in (1, 64):
        some = batch[:count].contiguous(memory_format=torch.channels_last).pin_memory()

        def use(some=some):
            with torch.inference_mode(), torch.autocast("cuda", dtype=torch.bfloat16):
                return model(some.to("cuda", non_blocking=True)).float().cpu()

        if not torch.isfinite(use()).all():
            sys.exit("learn: the model's answer is no number")
        steps("%s, inference of %d" % (name, count), use)


def words_loss(answer, targets):
    return F.cross_entropy(answer[0].flatten(0, 1), targets.flatten())


def language(name, shape, batch, length):
    model = Language(shape).cuda()
    words = torch.randint(0, shape.words, (batch, length + 1))
    training = Training(model, words[:, :-1].contiguous(), words[:, 1:].contiguous(), words_loss)
    steps("%s, training" % name, training.step)
    training.check()
    del training
    model.eval().to(torch.bfloat16)

    @torch.inference_mode()
    def generate():
        answer, pasts = model(words[:1, :32].cuda())
        said = []
        for _ in range(16):
            word = answer[:, -1:].argmax(-1)
            said.append(int(word))  # as it is shown to who reads it
            answer, pasts = model(word, pasts)
        return said

    if generate() != generate():
        sys.exit("learn: the same model says different things")
    steps("%s, 16 words" % name, generate)


def main():
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    if what == "resnet50":
        images("ResNet-50")
    elif what == "gpt2":
        language("GPT-2", GPT2, 8, 512)
    elif what == "llama":
        language("Llama", LLAMA, 4, 512)
    else:
        sys.exit("usage: learn.py resnet50|gpt2|llama [SECONDS]")


main()
