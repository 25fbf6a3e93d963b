"""Variants of global mixup. Arguments: process id, processes, devices of each, port, folder, comma-separated variants.

Writes for each variant `VARIANT.PROCESS.npz`: per batch and local shard its rows [first, stop) and data.
"""

import os
import sys
from functools import partial
from pathlib import Path

process, processes, devices, port = (int(arg) for arg in sys.argv[1:5])
out, variants = Path(sys.argv[5]), sys.argv[6].split(",")
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

if processes > 1:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"localhost:{port}", num_processes=processes, process_id=process)

from headrace import fn, types  # noqa: E402
from headrace.plugin.jax import data_iterator  # noqa: E402
from headrace.plugin.jax.fn import jax_function  # noqa: E402

try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map

BATCH = 16
IMAGES = Path(__file__).resolve().parents[3] / "examples" / "global_mixup" / "images"
FILES = [str(path) for kind in ("dogs", "kittens") for path in sorted((IMAGES / kind).glob("*.jpg"))]
ALL = np.array(jax.devices(), dtype=object)


def mesh_of(name):
    """The mesh and the axes that cut the rows."""
    if name in ("square", "per output"):
        return Mesh(ALL.reshape(2, -1), ("batch", "model")), P("batch")
    if name == "both axes":
        return Mesh(ALL.reshape(2, -1), ("a", "b")), P(("a", "b"))
    if name == "backwards":
        return Mesh(ALL[::-1], ("batch",)), P("batch")
    return Mesh(ALL, ("batch",)), P("batch")


def mixing(name, axes, count):
    if name == "mean":
        return lambda x: 0.5 * x + 0.5 * jax.lax.psum(x.astype(jnp.float32).sum(0), axes) / BATCH
    order = [*range(count)][::-1]
    return lambda x: 0.5 * x + 0.5 * jax.lax.ppermute(x, axes, list(zip(order, range(count), strict=True)))


def iterator_of(name):
    mesh, spec = mesh_of(name)
    sharding = NamedSharding(mesh, spec)
    axes = spec[0]
    names = axes if isinstance(axes, tuple) else (axes,)
    mix = mixing(name, axes, int(np.prod([mesh.shape[axis] for axis in names])))

    @jax_function(sharding=sharding)
    @jax.jit
    @partial(shard_map, mesh=mesh, in_specs=spec, out_specs=spec)
    def mixup(images):
        return jnp.clip(mix(images.astype(jnp.float32)), 0, 255).astype(jnp.uint8)

    @jax_function(sharding=sharding, num_outputs=2)
    @jax.jit
    def twice(images, other):
        return images, other.sum(axis=(1, 2, 3))

    cut_finer = {"images": sharding, "sums": NamedSharding(mesh, P(mesh.axis_names))}

    @data_iterator(output_map=["images", "sums"], sharding=cut_finer if name == "per output" else sharding)
    def read(shard_id, num_shards):
        share = BATCH // num_shards
        jpegs, _ = fn.readers.file(files=FILES[shard_id * share : (shard_id + 1) * share], name="image_reader")
        images = fn.crop(fn.decoders.image(jpegs, device="mixed"), crop=(128, 160))
        mixed = mixup(images)
        _, sums = twice(mixed, fn.cast(mixed, dtype=types.INT32))  # a function behind another
        return mixed, sums

    return read(batch_size=BATCH, num_threads=2)


for name in variants:
    iterator = iterator_of(name)
    batches = [next(iterator) for _ in range(3)]
    result = {}
    for k, batch in enumerate(batches):
        for key, array in batch.items():
            for i, shard in enumerate(array.addressable_shards):
                rows = shard.index[0].indices(array.shape[0])
                result[f"{k} {key} {i} {rows[0]} {rows[1]}"] = np.asarray(shard.data)
    np.savez(out / f"{name}.{process}.npz", **result)
    iterator.close()
