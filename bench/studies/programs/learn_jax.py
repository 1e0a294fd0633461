# SPDX-License-Identifier: BSD-3-Clause
"""A training step of a network with JAX, compiled as a whole, and one that is dispatched call by call; a JSON line per
figure. The loss must fall."""
import json
import os
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402


def figure(name, seconds):
    print(json.dumps({"figure": name, "value": seconds * 1e3, "unit": "ms"}), flush=True)


def network(weights, x):
    for w in weights[:-1]:
        x = jax.nn.gelu(x @ w)
    return x @ weights[-1]


def loss(weights, x, y):
    return jnp.mean((network(weights, x) - y) ** 2)


def step(weights, x, y):
    value, slopes = jax.value_and_grad(loss)(weights, x, y)
    return value, [w - 10.0 * s for w, s in zip(weights, slopes)]


def median(once, seconds=1.0):
    times, begin = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        once()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def main():
    if jax.devices()[0].platform != "gpu":
        sys.exit("learn_jax: JAX finds no GPU")
    keys = jax.random.split(jax.random.key(1), 10)
    weights = [jax.random.normal(k, (1024, 1024)) * 0.03 for k in keys[:8]]
    x, y = jax.random.normal(keys[8], (512, 1024)), jax.random.normal(keys[9], (512, 1024)) * 0.1
    compiled = jax.jit(step)
    start = time.perf_counter()
    first, weights = compiled(weights, x, y)
    first.block_until_ready()
    figure("JAX, first step with compilation", time.perf_counter() - start)
    state = [weights, first]

    def once():
        state[1], state[0] = compiled(state[0], x, y)
        state[1].block_until_ready()

    once()
    figure("JAX, compiled step", median(once))
    if not float(state[1]) < float(first):
        sys.exit("learn_jax: the loss went from %g to %g" % (float(first), float(state[1])))
    network(weights, x).block_until_ready()
    figure("JAX, network call by call", median(lambda: network(weights, x).block_until_ready()))


main()
