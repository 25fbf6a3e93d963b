"""headrace: data loading and augmentation in C++ with NVIDIA DALI's API.

from headrace import fn, pipeline_def, types


@pipeline_def(batch_size=32, num_threads=4)
def images(path):
    jpegs, labels = fn.readers.file(file_root=path, random_shuffle=True)
    return fn.decoders.image(jpegs, device="mixed"), labels
"""

from headrace import fn, math, ops, types
from headrace.build_info import __version__, info
from headrace.data_node import DataNode, newaxis
from headrace.group import PipelineGroup
from headrace.pipeline import Pipeline
from headrace.pipeline_function import pipeline_def
from headrace.plugin_manager import load_plugin
from headrace.tensors import Tensor, TensorCPU, TensorList, TensorListCPU

__all__ = [
    "DataNode",
    "Pipeline",
    "PipelineGroup",
    "Tensor",
    "TensorCPU",
    "TensorList",
    "TensorListCPU",
    "__version__",
    "fn",
    "info",
    "load_plugin",
    "math",
    "newaxis",
    "ops",
    "pipeline_def",
    "types",
]


def __dir__() -> list[str]:
    return __all__
