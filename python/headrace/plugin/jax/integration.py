"""Single batches and tensors as jax.Arrays."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from headrace.tensors import TensorCPU, TensorListCPU


def _to_jax_array(tensor: TensorCPU | TensorListCPU, copy: bool = False) -> jax.Array:
    """A tensor, or a batch of equal shapes, as an array on JAX's default device.

    Args:
        tensor: stays valid as long as the array if it isn't copied; don't write to it then.
        copy: make a copy; else a CPU device uses the same memory.
    """
    array = tensor.as_array()
    if copy:
        array = np.array(array)
    return jax.make_array_from_callback(array.shape, SingleDeviceSharding(_default_device()), lambda _: array)


def _jax_device(tensor: Any) -> jax.Device:
    """The device where a tensor's memory is."""
    return jax.local_devices(backend="cpu")[0]


def _default_device() -> jax.Device:
    configured = getattr(jax.config, "jax_default_device", None)
    if isinstance(configured, str):
        return jax.local_devices(backend=configured)[0]
    return configured if configured is not None else jax.local_devices()[0]


def device_of_pipeline(device_id: int | None) -> jax.Device:
    """Where a pipeline's outputs go: local device ``device_id``, or the default device for None or a missing one."""
    devices = jax.local_devices()
    if device_id is None or not 0 <= device_id < len(devices):
        return _default_device()
    return devices[device_id]
