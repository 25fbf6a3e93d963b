"""Pipeline: a graph of operators and the means to run it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headrace import _core, graph_builder, operator_call, pipeline_json
from headrace.callbacks import Callback
from headrace.conditionals import do_not_convert as do_not_convert
from headrace.data_node import DataNode
from headrace.external_source import NodeSource
from headrace.graph_drawing import PipelineGraph
from headrace.group import PipelineGroup
from headrace.pipeline_inputs import PipelineInputs
from headrace.pipeline_settings import PipelineSettings
from headrace.sources import OutputCheck
from headrace.tensors import TensorListCPU
from headrace.types import PipelineAPIType

if TYPE_CHECKING:
    from headrace.conditionals.scopes import Branch


class Pipeline(PipelineSettings):
    """A data processing pipeline: define its graph, then :meth:`run` it.

    Args:
        batch_size: samples per batch, at least 1.
        num_threads: worker threads; by default as many as the process may use cores.
        device_id: CUDA device; None: CPU only. Without CUDA the same graph runs on the CPU.
        seed: of all random numbers; None or -1: another one for each pipeline.
        exec_pipelined: False: no prefetching, as with ``prefetch_queue_depth=1``.
        prefetch_queue_depth: iterations under way at a time, at least 1.
        set_affinity: pin each worker thread to a core.
        enable_checkpointing, checkpoint: allow :meth:`checkpoint`, and go on where one was taken. A list of those of
            all shards goes on with another number of them.
        output_dtype, output_ndim, output_layout: what the outputs must be like, one for all or one for each; checked
            at every run.
        memory_limit: most bytes of host memory for batches; None: no limit.
        decoder_index_memory: most bytes for what is remembered of JPEG files that were decoded in part, so that later
            epochs begin their crops in the middle of the data; None: 1 % of the memory of this machine or container;
            0: nothing.
        on_error: what happens to a sample that an operator refuses: ``"raise"``, ``"skip"`` (another sample takes its
            row) or ``"zero"`` (zeros).
        exec_async, bytes_per_sample, max_streams, default_cuda_stream_priority, enable_memory_stats, py_num_workers,
            py_start_method, py_callback_pickler, exec_dynamic, experimental_exec_dynamic, stream_policy, concurrency:
            accepted for DALI's sake.
    """

    def _begin(self) -> None:
        self._instances: list[operator_call.OperatorInstance] = []
        self._sinks: list[DataNode] = []
        self._output_nodes: list[DataNode] | None = None
        self._graph: _core.Graph | None = None
        self._inputs = PipelineInputs({}, self._batch_size)
        self._functions: list[tuple[str, Callback]] = []
        self._row_shards: Any = None  # of the JAX iterator: how it cuts global batches
        self._group: PipelineGroup | None = None
        self._plan = 0
        self._built = False
        self._api: PipelineAPIType | None = None
        self._api_check = True
        self._tracing = False
        self._branch: Branch | None = None  # of a conditional, that nodes made now belong to
        self._shared: tuple[TensorListCPU, ...] | None = None

    @property
    def num_outputs(self) -> int:
        """Number of outputs; builds the pipeline."""
        self.build()
        return len(self._graph_made().outputs())

    @property
    def is_restored_from_checkpoint(self) -> bool:
        return self._group is not None and self._group.restored

    def output_dtype(self) -> list[Any]:
        """The declared element type of each output; None where not declared."""
        return self._checks.dtypes(self.num_outputs)

    def output_ndim(self) -> list[Any]:
        """The declared number of axes of each output."""
        return self._checks.ndims(self.num_outputs)

    def output_layout(self) -> list[Any]:
        """The declared layout of each output."""
        return self._checks.layouts(self.num_outputs)

    def output_stream(self) -> None:
        """The CUDA stream of the outputs: none, since they are in host memory."""
        return None

    # -- definition -------------------------------------------------------------------------------------------------

    @staticmethod
    def current() -> Pipeline | None:
        """The pipeline that nodes made now belong to."""
        return operator_call.current_pipeline()

    @staticmethod
    def push_current(pipeline: Pipeline) -> None:
        """Makes ``pipeline`` the current one until :meth:`pop_current`."""
        operator_call.push_pipeline(pipeline)

    @staticmethod
    def pop_current() -> None:
        operator_call.pop_pipeline()

    def __enter__(self) -> Pipeline:
        operator_call.push_pipeline(self)
        return self

    def __exit__(self, exception_type: Any, exception_value: Any, traceback: Any) -> None:
        operator_call.pop_pipeline()

    def define_graph(self) -> Any:
        """Override it to define the graph in a subclass: makes nodes and returns those that are outputs."""
        raise NotImplementedError(
            "the pipeline has no outputs: override define_graph(), use `with pipeline: pipeline.set_outputs(...)`, "
            "or pipeline_def"
        )

    def iter_setup(self) -> None:
        """Override it to call feed_input(); called before each iteration is started. StopIteration ends the data."""

    def set_outputs(self, *output_data_nodes: Any) -> None:
        """Names the outputs: nodes, or constants. TypeError for containers, NotImplementedError for None."""
        if self._group is not None:
            raise RuntimeError("set_outputs: the pipeline was built already")
        with self:
            self._output_nodes = [graph_builder.output_node(value, i) for i, value in enumerate(output_data_nodes)]

    def add_sink(self, edge: DataNode) -> None:
        """Keeps a node in the graph although no output needs it."""
        self._sinks.append(edge)

    def _register(self, instance: operator_call.OperatorInstance) -> int:
        self._instances.append(instance)
        return len(self._instances) - 1

    def _join(self, group: PipelineGroup, plan: int) -> None:
        self._group = group
        self._plan = plan

    def _leave_group(self) -> None:
        """Undoes build(), so that the pipeline can join another group. RuntimeError if it has run already."""
        group = self._group
        if group is None:
            return
        if not group.is_open or group.executor.started > 0 or len(group.pipelines) > 1:
            raise RuntimeError(
                "the pipeline has run already, was closed, or runs in a group with others; make a new one"
            )
        group.close()
        self._group = None
        self._built = False

    def _calls_functions_early(self) -> bool:
        """Functions of the program run when their inputs are ready, not when a batch is asked for."""
        return any(not callback.is_joint for _, callback in self._functions)

    def _spans_processes(self) -> bool:
        """Some operator computes with those of other processes."""
        return any(callback.spans_processes for _, callback in self._functions)

    def _overrides_iter_setup(self) -> bool:
        return type(self).iter_setup is not Pipeline.iter_setup

    def _define(self, define_graph: Any = None) -> list[DataNode]:
        """The output nodes; calls define_graph if they are not set."""
        if self._output_nodes is None:
            with self:
                outputs = (define_graph or self.define_graph)()
                outputs = tuple(outputs) if isinstance(outputs, list | tuple) else (outputs,)
                self._output_nodes = [graph_builder.output_node(value, i) for i, value in enumerate(outputs)]
        return self._output_nodes

    def _make_graph(self, define_graph: Any = None) -> _core.Graph:
        """The engine's graph, checked; made once."""
        if self._graph is not None:
            return self._graph
        outputs = self._define(define_graph)
        builder = graph_builder.GraphBuilder(self._seed)
        for instance in graph_builder.needed_instances(outputs + self._sinks, self._instances):
            builder.add(instance)
        builder.graph.set_outputs([builder.edge(node) for node in outputs])
        builder.graph.validate()
        self._inputs = PipelineInputs(builder.sources, self._batch_size)
        self._functions = builder.functions
        self._graph = builder.graph
        return self._graph

    def _graph_made(self) -> _core.Graph:
        assert self._graph is not None
        return self._graph

    # -- running ----------------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Makes the operators and opens the data sets; run() does it when needed. Idempotent."""
        if not self._built:
            (self._group or PipelineGroup([self], _owned_by_pipeline=True)).build()

    def _finish_build(self) -> None:
        self._built = True

    def _own_group(self) -> PipelineGroup:
        """The group that runs this pipeline; RuntimeError if others run in it too."""
        if not self._built:
            self.build()
        group = self._group
        assert group is not None
        if len(group.pipelines) > 1:
            raise RuntimeError("the pipeline runs in a group with others; run the group or its iterator")
        return group

    def _use_api(self, api: PipelineAPIType) -> None:
        if self._api is None:
            self._api = api
        elif self._api != api and self._api_check:
            raise RuntimeError(f"Mixing pipeline API type. Currently used: {self._api}, but trying to use {api}")

    def enable_api_check(self, enable: bool) -> None:
        """Whether mixing run() with schedule_run() and its kin raises."""
        self._api_check = enable

    def run(self, cuda_stream: Any = None, /, **pipeline_inputs: Any) -> tuple[TensorListCPU, ...]:
        """The outputs of the next iteration; waits for them.

        Args:
            cuda_stream: accepted without effect.
            pipeline_inputs: data for external_source nodes by name, as for feed_input(); needs prefetch depth 1.

        Raises StopIteration at the end of data, an operator's error with its class, an exception of a source as it is.
        """
        if self._api is not PipelineAPIType.BASIC:
            self._use_api(PipelineAPIType.BASIC)
        group = self._group
        if group is None or not self._built or len(group.pipelines) > 1:
            group = self._own_group()
        if pipeline_inputs:
            self._feed_named(pipeline_inputs)
        group.prefetch()
        outputs = group.take()[0]
        if self._checks.needed:
            self._checks.check(outputs)
        return outputs

    def _feed_named(self, inputs: dict[str, Any]) -> None:
        if self._depth != 1:
            raise RuntimeError(
                "When using pipeline_inputs named arguments, either `prefetch_queue_depth` in Pipeline constructor "
                "shall be set to 1 (for both devices) or `exec_pipelined` shall be set to False. Received: "
                f"prefetch_queue_depth={self._given_depth}, exec_pipelined={self._exec_pipelined}."
            )
        for name, data in inputs.items():
            self.feed_input(name, data)

    def schedule_run(self) -> None:
        """Starts iterations without waiting for results: as many as the prefetch depth allows."""
        self._use_api(PipelineAPIType.SCHEDULED)
        self._own_group().prefetch()

    def share_outputs(self, cuda_stream: Any = None) -> tuple[TensorListCPU, ...]:
        """The outputs of the oldest scheduled iteration. They stay valid as long as anyone holds them."""
        self._use_api(PipelineAPIType.SCHEDULED)
        outputs = self._own_group().take()[0]
        if self._checks.needed:
            self._checks.check(outputs)
        self._shared = outputs
        return outputs

    def release_outputs(self) -> None:
        """Lets go of the batches that share_outputs() gave."""
        self._use_api(PipelineAPIType.SCHEDULED)
        self._shared = None

    def outputs(self, cuda_stream: Any = None) -> tuple[TensorListCPU, ...]:
        """release_outputs(), then share_outputs()."""
        self.release_outputs()
        return self.share_outputs(cuda_stream)

    def empty(self) -> bool:
        """No iteration is under way."""
        if self._group is None or self._group._executor is None:
            return True
        executor = self._group.executor
        return executor.started == executor.delivered

    def reset(self) -> None:
        """After the end of data: the sources begin their next epoch. Before the end it does nothing."""
        if self._group is not None:
            self._group.reset()

    def start_py_workers(self) -> None:
        """Accepted for DALI's sake: sources are called on the thread that runs the pipeline."""

    def external_source_shm_statistics(self) -> dict[str, list[int]]:
        """Shared memory of source workers: none."""
        return {"capacities": [], "per_sample_capacities": []}

    def feed_input(
        self,
        data_node: DataNode | str,
        data: Any,
        layout: str | None = None,
        cuda_stream: Any = None,
        use_copy_kernel: bool = False,
    ) -> None:
        """Gives the next batch to an external_source node without a source.

        Args:
            data_node: the node or its name.
            data: an array with a leading batch axis, a list of arrays, or a TensorList.
            layout: of the samples; by default the node's.
            cuda_stream, use_copy_kernel: accepted without effect.

        Raises KeyError for an unknown name, RuntimeError if the node has a source or the batch is too large.
        """
        if not self._built:
            self.build()
        name = data_node.name if isinstance(data_node, DataNode) else data_node
        if not isinstance(name, str):
            raise TypeError(f"feed_input: expected a DataNode or a name, got {data_node!r}")
        assert self._group is not None
        node = self._inputs.node(name)
        batch = self._inputs.convert(self._group.executor, node, 0, data, layout)
        self._inputs.append(name, batch)

    def input_feed_count(self, input_name: str) -> int:
        """Batches that have to be fed in before the first run."""
        self.build()
        self._inputs.node(input_name)
        return self._depth

    # -- readers ----------------------------------------------------------------------------------------------------

    def reader_meta(self, name: str | None = None) -> dict[str, Any]:
        """What is known of a reader, or of all by name: epoch_size, epoch_size_padded, number_of_shards, shard_id,
        pad_last_batch, stick_to_shard. RuntimeError for an unknown name."""
        self.build()
        assert self._group is not None
        executor = self._group.executor
        names = executor.reader_names(self._plan)
        if name is None:
            return {reader: executor.reader_meta(self._plan, reader) for reader in names}
        if name not in names:
            raise RuntimeError(f"Operator {name} not found or does not expose valid metadata. Readers: {names}")
        return executor.reader_meta(self._plan, name)

    def epoch_size(self, name: str | None = None) -> Any:
        """Samples in the data set of a reader, or of all readers by name."""
        if name is not None:
            return self.reader_meta(name)["epoch_size"]
        return {reader: meta["epoch_size"] for reader, meta in self.reader_meta().items()}

    # -- state ------------------------------------------------------------------------------------------------------

    def checkpoint(self, filename: str | None = None) -> bytes:
        """The state after the last iteration handed out, as JSON; also written to ``filename``.

        Give it to the constructor of an equal pipeline as ``checkpoint``. Needs ``enable_checkpointing=True``.
        """
        if not self._enable_checkpointing:
            raise RuntimeError(
                "Cannot save the checkpoint. The `enable_checkpointing` was not specified when creating the pipeline"
            )
        state = self._own_group().checkpoint()
        if filename is not None:
            with open(filename, "wb") as file:
                file.write(state)
        return state

    def serialize(self, define_graph: Any = None, filename: str | None = None) -> bytes:
        """The graph and the pipeline's parameters as JSON; also written to ``filename``.

        Python sources are not part of it: after deserialize() such nodes are fed by feed_input(). RuntimeError for a
        pipeline with Python functions.
        """
        graph = self._make_graph(define_graph)
        if self._functions:
            raise RuntimeError(
                f"Could not serialize the operator: `{self._functions[0][0]}`: it calls a Python function"
            )
        text = pipeline_json.dump(graph, self._parameters())
        if filename is not None:
            with open(filename, "wb") as file:
                file.write(text)
        return text

    @classmethod
    def deserialize(
        cls, serialized_pipeline: bytes | str | None = None, filename: str | None = None, **kwargs: Any
    ) -> Pipeline:
        """A pipeline from what serialize() gave; keyword arguments override its parameters."""
        if (serialized_pipeline is None) == (filename is None):
            raise ValueError("deserialize: give either serialized_pipeline or filename")
        if filename is not None:
            with open(filename, "rb") as file:
                serialized_pipeline = file.read()
        assert serialized_pipeline is not None
        graph, parameters = pipeline_json.load(serialized_pipeline)
        pipeline = Pipeline(**{**parameters, **kwargs})
        pipeline._adopt(graph)
        return pipeline

    def _adopt(self, graph: _core.Graph) -> None:
        self._graph = graph
        fed = [node for node in graph.nodes() if node["op"] == "external_source"]
        self._inputs = PipelineInputs(
            {
                node["name"]: NodeSource(
                    node["name"], None, [OutputCheck(node["name"], None, None, None)] * node["num_outputs"]
                )
                for node in fed
            },
            self._batch_size,
        )

    def deserialize_and_build(self, serialized_pipeline: bytes | str) -> None:
        """Takes over the graph of a serialised pipeline, and builds."""
        self._adopt(Pipeline.deserialize(serialized_pipeline)._graph_made())
        self.build()

    def graph(self) -> PipelineGraph:
        """The graph as a picture: text in Graphviz's language that notebooks show as SVG if ``dot`` is installed."""
        return PipelineGraph(self._make_graph().to_dot())

    def save_graph_to_dot_file(
        self, filename: str, *, show_tensors: bool = False, show_ids: Any = None, use_colors: bool = False
    ) -> None:
        """Writes the graph in Graphviz's language; the options are accepted without effect."""
        with open(filename, "w") as file:
            file.write(self._make_graph().to_dot())

    def statistics(self) -> dict[str, Any]:
        """Per node samples, seconds and bytes; queue depths; memory; which stage bounds the throughput.

        Keys: ``nodes`` (a list: ``name``, ``op``, ``samples``, ``seconds`` of the workers, extrapolated from one sample
        in 64, ``bytes`` written, and ``counters`` that an operator has of its own, image decoders for instance),
        ``iterations`` (``started``, ``delivered``, ``waiting``), ``seconds`` (``elapsed``, ``consumer_waited``,
        ``workers_idle``, summed over workers), ``threads``, ``memory`` and ``pool`` (bytes), ``bottleneck`` (a
        sentence).
        """
        self.build()
        assert self._group is not None
        executor = self._group.executor
        return {**json.loads(executor.statistics()), "pool": executor.memory()}

    def executor_statistics(self) -> dict[str, Any]:
        """Statistics of each node by name, if the pipeline was made with ``enable_memory_stats=True``; else empty."""
        return self.statistics() if self._enable_memory_stats else {}

    def start_trace(self) -> None:
        """Begins to record a timeline for :meth:`trace`."""
        self.build()
        self._tracing = True
        assert self._group is not None
        self._group.executor.set_tracing(True)

    def trace(self, path: str) -> None:
        """Writes the timeline recorded since start_trace(), for https://ui.perfetto.dev or chrome://tracing.

        RuntimeError without start_trace().
        """
        if not self._tracing:
            raise RuntimeError("trace: nothing was recorded; call start_trace() before the iterations to be shown")
        assert self._group is not None
        with open(path, "w") as file:
            file.write(self._group.executor.trace())

    def close(self) -> None:
        """Ends the threads and gives the memory back; batches that were handed out stay valid. Idempotent."""
        if self._group is not None:
            self._group.close()

    def __repr__(self) -> str:
        state = "defined" if not self._built else "closed" if self._group and not self._group._executor else "built"
        return (
            f"<{type(self).__name__}: batch_size={self._batch_size}, num_threads={self._num_threads}, "
            f"device_id={self._device_id}, prefetch_queue_depth={self._depth}, {state}>"
        )
