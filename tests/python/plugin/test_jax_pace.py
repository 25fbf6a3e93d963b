"""Programs with collectives on several CPU devices: the iterator keeps them from running too far ahead."""

import os
import subprocess
import sys
import textwrap
import time

PROGRAM = """
    import functools, time
    import jax, jax.numpy as jnp, numpy as np
    from headrace import fn
    from headrace.plugin.jax import data_iterator

    assert jax.local_device_count() == 4

    @data_iterator(output_map=["x"], devices=jax.devices(), size=1_000_000)
    def batches(shard_id, num_shards):
        return fn.random.uniform(shape=[64, 256])

    @functools.partial(jax.pmap, axis_name="d")
    def step(weights, batch):
        for _ in range(3):
            value = jnp.tanh(batch["x"].reshape(-1, 256) @ weights)
            weights = weights + 1e-3 * jax.lax.pmean(value.T @ value, "d") / value.shape[0]
        return weights

    weights = jnp.zeros((4, 256, 256)) + jnp.eye(256)
    iterator = batches(batch_size=8)
    {loop}
    print("done", float(weights.sum()))
"""


def run(loop: str, timeout: float = 120) -> tuple[str, float]:
    environment = os.environ | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "JAX_PLATFORMS": "cpu",
    }
    program = textwrap.dedent(PROGRAM).format(loop=loop)
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=timeout, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip(), time.monotonic() - begin


def test_a_loop_that_never_waits_gets_through():
    out, _ = run("for _ in range(150): weights = step(weights, next(iterator))")
    assert out.startswith("done")


def test_batches_that_the_program_keeps_are_not_waited_for():
    loop = "kept = [next(iterator) for _ in range(40)]; begin = time.monotonic(); "
    loop += "kept += [next(iterator) for _ in range(40)]; assert time.monotonic() - begin < 5; "
    loop += "weights = step(weights, kept[-1])"
    out, _ = run(loop)
    assert out.startswith("done")
