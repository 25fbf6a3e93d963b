"""Element types, image types, interpolations, constants: names and values are those of DALI's ``types``."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from headrace.data_node import DataNode


class _NamedNumber(enum.IntEnum):
    """An enumeration that prints its name, also in f-strings."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __format__(self, format_spec: str) -> str:
        return format(str(self), format_spec)


class DALIDataType(_NamedNumber):
    """Element types of tensors (UINT8 ... BFLOAT16), and types of arguments."""

    NO_TYPE = -1
    UINT8 = 0
    UINT16 = 1
    UINT32 = 2
    UINT64 = 3
    INT8 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    FLOAT16 = 8
    FLOAT = 9
    FLOAT64 = 10
    BOOL = 11
    STRING = 12
    _BOOL_VEC = 13
    _INT32_VEC = 14
    _STRING_VEC = 15
    _FLOAT_VEC = 16
    FEATURE = 17
    _FEATURE_VEC = 18
    _FEATURE_DICT = 19
    IMAGE_TYPE = 20
    DATA_TYPE = 21
    INTERP_TYPE = 22
    TENSOR_LAYOUT = 23
    PYTHON_OBJECT = 24
    _TENSOR_LAYOUT_VEC = 25
    _DATA_TYPE_VEC = 26
    _INT64_VEC = 27
    BFLOAT16 = 28


class DALIImageType(_NamedNumber):
    """Colour spaces that images are decoded to."""

    RGB = 0
    BGR = 1
    GRAY = 2
    YCbCr = 3
    ANY_DATA = 4


class DALIInterpType(_NamedNumber):
    """Interpolations of the resizing operators."""

    INTERP_NN = 0
    INTERP_LINEAR = 1
    INTERP_CUBIC = 2
    INTERP_LANCZOS3 = 3
    INTERP_TRIANGULAR = 4
    INTERP_GAUSSIAN = 5


class PipelineAPIType(_NamedNumber):
    """Which of its interfaces a pipeline is run by; they cannot be mixed."""

    BASIC = 0
    ITERATOR = 1
    SCHEDULED = 2


NO_TYPE = DALIDataType.NO_TYPE
UINT8 = DALIDataType.UINT8
UINT16 = DALIDataType.UINT16
UINT32 = DALIDataType.UINT32
UINT64 = DALIDataType.UINT64
INT8 = DALIDataType.INT8
INT16 = DALIDataType.INT16
INT32 = DALIDataType.INT32
INT64 = DALIDataType.INT64
FLOAT16 = DALIDataType.FLOAT16
FLOAT = DALIDataType.FLOAT
FLOAT64 = DALIDataType.FLOAT64
BOOL = DALIDataType.BOOL
BFLOAT16 = DALIDataType.BFLOAT16
STRING = DALIDataType.STRING
FEATURE = DALIDataType.FEATURE
IMAGE_TYPE = DALIDataType.IMAGE_TYPE
DATA_TYPE = DALIDataType.DATA_TYPE
INTERP_TYPE = DALIDataType.INTERP_TYPE
TENSOR_LAYOUT = DALIDataType.TENSOR_LAYOUT
PYTHON_OBJECT = DALIDataType.PYTHON_OBJECT
RGB = DALIImageType.RGB
BGR = DALIImageType.BGR
GRAY = DALIImageType.GRAY
YCbCr = DALIImageType.YCbCr
ANY_DATA = DALIImageType.ANY_DATA
INTERP_NN = DALIInterpType.INTERP_NN
INTERP_LINEAR = DALIInterpType.INTERP_LINEAR
INTERP_CUBIC = DALIInterpType.INTERP_CUBIC
INTERP_LANCZOS3 = DALIInterpType.INTERP_LANCZOS3
INTERP_TRIANGULAR = DALIInterpType.INTERP_TRIANGULAR
INTERP_GAUSSIAN = DALIInterpType.INTERP_GAUSSIAN
NHWC = "HWC"
NCHW = "CHW"
NFHWC = "FHWC"
NFCHW = "FCHW"
SAME = ""
CPU_ONLY_DEVICE_ID = -99999

