// headrace's own JPEG decoder: sequential Huffman-coded files, every byte as libjpeg-turbo gives it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "codecs/entropy_index.h"
#include "codecs/image_codec.h"
#include "codecs/jpeg/entropy.h"
#include "codecs/jpeg/geometry.h"
#include "codecs/jpeg/huffman.h"
#include "codecs/jpeg/layout.h"
#include "codecs/jpeg/unstuff.h"
#include "codecs/row_sink.h"

namespace headrace::jpeg {

// Keeps tables and memory from one image to the next. For one thread.
class Decoder {
 public:
  // Decodes the sink's region. False if the file is of a kind that read_layout refuses, is damaged as far as it was
  // read, or the output asked for isn't made here (gray of RGB-coded files): then what the sink got is void and
  // libjpeg-turbo has the last word.
  // options.index is used, and gets points if all went well.
  bool decode(Bytes bytes, const ImageHeader& header, const ImageDecodeOptions& options, RowSink& sink);

 private:
  // Rows of one component: two rows of MCUs, used in turns.
  struct Plane {
    std::vector<uint8_t> memory;
    std::vector<int16_t> coefficients;
    std::vector<uint8_t> busy;
    int h = 1;  // blocks in an MCU
    int v = 1;
    ptrdiff_t stride = 0;
    uint8_t* row(int y);
    void clear();  // the coefficients
  };

  bool prepare(Bytes bytes);
  bool find_tables();
  void choose_output(const ImageDecodeOptions& options, RowSink& sink);
  void set_up_planes();
  bool decode_rows(RowSink& sink);
  bool decode_row(int row);
  void open_index(EntropyIndex* index);
  void jump(int mcu);
  void add_point();
  bool begin_part(int count, int& part);
  bool pass_to(int mcu);
  bool take_restart();
  bool decode_run(int count);
  void transform_run(int row, int first, int count);
  void repeat_edges(int row);
  void emit(int first, int end, RowSink& sink);
  void emit_inks(int first, int end, RowSink& sink);
  const uint8_t* chroma_row(int component, int y, const ImageRegion& region);

  TableCache tables_;
  FileLayout layout_;
  std::vector<uint8_t> header_;  // the bytes that layout_ and plan_ were made from; empty: none
  McuPlan plan_;
  Geometry geometry_;
  int wanted_ = 0;  // components
  bool bgr_ = false;
  Unstuffed scan_;
  EntropyState state_;
  size_t segment_ = 0;
  int until_restart_ = 0;          // MCUs
  int mcu_ = 0;                    // the next one, in the order of the scan
  EntropyIndex* index_ = nullptr;  // null: none
  int next_point_ = 0;             // the MCU before which the next point is to be added; behind all MCUs if none is
  std::array<Plane, kMaxComponents> planes_;
  bool dirty_ = false;  // an image ended early: coefficients may be left
  std::array<std::vector<uint8_t>, 2> upsampled_;
  std::vector<uint8_t> pixels_;
  std::vector<uint8_t> inks_;  // CMYK pixels
};

}  // namespace headrace::jpeg
