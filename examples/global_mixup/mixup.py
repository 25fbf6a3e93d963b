"""Two processes mix their images by a JAX function inside the pipeline: one reads dogs, the other one kittens.

usage: python examples/global_mixup/mixup.py [FOLDER FOLDER] [--out mixed.png]

Each folder needs at least eight JPEG files. The program starts itself twice; the first process saves the picture.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

IMAGES = Path(__file__).parent / "images"
BATCH = 16  # over both processes
SIZE = 244


def make_iterator(dogs: list[str], kittens: list[str]):
    """An iterator over global batches (16, 244, 244, 3), half of whose rows this process holds."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from headrace import fn
    from headrace.plugin.jax import data_iterator
    from headrace.plugin.jax.fn import jax_function

    try:
        from jax import shard_map
    except ImportError:  # before JAX 0.7
        from jax.experimental.shard_map import shard_map

    mesh = Mesh(jax.devices(), axis_names=("batch"))
    sharding = NamedSharding(mesh, PartitionSpec("batch"))

    @jax_function(sharding=sharding)
    @jax.jit
    @partial(shard_map, mesh=mesh, in_specs=PartitionSpec("batch"), out_specs=PartitionSpec("batch"))
    @jax.vmap
    def global_mixup(sample):
        mixed = 0.5 * sample + 0.5 * jax.lax.pshuffle(sample, "batch", [1, 0])
        return jax.numpy.clip(mixed, 0, 255).astype(jax.numpy.uint8)

    @data_iterator(output_map=["images"], sharding=sharding)
    def mixed_images(shard_id, num_shards):
        jpegs, _ = fn.readers.file(files=dogs if shard_id == 0 else kittens, name="image_reader")
        images = fn.decoders.image(jpegs, device="mixed")
        images = fn.resize(images, size=(SIZE, SIZE))
        return global_mixup(images)

    return mixed_images(batch_size=BATCH, num_threads=4)


def run(process: int, port: int, folders: list[Path], out: Path) -> None:
    """What each of the two processes does."""
    import jax

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(coordinator_address=f"localhost:{port}", num_processes=2, process_id=process)
    batch = next(make_iterator(*[first_files(folder) for folder in folders]))["images"]
    (shard,) = batch.addressable_shards
    print(f"process {process}: a global batch of {batch.shape}, of which this process holds {shard.data.shape}")
    if process == 0:
        save_picture(shard.data, out)
        print(f"wrote {out}")


def first_files(folder: Path) -> list[str]:
    """The first eight JPEG files of a folder."""
    files = sorted(str(path) for path in folder.iterdir() if path.suffix.lower() in (".jpg", ".jpeg"))
    if len(files) < BATCH // 2:
        raise SystemExit(f"{folder}: expected at least {BATCH // 2} JPEG files, found {len(files)}")
    return files[: BATCH // 2]


def save_picture(images, out: Path) -> None:
    """Saves the images as one PNG of two rows."""
    import numpy as np
    from PIL import Image

    rows = np.asarray(images).reshape(2, -1, SIZE, SIZE, 3)
    out.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.concatenate([np.concatenate(list(row), axis=1) for row in rows])).save(out)


def launch(folders: list[Path], out: Path) -> int:
    """Starts both processes; returns 0 if both succeed."""
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        port = listener.getsockname()[1]
    command = [sys.executable, __file__, *map(str, folders), "--out", str(out), "--port", str(port)]
    processes = [
        subprocess.Popen([*command, "--process", str(process)], env=environment_of(process)) for process in range(2)
    ]
    codes = [process.wait() for process in processes]
    return max(abs(code) for code in codes)


def environment_of(process: int) -> dict[str, str]:
    """With CUDA_VISIBLE_DEVICES=0,1 each process gets a GPU of its own."""
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    return {**os.environ, "CUDA_VISIBLE_DEVICES": gpus[process]} if len(gpus) > 1 else dict(os.environ)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, help="two folders of JPEG files")
    parser.add_argument("--out", type=Path, default=Path("demo_output/mixed.png"))
    parser.add_argument("--process", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    folders = arguments.folders or [IMAGES / "dogs", IMAGES / "kittens"]
    if len(folders) != 2:
        parser.error("give two folders, or none")
    if arguments.process is None:
        for folder in folders:
            first_files(folder)
        raise SystemExit(launch(folders, arguments.out))
    run(arguments.process, arguments.port, folders, arguments.out)


if __name__ == "__main__":
    main()
