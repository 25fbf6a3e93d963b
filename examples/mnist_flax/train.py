"""Trains the MNIST model from a Caffe2 LMDB, on one device or on all local ones.

    python train.py LMDB_FOLDER [--devices all]

LMDB_FOLDER has `training` and `testing` in it, as `headrace convert mnist` writes them.
"""

import argparse
import os

import jax
import model
from flax import jax_utils

from headrace import fn, types
from headrace.plugin.jax import data_iterator


def _images_and_labels(data_path, is_training, **reader_arguments):
    jpegs, labels = fn.readers.caffe2(
        path=data_path, random_shuffle=is_training, name="mnist_caffe2_reader", **reader_arguments
    )
    images = fn.decoders.image(jpegs, device="mixed", output_type=types.GRAY)
    images = fn.crop_mirror_normalize(images, dtype=types.FLOAT, std=[255.0], output_layout="CHW")
    images = fn.reshape(images, shape=[-1])
    labels = labels.gpu()
    if is_training:
        labels = fn.one_hot(labels, num_classes=10)
    return images, labels


@data_iterator(output_map=["images", "labels"], reader_name="mnist_caffe2_reader")
def mnist_iterator(data_path, is_training):
    """Batches of images (B, 784) and labels: one-hot (B, 10) for training, (B, 1) otherwise."""
    return _images_and_labels(data_path, is_training)


@data_iterator(output_map=["images", "labels"], reader_name="mnist_caffe2_reader", devices=jax.devices())
def mnist_sharded_iterator(data_path, is_training, num_shards, shard_id):
    """The same over all local devices: images (D, B / D, 784)."""
    return _images_and_labels(data_path, is_training, num_shards=num_shards, shard_id=shard_id)


def train_on_one_device(folder: str, epochs: int, watch=iter):
    """Yields (model state, validation accuracy) after each epoch. `watch` wraps the training iterator, for progress."""
    training = mnist_iterator(data_path=os.path.join(folder, "training"), is_training=True, batch_size=50)
    validation = mnist_iterator(data_path=os.path.join(folder, "testing"), is_training=False, batch_size=50)
    state = model.init_model()
    for _ in range(epochs):
        for batch in watch(training):
            state = model.train_step(state, batch)
        yield state, model.accuracy(state, validation)


def train_on_all_devices(folder: str, epochs: int, watch=iter):
    """The same with every batch spread over all local devices."""
    training = mnist_sharded_iterator(data_path=os.path.join(folder, "training"), is_training=True, batch_size=200)
    validation = mnist_iterator(data_path=os.path.join(folder, "testing"), is_training=False, batch_size=50)
    state = jax_utils.replicate(model.init_model())
    for _ in range(epochs):
        for batch in watch(training):
            state = model.parallel_train_step(state, batch)
        single = jax_utils.unreplicate(state)
        yield single, model.accuracy(single, validation)


def main() -> None:
    """Prints the accuracy after each epoch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--devices", choices=("one", "all"), default="one")
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    train = train_on_one_device if options.devices == "one" else train_on_all_devices
    for epoch, (_, accuracy) in enumerate(train(options.folder, options.epochs)):
        print(f"Epoch {epoch}: accuracy {accuracy:.4f}", flush=True)


if __name__ == "__main__":
    main()
