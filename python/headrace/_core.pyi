from collections.abc import Sequence
from typing import overload


class ArgSpec:
    """One argument of an operator."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def default(self) -> object: ...

    @property
    def doc(self) -> str: ...

    @property
    def per_sample(self) -> bool: ...

    @property
    def required(self) -> bool: ...

    @property
    def renamed_to(self) -> str: ...

    @property
    def ignored(self) -> bool: ...

class Schema:
    """The declaration of an operator."""

    @property
    def name(self) -> str: ...

    @property
    def doc(self) -> str: ...

    @property
    def args(self) -> list[ArgSpec]: ...

    @property
    def inputs(self) -> list[tuple[str, str, list[str], bool]]:
        """List of (name, doc, layouts, optional)."""

    @property
    def min_inputs(self) -> int: ...

    @property
    def max_inputs(self) -> int: ...

    @property
    def devices(self) -> list[str]: ...

    @property
    def is_random(self) -> bool: ...

    @property
    def is_reader(self) -> bool: ...

    @property
    def is_fed(self) -> bool: ...

    @property
    def has_side_effects(self) -> bool: ...

    @property
    def deprecation(self) -> str: ...

    def num_outputs(self, args: dict) -> int:
        """Outputs of a node with these arguments."""

def schemas() -> list[Schema]:
    """The schemas of all operators."""

class Graph:
    """
    Nodes and edges of a pipeline. An edge is a pair (node number, output number).
    """

    def __init__(self) -> None: ...

    def add(self, op: str, name: str, device: str, inputs: Sequence[tuple[int, int]], args: dict, tensor_args: dict, seed: int, display_name: str, origin: str) -> int:
        """Appends a node and returns its number; checks it against the schema."""

    def set_outputs(self, outputs: Sequence[tuple[int, int]]) -> None: ...

    def validate(self) -> None:
        """Raises if the graph cannot run."""

    def nodes(self) -> list:
        """A dict per node: op, name, device, num_outputs."""

    def find(self, name: str) -> int:
        """The node of that instance name, or -1."""

    def outputs(self) -> list[tuple[int, int]]: ...

    def output_devices(self) -> list[str]: ...

    def to_json(self) -> str: ...

    @staticmethod
    def from_json(text: str) -> Graph: ...

    def to_dot(self) -> str:
        """Graphviz source."""

    def hash(self) -> str:
        """Hash of what determines the outputs."""

class Tensor:
    """A dense tensor in CPU memory that belongs to a batch."""

    @overload
    def __init__(self, other: Tensor) -> None: ...

    @overload
    def __init__(self, data: object | None, layout: str, copy: bool) -> None: ...

    @property
    def _dtype(self) -> int: ...

    @property
    def _shape(self) -> tuple: ...

    @property
    def _layout(self) -> str: ...

    @property
    def _data_ptr(self) -> int: ...

    @property
    def _source(self) -> str: ...

    def _describe(self, dtype: int, shape: object, layout: str) -> None:
        """Changes type, shape and layout, not the bytes."""

    def __dlpack__(self, *, stream: object | None = None, max_version: object | None = None, dl_device: object | None = None, copy: object | None = None) -> object:
        """
        A DLPack capsule of this tensor's memory; `stream` has no meaning for CPU memory.
        """

    def __dlpack_device__(self) -> tuple: ...

class Batch:
    """The samples of one iteration and one output, in CPU memory."""

    @overload
    def __init__(self, other: Batch) -> None: ...

    @overload
    def __init__(self, data: object | None, layout: str, copy: bool) -> None: ...

    def __len__(self) -> int: ...

    @property
    def _dtype(self) -> int: ...

    @property
    def _ndim(self) -> int: ...

    @property
    def _layout(self) -> str: ...

    @property
    def _is_dense(self) -> bool: ...

    def _shapes(self) -> list: ...

    def _describe(self, dtype: int, layout: str) -> None:
        """Changes element type and layout."""

    def _assign(self, other: Batch) -> None: ...

    def _sample_ids(self) -> object:
        """
        (epoch, position, index) of each row; None if no pipeline made the batch.
        """

    def _row_status(self) -> object:
        """
        One byte per row: 0 good, 1 substituted, 2 zeroed, 3 padded; None as for sample ids.
        """

    @staticmethod
    def _broadcast(tensor: Tensor, size: int) -> Batch: ...

    def _tensor(self, index: int) -> Tensor: ...

    def _dense_tensor(self) -> Tensor:
        """One tensor with a leading batch axis; RuntimeError if ragged."""

    def _reshaped(self, shape: object, layout: str) -> Tensor: ...

    def _copy_to(self, pointer: int) -> None:
        """Writes all samples, one behind the other."""

    def _data_ptr(self) -> int:
        """Address of the first sample."""

    def __dlpack__(self, *, stream: object | None = None, max_version: object | None = None, dl_device: object | None = None, copy: object | None = None) -> object:
        """
        A DLPack capsule of the whole batch with a leading batch axis; RuntimeError if the batch is ragged.
        """

    def __dlpack_device__(self) -> tuple: ...

class Failure:
    """An exception of the engine that is raised later."""

    def reraise(self) -> None: ...

class Executor:
    """Runs the graphs of a group of pipelines. Used by one thread at a time."""

    def __init__(self, graphs: list, *, batch_size: int, num_threads: int, memory_limit: int, decoder_index_memory: int, on_error: str, primary_reader: str, exact_epochs: bool, set_affinity: bool, checkpoint: str, stall_report_seconds: float = 30.0) -> None: ...

    def make_feed(self, data: object | None, layout: str, copy: bool) -> Batch:
        """A batch in this executor's memory."""

    def make_buffer(self, bytes: int) -> Tensor:
        """Uninitialised bytes of this executor's memory, 64-byte aligned."""

    def feed(self, plan: int, node: str, outputs: Sequence[Batch]) -> None: ...

    def feeds_waiting(self, plan: int, node: str) -> int: ...

    def start(self) -> None:
        """Starts an iteration."""

    def dispatch_joint(self) -> None:
        """
        Dispatches the operators over several devices of one iteration; waits for their inputs.
        """

    @property
    def has_joint_operators(self) -> bool: ...

    @property
    def started(self) -> int: ...

    @property
    def dispatched(self) -> int: ...

    @property
    def delivered(self) -> int: ...

    @property
    def room_to_start(self) -> bool: ...

    def take(self, batch_type: object) -> list:
        """
        The outputs of the oldest iteration that was started: for each plan a tuple of `batch_type`, a subclass of Batch. Waits; KeyboardInterrupt comes through.
        """

    def take_packed(self, depth: int, count: int, buffers: list, fields: list, batch_type: object) -> tuple:
        """
        Takes up to `count` iterations into writable buffers, one for each plan, and keeps `depth` under way. `fields`: for each output (offset, element type, shape of a batch). Returns (row status of each plan for each iteration, an iteration that looks different or None, a Failure or None).
        """

    def reader_names(self, plan: int) -> list[str]: ...

    def reader_meta(self, plan: int, reader: str) -> dict: ...

    def checkpoint(self, held: int = 0) -> str:
        """
        JSON: the state after the last iteration taken, or `held` iterations of whole batches before it.
        """

    def statistics(self) -> str:
        """JSON."""

    def set_tracing(self, on: bool) -> None: ...

    def trace(self) -> str:
        """The timeline as a Chrome/Perfetto trace (JSON)."""

    def memory(self) -> dict:
        """
        Bytes of the pool in use and idle, batches that the program holds, calls to the system's allocator.
        """

    def graph(self, plan: int) -> Graph:
        """A copy of the plan's simplified graph."""

    def close(self) -> None: ...

    def close_within(self, seconds: float) -> bool:
        """
        close() for the program's end: False if a function of the program was still running; the executor stays then.
        """

