"""`headrace bench`: how fast this machine reads and decodes an LMDB."""

import argparse
import time

import headrace
from headrace import fn, pipeline_def, types


@pipeline_def
def _decode(path: str, gray: bool) -> tuple:
    images, labels = fn.readers.caffe2(path=path, random_shuffle=True, name="reader")
    decoded = fn.decoders.image(images, output_type=types.GRAY if gray else types.RGB)
    return decoded, labels


def run(options: argparse.Namespace) -> int:
    """Runs the command: one untimed epoch at most, then batches for the given time."""
    pipe = _decode(
        path=options.lmdb,
        gray=options.gray,
        batch_size=options.batch_size,
        num_threads=options.threads,
        device_id=None,
    )
    pipe.build()
    for _ in range(8):
        pipe.run()
    begin, samples = time.perf_counter(), 0
    while time.perf_counter() - begin < options.seconds:
        samples += len(pipe.run()[0])
    seconds = time.perf_counter() - begin
    threads = pipe.num_threads
    print(f"headrace {headrace.__version__}: {samples / seconds:,.0f} samples/s with {threads} threads")
    print(pipe.statistics()["bottleneck"])
    return 0


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser("bench", help="measure reading and decoding of a Caffe2 LMDB")
    parser.add_argument("lmdb", help="the database")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=None, help="worker threads (default: the machine's cores)")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--gray", action="store_true", help="decode to one channel")
    parser.set_defaults(run=run)
