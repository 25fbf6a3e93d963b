"""Resampling by its definition: a plain loop over the elements of one axis, as an oracle for the resize tests."""

import math

import numpy as np

from headrace import fn, pipeline_def

RADIUS = {"LINEAR": 1, "TRIANGULAR": 1, "CUBIC": 2, "LANCZOS3": 3, "GAUSSIAN": 1}


def curve(name: str, u: float) -> float:
    u = abs(u)
    if u >= RADIUS[name] - 1e-9:
        return 0.0
    match name:
        case "CUBIC":
            return 1.5 * u**3 - 2.5 * u**2 + 1 if u < 1 else -0.5 * u**3 + 2.5 * u**2 - 4 * u + 2
        case "LANCZOS3":
            return float(np.sinc(u) * np.sinc(u / 3))
        case "GAUSSIAN":
            return math.exp(-4 * u * u)
    return 1 - u


def resample_axis(x, axis, n, low, high, name, antialias=True):
    """`n` elements along an axis, out of the region from `low` to `high`; border elements repeat beyond the ends."""
    x = np.moveaxis(np.asarray(x, np.float64), axis, 0)
    step = (high - low) / n
    stretch = max(1.0, abs(step)) if antialias else 1.0
    out = np.zeros((n, *x.shape[1:]))
    for i in range(n):
        if name == "NN":
            out[i] = x[min(max(math.floor(low + (i + 0.5) * step), 0), len(x) - 1)]
            continue
        centre = low + (i + 0.5) * step - 0.5
        reach = math.ceil(3 * stretch) + 1
        weights = {
            k: curve(name, (k - centre) / stretch) for k in range(math.floor(centre) - reach, math.ceil(centre) + reach)
        }
        for k, weight in weights.items():
            out[i] += weight / sum(weights.values()) * x[min(max(k, 0), len(x) - 1)]
    return np.moveaxis(out, 0, axis)


def run(graph, *samples, layout="HWC"):
    """The samples of all outputs of `graph(node)`, a list for each output."""

    @pipeline_def(batch_size=len(samples), num_threads=1, device_id=None, seed=77)
    def pipe():
        out = graph(fn.external_source([list(samples)], cycle=True, layout=layout))
        return tuple(out) if isinstance(out, list | tuple) else out

    return [[np.array(sample) for sample in out] for out in pipe().run()]
