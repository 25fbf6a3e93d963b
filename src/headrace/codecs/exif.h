// The orientation tag of EXIF data.
#pragma once

#include "codecs/byte_reader.h"

namespace headrace {

// Orientation 1..8 of an EXIF block that starts with its TIFF header ("II*\0" or "MM\0*"), after an optional
// "Exif\0\0"; 1 if there is none or the block is malformed, as viewers do. Format: CIPA DC-008, section 4.6.
int exif_orientation(Bytes exif);

}  // namespace headrace