_NUMPY_TYPES: dict[DALIDataType, type[np.generic]] = {
    UINT8: np.uint8,
    UINT16: np.uint16,
    UINT32: np.uint32,
    UINT64: np.uint64,
    INT8: np.int8,
    INT16: np.int16,
    INT32: np.int32,
    INT64: np.int64,
    FLOAT16: np.float16,
    FLOAT: np.float32,
    FLOAT64: np.float64,
    BOOL: np.bool_,
}
_DALI_TYPES = {np.dtype(numpy_type): dali_type for dali_type, numpy_type in _NUMPY_TYPES.items()}


def to_numpy_type(dali_type: DALIDataType) -> Any:
    """The numpy type of an element type. BFLOAT16 needs the package ``ml_dtypes``; TypeError for what has none."""
    try:
        return _NUMPY_TYPES[DALIDataType(dali_type)]
    except KeyError:
        pass
    if dali_type == BFLOAT16:
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError("numpy has no bfloat16; install ml_dtypes") from None
        return ml_dtypes.bfloat16
    raise TypeError(f"{DALIDataType(dali_type)} has no numpy type")


def to_dali_type(framework_type: Any) -> DALIDataType:
    """The element type for a numpy type or dtype, a torch dtype, or a Python ``bool``, ``int``, ``float``.

    Raises TypeError for types that no tensor can have.
    """
    if isinstance(framework_type, DALIDataType):
        return framework_type
    name = str(framework_type)
    if name.startswith("torch."):
        framework_type = name.removeprefix("torch.").replace("half", "float16")
    if "bfloat16" in name:
        return BFLOAT16
    if framework_type is int:
        return INT32
    if framework_type is float:
        return FLOAT
    try:
        return _DALI_TYPES[np.dtype(framework_type)]
    except (KeyError, TypeError):
        raise TypeError(f"{framework_type!r} is no element type of a tensor") from None


class TensorLayout:
    """The meaning of a tensor's axes, a letter each, outermost first: ``TensorLayout("HWC")``."""

    __slots__ = ("_letters",)

    def __init__(self, letters: str = "") -> None:
        self._letters = str(letters)

    def __str__(self) -> str:
        return self._letters

    def __repr__(self) -> str:
        return f'TensorLayout("{self._letters}")'

    def __len__(self) -> int:
        return len(self._letters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorLayout | str) and self._letters == str(other)

    def __hash__(self) -> int:
        return hash(self._letters)


