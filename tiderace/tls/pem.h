// pem: the blocks of a PEM file and where they begin, so that an error can name the line.
//
// Thread   Any.
// Errors   A BEGIN without its END is reported with its line.
// Limits   The caller's: the text is in memory.
#pragma once

#include <string_view>
#include <vector>

#include "tiderace/base/bytes.h"

namespace tiderace::tls {

struct PemBlock {
    std::string_view label;  // "CERTIFICATE"
    std::string_view text;   // from BEGIN to END, both lines included; a view of the file's text
    std::size_t line = 0;    // of its BEGIN, from 1
};

struct PemBlocks {
    std::vector<PemBlock> blocks;
    std::size_t unended_line = 0;  // of a BEGIN that has no END; 0: there is none
};

PemBlocks find_pem_blocks(ByteView text);

}  // namespace tiderace::tls
