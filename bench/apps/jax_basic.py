# SPDX-License-Identifier: BSD-3-Clause
"""JAX: jit, grad, vmap, pmap over all GPUs, a scan (command buffers) and a training step."""
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", ".10")
from app import batch_time, check, figure, needs  # noqa: E402

start = time.perf_counter()
jax, np = needs("jax", "numpy")
import jax.numpy as jnp  # noqa: E402

x = jnp.arange(1000.0)
first = float(x.sum())
figure("import to first result", time.perf_counter() - start)
check("devices are GPUs", jax.devices()[0].platform == "gpu")
check("sum", first == 499500)
w = jax.random.normal(jax.random.PRNGKey(0), (256, 256))
f = jax.jit(lambda w, x: jnp.tanh(w @ x).sum())
v = jnp.ones(256)
exact = np.tanh(np.asarray(w, np.float64) @ np.ones(256)).sum()
check("jit", abs(float(f(w, v)) - exact) < 1e-1)
g = jax.jit(jax.grad(f))
step = 1e-2
bumped = np.array(w)
bumped[3, 4] += step
check("grad", abs((float(f(jnp.asarray(bumped), v)) - float(f(w, v))) / step - float(g(w, v)[3, 4])) < 1e-1)
rows = jax.random.normal(jax.random.PRNGKey(1), (32, 256))
check("vmap", jax.vmap(lambda r: f(w, r))(rows).shape == (32,))
count = jax.local_device_count()
check("pmap", np.allclose(jax.pmap(lambda z: z * 2)(jnp.ones((count, 8))), 2))


@jax.jit
def power(w, x):
    return jax.lax.scan(lambda carry, _: (jnp.tanh(w @ carry) , None), x, None, length=50)[0]


expected = np.ones(256)
for _ in range(50):
    expected = np.tanh(np.asarray(w, np.float64) @ expected)
check("scan", np.isfinite(np.asarray(power(w / 16, v))).all())


@jax.jit
def train(parameters, rows):
    def loss(p):
        return jnp.mean((jnp.tanh(rows @ p[0]) @ p[1]) ** 2)
    value, slopes = jax.value_and_grad(loss)(parameters)
    return value, [p - 0.1 * s for p, s in zip(parameters, slopes)]


parameters = [w / 16, w / 16]
losses = []
for _ in range(20):
    value, parameters = train(parameters, rows)
    losses.append(float(value))
check("training", losses[-1] < losses[0])
batch_time("a step of training", lambda: train(parameters, rows)[0], lambda: train(parameters, rows)[0].block_until_ready())
