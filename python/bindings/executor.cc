// The executor: feeding, running, waiting without the GIL, state.
#include "exec/executor.h"

#include <nanobind/stl/vector.h>

#include <deque>

#include "bindings.h"
#include "exec/packed_iterations.h"
#include "gil.h"

namespace headrace::python {
namespace {

constexpr std::chrono::milliseconds kSlice{50};  // of a wait, between two looks at pending signals

// An instance of `type`, a subclass of Batch.
nb::object wrap(nb::handle type, Ref<Batch> batch) {
  nb::object wrapped = nb::inst_alloc(type);
  new (nb::inst_ptr<PyBatch>(wrapped)) PyBatch{std::move(batch)};
  nb::inst_mark_ready(wrapped);
  return wrapped;
}

OnError on_error_from(std::string_view name) {
  if (name == "raise") return OnError::kRaise;
  if (name == "skip") return OnError::kSkip;
  check_value(name == "zero", "on_error: expected \"raise\", \"skip\" or \"zero\", got \"{}\"", name);
  return OnError::kZero;
}

void construct(Executor* self, nb::list graphs, int batch_size, int num_threads, size_t memory_limit,
               int64_t decoder_index_memory, std::string_view on_error, std::string primary_reader, bool exact_epochs,
               bool set_affinity, std::string checkpoint, double stall_report_seconds) {
  ExecutorOptions options;
  options.batch_size = batch_size;
  options.num_threads = num_threads;
  options.memory_limit = memory_limit;
  options.decoder_index_memory = decoder_index_memory;
  options.on_error = on_error_from(on_error);
  options.primary_reader = std::move(primary_reader);
  options.exact_epochs = exact_epochs;
  options.set_affinity = set_affinity;
  options.checkpoint = std::move(checkpoint);
  options.stall_report_seconds = stall_report_seconds;
  std::vector<Graph> plans;
  for (nb::handle graph : graphs) plans.push_back(nb::cast<const Graph&>(graph));
  const WithoutGil release;
  new (self) Executor(std::move(plans), registry(), std::move(options));
}

void feed(Executor& self, int plan, std::string_view node, const std::vector<PyBatch>& outputs) {
  drop_released_objects();
  std::vector<Ref<Batch>> batches;
  batches.reserve(outputs.size());
  for (const PyBatch& output : outputs) batches.push_back(output.batch);
  self.feed(plan, node, std::move(batches));
}

PyBatch make_feed(const Executor& self, nb::handle data, std::string_view layout, bool copy) {
  return {batch_from(data, layout, copy, self.pool())};
}

PyTensor make_buffer(const Executor& self, int64_t bytes) {
  auto batch = make_ref<Batch>(self.pool(), 1);
  Sample sample;
  sample.dtype = DType::kUInt8;
  sample.shape.push_back(bytes);
  batch->claim(0, sample);
  return {(*batch)[0], batch};
}

void wait_until_ready(Executor& self) {
  if (self.wait(std::chrono::milliseconds(0))) return;
  while (true) {
    {
      const WithoutGil release;
      if (self.wait(kSlice)) return;
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

// Returns when the operators of one more iteration are dispatched.
void dispatch_joint(Executor& self) {
  while (true) {
    {
      const WithoutGil release;
      if (self.dispatch_joint(kSlice)) return;
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

// At the program's end. An executor whose function of the program is still running is left to the process's end.
bool close_within(nb::handle handle, double seconds) {
  auto& self = nb::cast<Executor&>(handle);
  bool closed = false;
  {
    const WithoutGil release;
    closed = self.close_within(std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3)));
  }
  if (!closed) handle.inc_ref();
  return closed;
}

// Per plan a tuple of instances of `batch_type`.
nb::list plans_of(IterationOutputs outputs, nb::handle batch_type) {
  nb::list plans;
  for (auto& plan : outputs) {
    nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(plan.size())));
    for (size_t i = 0; i < plan.size(); ++i) {
      PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), wrap(batch_type, std::move(plan[i])).release().ptr());
    }
    plans.append(std::move(tuple));
  }
  return plans;
}

nb::list take(Executor& self, nb::handle batch_type) {
  wait_until_ready(self);
  drop_released_objects();
  return plans_of(self.take(), batch_type);
}

// Writable memory of an object, held as long as this lives.
class WritableBuffer {
 public:
  explicit WritableBuffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_WRITABLE) != 0) throw nb::python_error();
  }
  ~WritableBuffer() { PyBuffer_Release(&view_); }
  WritableBuffer(const WritableBuffer&) = delete;
  WritableBuffer& operator=(const WritableBuffer&) = delete;

  uint8_t* data() const { return static_cast<uint8_t*>(view_.buf); }
  size_t bytes() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

// An exception of the engine that is raised later.
struct Failure {
  std::exception_ptr error;
};

nb::object row_status_of(const Ref<BatchRows>& rows) {
  if (!rows) return nb::none();
  return nb::bytes(reinterpret_cast<const char*>(rows->status.data()), rows->status.size());
}

