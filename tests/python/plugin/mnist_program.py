"""The MNIST programs of DALI's users: one device, and several with pmap. Arguments: one|many TRAIN_LMDB TEST_LMDB."""

import sys

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import jax_utils
from flax.training.train_state import TrainState

import headrace.types as types
from headrace import fn
from headrace.plugin.jax import data_iterator


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(784)(x))
        x = nn.relu(nn.Dense(1024)(x))
        x = nn.relu(nn.Dense(1024)(x))
        return nn.Dense(10)(x)


def new_state():
    model = Model()
    params = model.init(jax.random.key(0), jnp.ones((1, 784)))["params"]
    return TrainState.create(apply_fn=model.apply, params=params, tx=optax.sgd(0.1, 0.9))


def train_step(model_state, batch):
    def loss(params):
        logits = model_state.apply_fn({"params": params}, batch["images"])
        return optax.softmax_cross_entropy(logits, batch["labels"]).mean()

    return model_state.apply_gradients(grads=jax.grad(loss)(model_state.params))


def accuracy(model_state, iterator):
    correct = 0
    for batch in iterator:
        logits = model_state.apply_fn({"params": model_state.params}, batch["images"])
        correct += int((jnp.argmax(logits, -1) == batch["labels"].ravel()).sum())
    return correct / iterator.size


@data_iterator(output_map=["images", "labels"], reader_name="mnist_caffe2_reader")
def mnist(data_path, is_training):
    jpegs, labels = fn.readers.caffe2(path=data_path, random_shuffle=is_training, name="mnist_caffe2_reader")
    images = fn.decoders.image(jpegs, device="mixed", output_type=types.GRAY)
    images = fn.crop_mirror_normalize(images, dtype=types.FLOAT, std=[255.0])
    images = fn.reshape(images, shape=[-1])
    labels = labels.gpu()
    if is_training:
        labels = fn.one_hot(labels, num_classes=10)
    return images, labels


@data_iterator(output_map=["images", "labels"], reader_name="mnist_caffe2_reader", devices=jax.devices())
def mnist_sharded(data_path, is_training, num_shards, shard_id):
    jpegs, labels = fn.readers.caffe2(
        path=data_path,
        random_shuffle=is_training,
        name="mnist_caffe2_reader",
        num_shards=num_shards,
        shard_id=shard_id,
    )
    images = fn.decoders.image(jpegs, device="mixed", output_type=types.GRAY)
    images = fn.crop_mirror_normalize(images, dtype=types.FLOAT, std=[255.0], output_layout="CHW")
    images = fn.reshape(images, shape=[-1])
    labels = labels.gpu()
    if is_training:
        labels = fn.one_hot(labels, num_classes=10)
    return images, labels


def main(variant, train_path, test_path):
    validation = mnist(data_path=test_path, is_training=False, batch_size=50)
    state = new_state()
    if variant == "one":
        training = mnist(data_path=train_path, is_training=True, batch_size=50, seed=7)
        step = jax.jit(train_step)
    else:
        training = mnist_sharded(data_path=train_path, is_training=True, batch_size=200, seed=7)
        state = jax_utils.replicate(state)
        step = jax.pmap(train_step)
    print(training)
    print("len", len(training), len(validation), training.size, validation.size)
    for _ in range(2):
        for batch in training:
            state = step(state, batch)
        last = state if variant == "one" else jax_utils.unreplicate(state)
        print("accuracy", accuracy(last, validation))
    print("shape", *batch["images"].shape)


if __name__ == "__main__":
    main(*sys.argv[1:])
