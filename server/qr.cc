#include "server/qr.h"

#include "server/build_facts.h"
#include "tiderace/base/check.h"

#if TIDERACE_HAVE_QRENCODE
#include <qrencode.h>

#include <memory>
#endif

namespace tiderace::server {
namespace {

// 256-colour black and white: the basic eight are often themed to something else.
constexpr std::string_view black_on_white = "\x1b[38;5;16;48;5;231m";
constexpr std::string_view reset = "\x1b[0m";

// The character whose upper and lower halves are inked so.
std::string_view half_blocks(bool upper, bool lower) {
    if (upper) return lower ? "\u2588" : "\u2580";
    return lower ? "\u2584" : " ";
}

}  // namespace

bool QrMatrix::is_dark(std::ptrdiff_t x, std::ptrdiff_t y) const {
    const auto edge = static_cast<std::ptrdiff_t>(side);
    if (x < 0 || y < 0 || x >= edge || y >= edge) return false;
    return dark[static_cast<std::size_t>(y * edge + x)];
}

std::optional<QrMatrix> encode_qr([[maybe_unused]] std::string_view text) {
#if TIDERACE_HAVE_QRENCODE
    const std::string copy(text);
    const std::unique_ptr<QRcode, void (*)(QRcode*)> code(
        // The lowest correction makes the smallest code; a screen is not scratched. Version 0: the
        // smallest that holds the text.
        QRcode_encodeString8bit(copy.c_str(), 0, QR_ECLEVEL_L), QRcode_free);
    if (!code) return std::nullopt;
    QrMatrix matrix{.side = static_cast<std::size_t>(code->width), .dark = {}};
    matrix.dark.reserve(matrix.side * matrix.side);
    for (std::size_t i = 0; i < matrix.side * matrix.side; ++i) {
        // The library keeps more than the colour in a module's byte: the lowest bit is black.
        matrix.dark.push_back((code->data[i] & 1U) != 0);
    }
    return matrix;
#else
    return std::nullopt;
#endif
}

std::string draw_qr(const QrMatrix& matrix, bool colour) {
    TR_CHECK(matrix.dark.size() == matrix.side * matrix.side);
    const auto quiet = static_cast<std::ptrdiff_t>(qr_quiet_modules);
    const std::ptrdiff_t end = static_cast<std::ptrdiff_t>(matrix.side) + quiet;
    std::string drawn;
    // Two rows of modules are one line of half blocks, which makes them square.
    for (std::ptrdiff_t y = -quiet; y < end; y += 2) {
        if (colour) drawn += black_on_white;
        for (std::ptrdiff_t x = -quiet; x < end; ++x) {
            // With colour the ink is black, without it is the terminal's (light) text colour.
            drawn +=
                half_blocks(matrix.is_dark(x, y) == colour, matrix.is_dark(x, y + 1) == colour);
        }
        if (colour) drawn += reset;
        drawn += '\n';
    }
    return drawn;
}

}  // namespace tiderace::server
