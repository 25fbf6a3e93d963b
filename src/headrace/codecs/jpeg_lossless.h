// Lossless JPEG (ITU-T T.81, annex H), which libjpeg-turbo 2 lacks: medical and 16-bit images.
#pragma once

#include <cstdint>
#include <vector>

#include "codecs/byte_reader.h"
#include "codecs/row_sink.h"

namespace headrace {

// Whether the frame header says Huffman-coded lossless (SOF3).
bool is_lossless_jpeg(Bytes bytes);

// Decodes 2 to 16 bit gray and RGB. Samples of other than 8 or 16 bits are scaled to the next larger of the two.
// `planes` is scratch memory. Subsampled and YCbCr-coded files are an error of kind kUnsupported.
void decode_lossless_jpeg(Bytes bytes, const ImageHeader& header, RowSink& sink, std::vector<uint16_t>& planes);

}  // namespace headrace
