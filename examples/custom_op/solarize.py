"""Builds the library beside this file, loads it and solarizes photos, each with a threshold of its own.

usage: python examples/custom_op/solarize.py [folder with a folder of images] [picture.png]
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

import headrace
from headrace import fn, pipeline_def, sysconfig

HERE = pathlib.Path(__file__).resolve().parent


def build(folder: str) -> pathlib.Path:
    """The library, built in ``folder``."""
    configure = ["cmake", "-S", str(HERE), "-B", folder, f"-Dheadrace_DIR={sysconfig.get_cmake_dir()}"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder], check=True, stdout=subprocess.DEVNULL)
    return pathlib.Path(folder) / "libsolarize.so"


@pipeline_def(batch_size=8, num_threads=2, seed=1)
def solarized(images):
    jpegs, _ = fn.readers.file(file_root=images)
    pixels = fn.resize(fn.decoders.image(jpegs), size=(128, 128))
    return fn.solarize(pixels, threshold=fn.random.uniform(range=[64, 192]))


def main() -> None:
    images = sys.argv[1] if len(sys.argv) > 1 else str(HERE.parent / "global_mixup" / "images")
    picture = sys.argv[2] if len(sys.argv) > 2 else "solarized.png"
    with tempfile.TemporaryDirectory() as folder:
        headrace.load_plugin(build(folder))
    (batch,) = solarized(images).run()
    Image.fromarray(np.concatenate(list(batch.as_array()), axis=1)).save(picture)
    print(f"{len(batch)} photos in {picture}")


if __name__ == "__main__":
    main()
