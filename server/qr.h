// A text as a QR code, drawn with half-block characters (two modules to a character cell).
// Keywords: QR code
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tiderace::server {

struct QrMatrix {
    std::size_t side = 0;    // modules
    std::vector<bool> dark;  // row by row, side * side

    // Outside of the matrix everything is light.
    bool is_dark(std::ptrdiff_t x, std::ptrdiff_t y) const;
};

// The light border that a reader needs around the code, in modules.
inline constexpr std::size_t qr_quiet_modules = 4;

// nullopt: the text is too long for one code, or this build has no encoder.
std::optional<QrMatrix> encode_qr(std::string_view text);

// Lines of UTF-8, each ended, the quiet zone included. With `colour` it is black on white whatever
// the terminal's colours are. Without, its light modules are drawn in the text's colour: right on a
// dark terminal, inverted (which phones read, too) on a light one.
std::string draw_qr(const QrMatrix& matrix, bool colour);

}  // namespace tiderace::server
