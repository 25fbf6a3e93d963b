"""`make demo`: writes MNIST as a Caffe2 LMDB, trains the model, prints its accuracy and saves a picture.

MNIST_DIR=FOLDER (the four IDX .gz files) uses the whole set instead of the bundled part.
"""

import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import jax
import matplotlib.pyplot as plt
import model
import numpy as np
import train

from headrace.cli.convert import mnist_records, write_caffe2_lmdb
from headrace.cli.progress import Progress

EPOCHS = 5
OUTPUT = Path("demo_output")


def write_databases(source: Path) -> Path:
    """Writes `training` and `testing` unless they are there; returns their folder."""
    folder = OUTPUT / f"lmdb_{source.resolve().name}"
    for part in ("training", "testing"):
        if not (folder / part).exists():
            total, records = mnist_records(source, part, "jpeg", None)
            write_caffe2_lmdb(folder / part, total, records)
            print(f"wrote {folder / part}: {total} records")
    return folder


def with_progress(batches):
    """Yields the batches of one epoch and shows batches/s and the time left."""
    with Progress(len(batches), "batches", "training") as progress:
        for batch in batches:
            yield batch
            progress.advance()


def save_picture(state, folder: Path, accuracies: list[float], path: Path) -> None:
    """A grid of samples with labels and predictions, and the accuracy by epoch."""
    validation = train.mnist_iterator(data_path=str(folder / "testing"), is_training=False, batch_size=50)
    batch = next(iter(validation))
    images, labels = np.asarray(batch["images"]), np.asarray(batch["labels"]).ravel()
    predicted = np.asarray(model.predict(state, batch["images"]))
    figure = plt.figure(figsize=(12, 5), layout="constrained")
    grid, curve = figure.subfigures(1, 2, width_ratios=(3, 2))
    for axes, image, label, digit in zip(grid.subplots(5, 10).flat, images, labels, predicted, strict=True):
        axes.imshow(image.reshape(28, 28), cmap="gray_r")
        axes.set_title(f"{label} → {digit}", fontsize=8, color="black" if label == digit else "red")
        axes.axis("off")
    grid.suptitle("label → prediction")
    axes = curve.subplots()
    axes.plot(range(1, len(accuracies) + 1), accuracies, marker="o")
    axes.set(xlabel="epoch", ylabel="accuracy on the test images", xticks=range(1, len(accuracies) + 1))
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Runs the demo."""
    source = Path(os.environ.get("MNIST_DIR") or Path(__file__).parent / "data")
    print(f"MNIST from {source}, training on {jax.devices()[0].device_kind}")
    folder = write_databases(source)
    accuracies: list[float] = []
    trained = None
    for state, accuracy in train.train_on_one_device(str(folder), EPOCHS, watch=with_progress):
        trained = state
        accuracies.append(accuracy)
        print(f"Epoch {len(accuracies) - 1}: accuracy {accuracy:.4f}", flush=True)
    picture = OUTPUT / "mnist.png"
    save_picture(trained, folder, accuracies, picture)
    print(f"saved {picture}")


if __name__ == "__main__":
    main()
