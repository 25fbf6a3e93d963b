"""Trains with collectives while the pipeline's functions use collectives too, with random delays in every stage.

Arguments: process id, devices of each process, port, steps, order. `order` is "equal", or "reversed" for a second
process whose graph has the two functions the other way round.
"""

import functools
import os
import random
import sys
import time

process, devices, port, steps = (int(arg) for arg in sys.argv[1:5])
is_reversed = sys.argv[5] == "reversed" and process == 1
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"localhost:{port}", num_processes=2, process_id=process)

from headrace import fn  # noqa: E402
from headrace.plugin.jax import data_iterator  # noqa: E402
from headrace.plugin.jax.fn import jax_function  # noqa: E402

BATCH = 8
mesh = Mesh(jax.devices(), "batch")
sharding = NamedSharding(mesh, P("batch"))
delays = random.Random(process)


def delay():
    time.sleep(delays.choice([0, 0, 0.001, 0.004]))


def delayed(x):
    return fn.python_function(x, function=lambda rows: (delay(), rows)[1], batch_processing=True)


@jax_function(sharding=sharding)
@jax.jit
def centred(x):
    return x - x.mean(0)


@jax_function(sharding=sharding)
@functools.partial(jax.jit, out_shardings=sharding)  # else JAX 0.6 leaves the rows where they are
def mirrored(x):
    return jnp.flip(x, 0) * 2


def rows(k, shard_id, num_shards):
    first = shard_id * BATCH // num_shards
    return np.arange(first, first + BATCH // num_shards, dtype=np.float32)[:, None].repeat(5, 1) + np.float32(k % 50)


@data_iterator(output_map=["x", "centred", "mirrored"], sharding=sharding)
def read(shard_id, num_shards):
    def source(k):
        delay()
        return rows(k, shard_id, num_shards)

    x = fn.external_source(source)
    calls = {centred: delayed(x), mirrored: delayed(x)}
    order = [mirrored, centred] if is_reversed else [centred, mirrored]
    outputs = {function: delayed(function(calls[function])) for function in order}
    return x, outputs[centred], outputs[mirrored]


@jax.jit
def train(weights, batch):
    error = (batch["centred"] @ weights - batch["mirrored"].mean(1)) / 100
    return weights - 1e-3 * (error @ batch["x"]) / BATCH, error.mean()


replicated = NamedSharding(mesh, P())
weights = jax.make_array_from_callback((5,), replicated, lambda index: np.ones(5, np.float32)[index])
print("begins", flush=True)
iterator = read(batch_size=BATCH, num_threads=2)
for k in range(steps):
    batch = next(iterator)
    delay()
    weights, error = train(weights, batch)
    if k % 3 == process:
        error.block_until_ready()
    whole = np.concatenate([rows(k, shard, len(jax.devices())) for shard in range(len(jax.devices()))])
    for name, expected in {"centred": whole - whole.mean(0), "mirrored": 2 * whole[::-1]}.items():
        for shard in batch[name].addressable_shards:
            np.testing.assert_allclose(np.asarray(shard.data), expected[shard.index], atol=1e-4)
print("trained", np.asarray(weights.addressable_shards[0].data).tolist())
