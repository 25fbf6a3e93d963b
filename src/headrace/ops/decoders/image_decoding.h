// What the image decoders share: their arguments, reading the header in infer(), decoding in run().
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "codecs/image_codec.h"
#include "graph/operator.h"
#include "ops/decoders/entropy_index_store.h"

namespace headrace {

// Images of one worker, which alone writes it.
struct alignas(64) ImageCounts {
  std::array<std::atomic<int64_t>, kImageDecoders> decoded{};  // by decoder
  std::atomic<int64_t> index_hits{0};
  std::atomic<int64_t> cache_hits{0};
  std::atomic<int64_t> cache_misses{0};
};

// The worker state of image decoders.
struct ImageDecoderState final : WorkerState {
  explicit ImageDecoderState(ImageCounts& c) : counts(c) {}
  ImageDecoder decoder;
  EntropyIndex index;
  ImageCounts& counts;
};

void add_one(std::atomic<int64_t>& count);

class ImageDecoding {
 public:
  explicit ImageDecoding(const OpSpec& spec);

  const ImageDecodeOptions& options() const { return options_; }

  // The input and the arguments of all image decoders.
  static void declare(Schema& schema);

  // What run() needs, made by infer(). Plans of the operators derive from it.
  struct Plan {
    ImageHeader header;
    std::optional<ImageRegion> roi;
  };

  // Reads the header of input 0 into the plan and describes output 0 as the whole image: (H, W, C), layout HWC.
  void infer(SampleContext& ctx, Plan& plan) const;
  // Restricts the output to a region of the image, in output pixels. It must lie inside.
  static void restrict(SampleContext& ctx, Plan& plan, const ImageRegion& roi);
  // Describes output 0 as an image of that shape.
  void describe(SampleContext& ctx, const Shape& shape) const;
  // Decodes output 0, or the region of it that is asked for.
  void run(SampleContext& ctx) const;
  // Decodes the image, or that region of it, to `out`.
  void decode(SampleContext& ctx, const std::optional<ImageRegion>& roi, void* out) const;

  std::unique_ptr<WorkerState> make_worker_state() const;
  // Images by who decoded them; what the cache gave is left out.
  std::vector<std::pair<std::string_view, int64_t>> counters() const;
  // Sums over the workers of one of their counts.
  int64_t sum(std::atomic<int64_t> ImageCounts::*count) const;

 private:
  std::string name_;
  ImageDecodeOptions options_;
  std::shared_ptr<EntropyIndexStore> indexes_;  // null: none
  mutable std::mutex counts_mutex_;
  mutable std::deque<ImageCounts> counts_;  // by worker
};

// The bytes of an encoded file: checks that the sample is u8 with one axis and not empty.
std::span<const uint8_t> encoded_bytes(const Sample& sample, std::string_view operator_name);

}  // namespace headrace
