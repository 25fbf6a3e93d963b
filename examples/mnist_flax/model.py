"""The model that the MNIST programs train: four dense layers in Flax, with the steps that the loops call."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state

LEARNING_RATE = 0.1
MOMENTUM = 0.9


class Classifier(nn.Module):
    """(B, 784) pixels in [0, 1] -> (B, 10) logits."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for width in (784, 1024, 1024):
            x = nn.relu(nn.Dense(width)(x))
        return nn.Dense(10)(x)


def init_model(seed: int = 0) -> train_state.TrainState:
    """A fresh model with its optimizer."""
    model = Classifier()
    params = model.init(jax.random.key(seed), jnp.ones((1, 784)))["params"]
    optimizer = optax.sgd(LEARNING_RATE, MOMENTUM)
    return train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optimizer)


def _loss(params: dict, model_state: train_state.TrainState, batch: dict[str, jax.Array]) -> jax.Array:
    logits = model_state.apply_fn({"params": params}, batch["images"])
    return optax.softmax_cross_entropy(logits, batch["labels"]).mean()


@jax.jit
def train_step(model_state: train_state.TrainState, batch: dict[str, jax.Array]) -> train_state.TrainState:
    """One step on one device. `batch`: images (B, 784), labels (B, 10), both float32."""
    gradients = jax.grad(_loss)(model_state.params, model_state, batch)
    return model_state.apply_gradients(grads=gradients)


def _parallel_step(model_state: train_state.TrainState, batch: dict[str, jax.Array]) -> train_state.TrainState:
    gradients = jax.grad(_loss)(model_state.params, model_state, batch)
    return model_state.apply_gradients(grads=jax.lax.pmean(gradients, "devices"))


# The same on all local devices: images (D, B / D, 784), labels (D, B / D, 10), the state replicated.
parallel_train_step = jax.pmap(_parallel_step, axis_name="devices")


def predict(model_state: train_state.TrainState, images: jax.Array) -> jax.Array:
    """The likeliest digit of each image."""
    return jnp.argmax(model_state.apply_fn({"params": model_state.params}, images), axis=-1)


def accuracy(model_state: train_state.TrainState, batches) -> float:
    """Share of right predictions over one epoch of batches with images (B, 784) and labels (B, 1)."""
    right = total = 0
    for batch in batches:
        right += int((predict(model_state, batch["images"]) == batch["labels"].ravel()).sum())
        total += len(batch["labels"])
    return right / total
