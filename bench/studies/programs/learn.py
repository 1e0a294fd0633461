# SPDX-License-Identifier: BSD-3-Clause
"""Trains and uses one of the models of standard_models.py, as programs do, and prints a JSON line per figure:

    learn.py resnet50|gpt2|llama     (each figure takes STUDY_SECONDS, 2 unless set)

A step has its batch copied from page-locked memory, the model forwards and backwards in bfloat16, and the optimizer. How
busy the GPU is says the driver's management library of this machine while the steps run. The loss must fall."""
import json
import os
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from standard_models import GPT2, LLAMA, Language, resnet50  # noqa: E402

SECONDS = float(os.environ.get("STUDY_SECONDS", "2"))


def figure(name, value, unit):
    print(json.dumps({"figure": name, "x": None, "value": value, "unit": unit}), flush=True)


# Asks the machine's own management library, five times a second: the box's says what it knew some time ago.
ASK = """
import os, time, pynvml
pynvml.nvmlInit()
device = pynvml.nvmlDeviceGetHandleByIndex(int(os.environ.get("STUDY_GPU", "0")))
time.sleep(0.5)  # the driver's own window
while True:
    time.sleep(0.2)
    print(pynvml.nvmlDeviceGetUtilizationRates(device).gpu, flush=True)
"""


def of_the_machine():
    """The environment without a library that stands in for the driver's."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RGPU_")}
    clean["LD_LIBRARY_PATH"] = ":".join(part for part in clean.get("LD_LIBRARY_PATH", "").split(":")
                                        if part and not os.path.exists(os.path.join(part, "libcuda.so.1")))
    return clean


class Busy:
    """How busy the GPU is until stop(): the mean, or nothing where nobody answers."""

    def __init__(self):
        self.asked = subprocess.Popen([sys.executable, "-c", ASK], env=of_the_machine(), stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True)

    def stop(self, name):
        self.asked.kill()
        samples = [int(line) for line in self.asked.communicate()[0].split()]
        if samples:
            figure("%s, GPU busy" % name, sum(samples) / len(samples), "%busy")


def steps(name, once):
    """Prints the median time of ONCE, each waited for, and how busy the GPU was."""
    for _ in range(4):
        once()
    torch.cuda.synchronize()
    busy, times, begin = Busy(), [], time.perf_counter()
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
        sys.exit("usage: learn.py resnet50|gpt2|llama")


main()
