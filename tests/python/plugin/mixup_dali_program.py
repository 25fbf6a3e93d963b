"""The program of global mixup as it is written for DALI. Arguments: process id, port, file for what this process gets.

Run it as `python -m headrace.compat.dali mixup_dali_program.py 0 12321 out.npy`, and the same with process id 1.
"""

import sys
from functools import partial
from pathlib import Path

import jax
import numpy as np
import nvidia.dali.fn as fn
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from nvidia.dali.plugin.jax import data_iterator
from nvidia.dali.plugin.jax.fn import jax_function

try:
    from jax.experimental.shard_map import shard_map
except ImportError:
    from jax import shard_map

process_id, port, out = int(sys.argv[1]), sys.argv[2], sys.argv[3]
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(coordinator_address=f"localhost:{port}", num_processes=2, process_id=process_id)

images = Path(__file__).resolve().parents[3] / "examples" / "global_mixup" / "images"
dogs = sorted(map(str, (images / "dogs").glob("*.jpg")))
kittens = sorted(map(str, (images / "kittens").glob("*.jpg")))

mesh = Mesh(jax.devices(), axis_names=("batch"))
sharding = NamedSharding(mesh, PartitionSpec("batch"))


@jax_function(sharding=sharding)
@jax.jit
@partial(shard_map, mesh=sharding.mesh, in_specs=PartitionSpec("batch"), out_specs=PartitionSpec("batch"))
@jax.vmap
def global_mixup(sample):
    mixed = 0.5 * sample + 0.5 * jax.lax.pshuffle(sample, "batch", [1, 0])
    return jax.numpy.clip(mixed, 0, 255).astype(jax.numpy.uint8)


@data_iterator(output_map=["images"], sharding=sharding)
def iterator_function(shard_id, num_shards):
    assert num_shards == 2
    jpegs, _ = fn.readers.file(files=dogs if shard_id == 0 else kittens, name="image_reader")
    images = fn.decoders.image(jpegs, device="mixed")
    images = fn.resize(images, size=(244, 244))
    return global_mixup(images)


iterator = iterator_function(batch_size=16, num_threads=4)
held = []
for _ in range(3):
    batch = next(iterator)["images"]
    assert batch.shape == (16, 244, 244, 3) and batch.dtype == np.uint8
    (shard,) = batch.addressable_shards
    held.append(np.asarray(shard.data))
np.save(out, np.stack(held))