class LmdbTable:
    """The records of an LMDB in key order, read only and bounds-checked."""

    def __init__(self, path: str) -> None: ...

    def __len__(self) -> int: ...

    def key(self, arg: int, /) -> bytes: ...

    def value(self, arg: int, /) -> bytes: ...

class LmdbWriter:
    """Writes one new LMDB; keys come in ascending order."""

    def __init__(self, folder: str) -> None: ...

    def append(self, arg0: bytes, arg1: bytes, /) -> None: ...

    def commit(self) -> None: ...

def caffe2_record(encoded_image: bytes, label: int) -> bytes:
    """
    The bytes of a Caffe2 record with an encoded image and an integer label.
    """

def parse_caffe2_record(record: bytes) -> tuple:
    """(image bytes, label) of a Caffe2 record."""

def is_only_reference(list: list, index: int) -> bool:
    """
    Nothing but the list refers to its numpy array `index`, and nothing but that to the memory.
    """

def set_callbacks(run: object, dispatch: object) -> None:
    """
    Says what the engine calls for operators that are functions of the program.

    run(number, size, inputs, writable, dispatched) -> a tuple (data, layout, copy) for each output;
    dispatch(number, inputs of each pipeline) -> for each pipeline an object that its run() gets.
    """

def load_plugin(path: str, global_symbols: bool, reserved: Sequence[str]) -> list[str]:
    """
    Loads a library with operators and returns their names; none of those if it is loaded already.
    """

def build_info() -> dict:
    """How this module was built: version, compiler, back ends."""