class SampleInfo:
    """What a per-sample source is told about the sample it has to make.

    Attributes:
        idx_in_epoch: number of the sample in this epoch, from 0.
        idx_in_batch: its row.
        iteration: number of the batch in this epoch, from 0.
        epoch_idx: number of the epoch, from 0.
    """

    __slots__ = ("idx_in_epoch", "idx_in_batch", "iteration", "epoch_idx")

    def __init__(self, idx_in_epoch: int, idx_in_batch: int, iteration: int, epoch_idx: int) -> None:
        self.idx_in_epoch = idx_in_epoch
        self.idx_in_batch = idx_in_batch
        self.iteration = iteration
        self.epoch_idx = epoch_idx

    def __repr__(self) -> str:
        return (
            f"SampleInfo(idx_in_epoch={self.idx_in_epoch}, idx_in_batch={self.idx_in_batch}, "
            f"iteration={self.iteration}, epoch_idx={self.epoch_idx})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SampleInfo) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash((self.idx_in_epoch, self.idx_in_batch, self.iteration, self.epoch_idx))


class BatchInfo:
    """What a source with ``batch_info=True`` is told: ``iteration`` in the epoch and ``epoch_idx``, both from 0."""

    __slots__ = ("iteration", "epoch_idx")

    def __init__(self, iteration: int, epoch_idx: int) -> None:
        self.iteration = iteration
        self.epoch_idx = epoch_idx

    def __repr__(self) -> str:
        return f"BatchInfo(iteration={self.iteration}, epoch_idx={self.epoch_idx})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BatchInfo) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash((self.iteration, self.epoch_idx))


class ScalarConstant:
    """A number of a chosen element type, for arithmetic with nodes: ``images * types.Constant(2).uint8()``."""

    def __init__(self, value: bool | int | float, dtype: DALIDataType | None = None) -> None:
        if isinstance(value, np.generic) and dtype is None:
            dtype = to_dali_type(value.dtype)
        if isinstance(value, np.generic):
            value = value.item()
        if not isinstance(value, bool | int | float):
            raise TypeError(
                f"Expected scalar value of type 'bool', 'int' or 'float', got {type(value)}.",
            )
        if dtype is None:
            dtype = to_dali_type(type(value))
        self.dtype = DALIDataType(dtype)
        self.value = _scalar_of(value, self.dtype)

    def _as(self, dtype: DALIDataType) -> ScalarConstant:
        return ScalarConstant(self.value, dtype)

    def bool(self) -> ScalarConstant:
        return self._as(BOOL)

    def int8(self) -> ScalarConstant:
        return self._as(INT8)

    def int16(self) -> ScalarConstant:
        return self._as(INT16)

    def int32(self) -> ScalarConstant:
        return self._as(INT32)

    def int64(self) -> ScalarConstant:
        return self._as(INT64)

    def uint8(self) -> ScalarConstant:
        return self._as(UINT8)

    def uint16(self) -> ScalarConstant:
        return self._as(UINT16)

    def uint32(self) -> ScalarConstant:
        return self._as(UINT32)

    def uint64(self) -> ScalarConstant:
        return self._as(UINT64)

    def float16(self) -> ScalarConstant:
        return self._as(FLOAT16)

    def float32(self) -> ScalarConstant:
        return self._as(FLOAT)

    def float64(self) -> ScalarConstant:
        return self._as(FLOAT64)

    def __bool__(self) -> Any:
        raise TypeError("a ScalarConstant has no truth value; use its attribute `value`")

    def __repr__(self) -> str:
        return f"{self.value}:{self.dtype}"

    def _arithmetic(self, function: str, other: Any, reflected: Any = False) -> Any:
        from headrace.data_node import DataNode, arithmetic

        if not isinstance(other, DataNode):
            raise TypeError(f"a ScalarConstant can be combined with a DataNode only, not with {type(other).__name__}")
        return arithmetic(function, *((other, self) if reflected else (self, other)))


def _scalar_of(value: float, dtype: DALIDataType) -> float:
    if dtype == BOOL:
        return bool(value)
    if dtype in (FLOAT16, FLOAT, FLOAT64, BFLOAT16):
        return float(value)
    number = int(value)
    _check_range(number, number, np.dtype(to_numpy_type(dtype)))
    return number


def _check_range(smallest: float, largest: float, dtype: np.dtype) -> None:
    """OverflowError if an integer type cannot hold numbers of that range."""
    limits = np.iinfo(dtype)
    for number in (smallest, largest):
        if not limits.min <= int(number) <= limits.max:
            raise OverflowError(f"constant {int(number)} is out of range for {dtype}; name a wider type")


def _converted(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`array` in another type; OverflowError or ValueError for a number that an integer type cannot hold."""
    if array.size and dtype.kind in "iu" and array.dtype.kind in "iuf":
        _check_range(array.min(), array.max(), dtype)
    return array.astype(dtype)


def _add_operators() -> None:
    """Gives ScalarConstant the binary operators of DataNode."""
    from headrace.operator_table import BINARY_OPERATORS

    for method, function in BINARY_OPERATORS.items():

        def forward(self: ScalarConstant, other: Any, function: str = function) -> Any:
            return self._arithmetic(function, other)

        def reflected(self: ScalarConstant, other: Any, function: str = function) -> Any:
            return self._arithmetic(function, other, reflected=True)

        setattr(ScalarConstant, f"__{method}__", forward)
        if method not in ("eq", "ne", "lt", "le", "gt", "ge"):
            setattr(ScalarConstant, f"__r{method}__", reflected)
    ScalarConstant.__hash__ = object.__hash__  # type: ignore[method-assign]


_add_operators()


def _array_of(value: Any, dtype: DALIDataType | None) -> np.ndarray:
    """A constant's value as an array of its element type: 64-bit Python and numpy numbers become 32-bit ones."""
    if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        value = np.from_dlpack(value)
    array = np.asarray(value)
    if array.dtype.kind not in "biufV" or not array.dtype.isnative:  # V: bfloat16
        raise TypeError(f"a constant of type {array.dtype}: expected bool, integers or floats in native byte order")
    if dtype is not None:
        return _converted(array, np.dtype(to_numpy_type(dtype)))
    narrowed = {np.dtype(np.float64): np.float32, np.dtype(np.int64): np.int32}
    if array.dtype in narrowed:
        return _converted(array, np.dtype(narrowed[array.dtype]))
    to_dali_type(array.dtype)
    return array


def ConstantNode(
    device: str | None,
    value: Any,
    dtype: DALIDataType | None = None,
    shape: Any = None,
    layout: str | None = None,
    **kwargs: Any,
) -> DataNode:
    """A node that gives ``value`` for every sample. Arguments as in :func:`Constant`."""
    from headrace.operator_call import call_by_name

    if isinstance(value, ScalarConstant):
        value, dtype = value.value, dtype or value.dtype
    array = _array_of(value, dtype)
    if shape is not None:
        extents = [int(extent) for extent in np.atleast_1d(shape)]
        array = np.broadcast_to(array, extents) if array.ndim == 0 else array.reshape(extents)
    element_type = to_dali_type(array.dtype)
    floating = element_type in (FLOAT16, FLOAT, FLOAT64, BFLOAT16)
    values = [float(v) for v in array.ravel()] if floating else [int(v) for v in array.ravel()]
    if element_type == UINT64 and max(values, default=0) >= 2**63:  # the operator's arguments are signed
        signed = ConstantNode(device, array.view(np.int64), INT64, None, layout, **kwargs)
        return call_by_name("reinterpret", (signed,), {"dtype": UINT64}, device)
    data = {"fdata": values} if floating else {"idata": values}
    return call_by_name(
        "constant", (), {**data, "shape": list(array.shape), "dtype": element_type, "layout": layout, **kwargs}, device
    )


def Constant(
    value: Any,
    dtype: DALIDataType | None = None,
    shape: Any = None,
    layout: str | None = None,
    device: str | None = None,
    **kwargs: Any,
) -> ScalarConstant | DataNode:
    """A constant for arithmetic or as an input.

    Args:
        value: a number, a (nested) list of numbers, an array, or an object with ``__dlpack__``.
        dtype: element type; by default that of the value, where 64-bit integers become INT32 and doubles FLOAT.
        shape: shape of the tensor; a single number is repeated, otherwise the number of elements must agree.
        layout: layout of the tensor, for example ``"HWC"``.
        device: ``"cpu"`` or ``"gpu"``.

    Returns:
        A :class:`ScalarConstant` for a number without shape, layout and device; else a node.
    """
    is_scalar = isinstance(value, bool | int | float | np.bool_ | np.number)
    if device is None and is_scalar and shape is None and layout is None and not kwargs:
        if dtype is None and isinstance(value, np.float64):
            dtype = FLOAT
        if dtype is None and isinstance(value, np.int64):
            dtype = INT32
        return ScalarConstant(value, dtype)
    return ConstantNode(device or "cpu", value, dtype, shape, layout, **kwargs)
