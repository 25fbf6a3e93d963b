"""One measurement of torchvision (decode_jpeg and transforms.v2), printed as JSON. benchmarks/run.py calls it.

python measure_torchvision.py ROW FOLDER THREADS SECONDS

The rows are those of measure.py that begin with "photos", as torchvision's users write them. One thread works in the
process itself, several are worker processes of DataLoader, each with one thread.
"""

import json
import pathlib
import resource
import sys
import time

import torch
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms import v2

BATCH = 64
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
NORMALISE = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
TRANSFORMS = {
    "photos_train": [v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), *NORMALISE],
    "photos_eval": [v2.Resize(256, antialias=True), v2.CenterCrop(224), *NORMALISE],
    "photos_decode": [],
}
TRANSFORMS["photos_memory"] = TRANSFORMS["photos_train"]


class Photos(torch.utils.data.Dataset):
    """The JPEG files of a folder, decoded and transformed."""

    def __init__(self, folder, transforms):
        paths = sorted(pathlib.Path(folder).rglob("*"))
        self.files = [str(path) for path in paths if path.suffix.lower() in (".jpg", ".jpeg")]
        self.transform = v2.Compose(transforms) if transforms else lambda image: image

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return self.transform(decode_jpeg(read_file(self.files[i]), ImageReadMode.RGB))


def _loader(row, folder, threads):
    return torch.utils.data.DataLoader(
        Photos(folder, TRANSFORMS[row]),
        batch_size=BATCH,
        shuffle=True,
        num_workers=0 if threads == 1 else threads,
        persistent_workers=threads > 1,
        collate_fn=list if row == "photos_decode" else None,
    )


def _batches(loader):
    while True:
        yield from loader


def rate(row, folder, threads, seconds):
    """Images per second."""
    batches = _batches(_loader(row, folder, threads))
    for _ in range(2):
        next(batches)
    done, begin = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begin) < seconds:
        done += len(next(batches))
    return done / elapsed


def memory(row, folder, threads):
    """MB of resident memory at the peak, after 2,000 images."""
    batches, done = _batches(_loader(row, folder, threads)), 0
    while done < 2000:
        done += len(next(batches))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    torch.set_num_threads(1)
    name, folder, threads, seconds = sys.argv[1:]
    if name == "photos_memory":
        result = memory(name, folder, int(threads))
    else:
        result = rate(name, folder, int(threads), float(seconds))
    print(json.dumps(result))
