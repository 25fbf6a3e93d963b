// Driving one operator as the engine would.
#include "ops/op_tester.h"

#include "graph/group_state.h"

namespace headrace {
namespace {

TestTensor copy(const Sample& s) {
  const auto* first = s.as<const uint8_t>();
  return {s.dtype, s.shape, s.layout, std::vector<uint8_t>(first, first + s.bytes()), s.source};
}

Ref<Batch> make_batch(const Ref<HostPool>& pool, const std::vector<TestTensor>& samples) {
  auto batch = make_ref<Batch>(pool, static_cast<int>(samples.size()));
  for (size_t i = 0; i < samples.size(); ++i) {
    void* to = batch->claim(static_cast<int>(i), samples[i].sample());
    std::memcpy(to, samples[i].bytes.data(), samples[i].bytes.size());
  }
  return batch;
}

}  // namespace

OpTester::OpTester(const std::string& name, const ArgMap& constants, std::vector<std::string> tensor_args,
                   int num_inputs, uint64_t seed) {
  register_all_ops(registry_);
  spec_.schema = registry_.find(name);
  check_internal(spec_.schema, "no operator \"{}\"", name);
  spec_.name = name;
  spec_.device = "cpu";
  for (const auto& [key, value] : constants) {
    const ArgSpec* arg = spec_.schema->find_arg(key);
    check_internal(arg, "[{}] {}: not in the schema", name, key);
    if (arg->ignored) continue;
    const std::string& target = arg->renamed_to.empty() ? key : arg->renamed_to;
    spec_.constants[target] = convert_arg(value, arg->type, spec_.about(key));
  }
  spec_.tensor_args = std::move(tensor_args);
  spec_.num_inputs = num_inputs >= 0 ? num_inputs : spec_.schema->min_inputs();
  spec_.num_outputs = spec_.schema->num_outputs(spec_.constants);
  spec_.seed = seed;
  spec_.group = std::make_shared<GroupState>(make_ref<HostPool>());
  op_ = registry_.create(spec_);
  sample_op_ = dynamic_cast<SampleOperator*>(op_.get());
}

std::vector<TestTensor> OpTester::run(const std::vector<TestTensor>& inputs, const std::vector<TestTensor>& arguments,
                                      const SampleId& id) {
  check_internal(sample_op_, "[{}]: not a sample operator", spec_.name);
  std::vector<Sample> in = describe(inputs), args, out(static_cast<size_t>(spec_.num_outputs));
  for (const TestTensor& t : arguments) args.push_back(t.sample());
  SampleContext ctx = context(in, args, out, id);
  for (size_t i = 0; i < in.size(); ++i) {
    if (!spec_.schema->input_spec(static_cast<int>(i)).infer_reads_data) in[i].data = nullptr;
  }
  sample_op_->infer(ctx);
  for (size_t i = 0; i < in.size(); ++i) {
    if (!spec_.schema->input_spec(static_cast<int>(i)).shape_only) in[i].data = inputs[i].sample().data;
  }
  return spec_.schema->is_view() ? view(inputs, out) : compute(ctx, out);
}

std::vector<std::vector<TestTensor>> OpTester::run_batch(const std::vector<std::vector<TestTensor>>& inputs,
                                                         const std::vector<std::vector<TestTensor>>& arguments) {
  auto* batch_op = dynamic_cast<BatchOperator*>(op_.get());
  check_internal(batch_op, "[{}]: not a batch operator", spec_.name);
  BatchContext ctx;
  ctx.pool = make_ref<HostPool>();
  for (const auto& samples : inputs) ctx.inputs.push_back(make_batch(ctx.pool, samples));
  for (const auto& samples : arguments) ctx.arguments.push_back(make_batch(ctx.pool, samples));
  ctx.outputs.resize(static_cast<size_t>(spec_.num_outputs));
  batch_op->run(ctx);
  std::vector<std::vector<TestTensor>> result;
  for (const Ref<Batch>& batch : ctx.outputs) {
    std::vector<TestTensor>& samples = result.emplace_back();
    for (int i = 0; i < batch->size(); ++i) samples.push_back(copy((*batch)[i]));
  }
  return result;
}

std::vector<Sample> OpTester::describe(const std::vector<TestTensor>& inputs) const {
  std::vector<Sample> samples;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Sample s = inputs[i].sample();
    const auto& allowed = spec_.schema->input_spec(static_cast<int>(i)).layouts;
    bool found = allowed.empty();
    for (const std::string& text : allowed) {
      const Layout layout{std::string_view(text)};
      if (found || layout.ndim() != s.shape.ndim() || !(s.layout.empty() || s.layout == layout)) continue;
      s.layout = layout;
      found = true;
    }
    check_value(found, "[{}]: layout \"{}\" with {} axes is not allowed", spec_.name, s.layout, s.shape.ndim());
    samples.push_back(s);
  }
  return samples;
}

SampleContext OpTester::context(std::vector<Sample>& in, std::vector<Sample>& args, std::vector<Sample>& out,
                                const SampleId& id) {
  SampleContext ctx;
  for (Sample& s : in) ctx.inputs_.push_back(&s);
  for (Sample& s : args) ctx.arguments_.push_back(&s);
  for (Sample& s : out) ctx.outputs_.push_back(&s);
  ctx.id_ = id;
  ctx.arena_ = &arena_;
  ctx.worker_state_ = sample_op_->make_worker_state();
  return ctx;
}

std::vector<TestTensor> OpTester::compute(SampleContext& ctx, std::vector<Sample>& out) {
  std::vector<std::vector<uint8_t>> memory;
  for (Sample& s : out) {
    memory.emplace_back(s.bytes(), uint8_t{0xcd});  // so that unwritten bytes show
    if (!s.data && s.bytes() > 0) s.data = memory.back().data();
  }
  sample_op_->run(ctx);
  std::vector<TestTensor> result;
  result.reserve(out.size());
  for (const Sample& s : out) result.push_back(copy(s));
  arena_.reset();
  return result;
}

std::vector<TestTensor> OpTester::view(const std::vector<TestTensor>& inputs, std::vector<Sample>& out) {
  check_internal(out[0].bytes() == inputs[0].bytes.size(), "[{}]: a view of {} bytes of an input of {}", spec_.name,
                 out[0].bytes(), inputs[0].bytes.size());
  out[0].data = inputs[0].sample().data;
  arena_.reset();
  return {copy(out[0])};
}

}  // namespace headrace