// `fields`: for each output (offset, element type, shape of a batch).
nb::tuple take_packed_batches(Executor& self, int depth, int count, nb::list buffers, nb::list fields,
                              nb::handle batch_type) {
  drop_released_objects();
  std::vector<PackedOutput> outputs;
  for (nb::handle field : fields) {
    outputs.push_back({nb::cast<size_t>(field[0]), static_cast<DType>(nb::cast<int>(field[1])), shape_from(field[2])});
  }
  std::deque<WritableBuffer> memory;
  std::vector<uint8_t*> addresses;
  for (nb::handle buffer : buffers) {
    addresses.push_back(memory.emplace_back(buffer).data());
    for (const PackedOutput& output : outputs) {
      check_internal(output.offset + static_cast<size_t>(count) * output.bytes() <= memory.back().bytes(),
                     "take_packed: {} bytes are too few", memory.back().bytes());
    }
  }
  PackedIterations packed;
  {
    const WithoutGil release;
    packed = take_packed(self, depth, count, addresses, outputs);
  }
  nb::list rows;
  for (const std::vector<Ref<BatchRows>>& iteration : packed.rows) {
    nb::list plans;
    for (const Ref<BatchRows>& plan : iteration) plans.append(row_status_of(plan));
    rows.append(std::move(plans));
  }
  nb::object last = nb::none(), failure = nb::none();
  if (packed.last) last = plans_of(std::move(*packed.last), batch_type);
  if (packed.error) failure = nb::cast(Failure{packed.error});
  return nb::make_tuple(rows, last, failure);
}

nb::dict meta_dict(const ReaderMeta& meta) {
  nb::dict dict;
  dict["epoch_size"] = meta.epoch_size;
  dict["epoch_size_padded"] = meta.epoch_size_padded;
  dict["number_of_shards"] = meta.number_of_shards;
  dict["shard_id"] = meta.shard_id;
  dict["pad_last_batch"] = static_cast<int>(meta.pad_last_batch);
  dict["stick_to_shard"] = static_cast<int>(meta.stick_to_shard);
  return dict;
}

}  // namespace

void bind_executor(nb::module_& m) {
  nb::class_<Failure>(m, "Failure", "An exception of the engine that is raised later.")
      .def("reraise", [](const Failure& self) { std::rethrow_exception(self.error); });
  nb::class_<Executor>(m, "Executor", "Runs the graphs of a group of pipelines. Used by one thread at a time.")
      .def("__init__", &construct, nb::arg("graphs"), nb::kw_only(), nb::arg("batch_size"), nb::arg("num_threads"),
           nb::arg("memory_limit"), nb::arg("decoder_index_memory"), nb::arg("on_error"), nb::arg("primary_reader"),
           nb::arg("exact_epochs"), nb::arg("set_affinity"), nb::arg("checkpoint"),
           nb::arg("stall_report_seconds") = 30.0)
      .def("make_feed", &make_feed, nb::arg("data").none(), nb::arg("layout"), nb::arg("copy"),
           "A batch in this executor's memory.")
      .def("make_buffer", &make_buffer, nb::arg("bytes"),
           "Uninitialised bytes of this executor's memory, 64-byte aligned.")
      .def("feed", &feed, nb::arg("plan"), nb::arg("node"), nb::arg("outputs"))
      .def("feeds_waiting", &Executor::feeds_waiting, nb::arg("plan"), nb::arg("node"))
      .def("start", &Executor::start, "Starts an iteration.")
      .def("dispatch_joint", &dispatch_joint,
           "Dispatches the operators over several devices of one iteration; waits for their inputs.")
      .def_prop_ro("has_joint_operators", &Executor::has_joint_operators)
      .def_prop_ro("started", &Executor::started)
      .def_prop_ro("dispatched", &Executor::dispatched)
      .def_prop_ro("delivered", &Executor::delivered)
      .def_prop_ro("room_to_start", &Executor::room_to_start)
      .def("take", &take, nb::arg("batch_type"),
           "The outputs of the oldest iteration that was started: for each plan a tuple of `batch_type`, a subclass of "
           "Batch. Waits; KeyboardInterrupt comes through.")
      .def("take_packed", &take_packed_batches, nb::arg("depth"), nb::arg("count"), nb::arg("buffers"),
           nb::arg("fields"), nb::arg("batch_type"),
           "Takes up to `count` iterations into writable buffers, one for each plan, and keeps `depth` under way. "
           "`fields`: for each output (offset, element type, shape of a batch). Returns (row status of each plan for "
           "each iteration, an iteration that looks different or None, a Failure or None).")
      .def("reader_names", &Executor::reader_names, nb::arg("plan"))
      .def(
          "reader_meta",
          [](const Executor& self, int plan, std::string_view reader) {
            return meta_dict(self.reader_meta(plan, reader));
          },
          nb::arg("plan"), nb::arg("reader"))
      .def("checkpoint", &Executor::checkpoint, nb::arg("held") = 0,
           "JSON: the state after the last iteration taken, or `held` iterations of whole batches before it.")
      .def("statistics", &Executor::statistics, "JSON.")
      .def("set_tracing", &Executor::set_tracing, nb::arg("on"))
      .def("trace", &Executor::trace, "The timeline as a Chrome/Perfetto trace (JSON).")
      .def(
          "memory",
          [](const Executor& self) {
            nb::dict memory;
            memory["in_use"] = self.pool()->bytes_in_use();
            memory["idle"] = self.pool()->bytes_idle();
            memory["held_batches"] = self.pool()->held_batches();
            memory["system_allocations"] = self.pool()->system_allocations();
            return memory;
          },
          "Bytes of the pool in use and idle, batches that the program holds, calls to the system's allocator.")
      .def(
          "graph", [](const Executor& self, int plan) { return self.graph(plan); }, nb::arg("plan"),
          "A copy of the plan's simplified graph.")
      .def("close", &Executor::close, nb::call_guard<WithoutGil>())
      .def("close_within", &close_within, nb::arg("seconds"),
           "close() for the program's end: False if a function of the program was still running; the executor stays "
           "then.");
}

}  // namespace headrace::python
