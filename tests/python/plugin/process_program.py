"""One of two processes that form a mesh. Arguments: process id, port. Prints what this process holds, as JSON."""

import json
import os
import sys

process, port = int(sys.argv[1]), sys.argv[2]
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"localhost:{port}", num_processes=2, process_id=process)

from headrace import fn  # noqa: E402
from headrace.plugin.jax import data_iterator  # noqa: E402

BATCH = 8


def held(spec, calls):
    devices = np.array(jax.devices(), dtype=object).reshape(2, 2)

    @data_iterator(
        output_map=["x"], size=2 * BATCH, sharding=NamedSharding(Mesh(devices, ("x", "y")), PartitionSpec(*spec))
    )
    def rows(shard_id, num_shards):
        calls.append([shard_id, num_shards])
        count = BATCH // num_shards

        def source(k):
            return (100 * k + count * shard_id + np.arange(count, dtype=np.float32))[:, None].repeat(4, 1)

        return fn.external_source(source)

    batches = []
    for batch in rows(batch_size=BATCH, num_threads=1):
        array = batch["x"]
        shards = [
            [[[part.start, part.stop] for part in shard.index], np.asarray(shard.data).tolist()]
            for shard in array.addressable_shards
        ]
        batches.append([list(array.shape), shards, float(jax.jit(jax.numpy.sum)(array))])
    return batches


result = {}
for name, spec in {"rows": (("x", "y"),), "processes": ("x",), "across": ("y", "x"), "whole": ()}.items():
    calls = []
    result[name] = {"batches": held(spec, calls), "calls": calls}
print(json.dumps(result))
