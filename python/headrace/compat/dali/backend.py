"""What DALI programs find in `nvidia.dali.backend` and `nvidia.dali.backend_impl`."""

from headrace import types
from headrace.tensors import TensorCPU, TensorListCPU
from headrace.types import TensorLayout

__all__ = ["GetCUDADeviceCount", "GetCudaVersion", "TensorCPU", "TensorLayout", "TensorListCPU", "types"]


def GetCUDADeviceCount() -> int:
    """Number of CUDA devices that headrace uses: none, this build has no CUDA."""
    return 0


def GetCudaVersion() -> int:
    """Version of the CUDA run time that headrace was built with: -1, there is none."""
    return -1
