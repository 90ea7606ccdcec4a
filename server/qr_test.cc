#include "server/qr.h"

#include <gtest/gtest.h>

#include "server/build_facts.h"

namespace tiderace::server {
namespace {

// Reads a drawing back, half cell by half cell: true where it is inked. Escapes are skipped.
std::vector<std::vector<bool>> inked_rows(std::string_view drawn) {
    std::vector<std::vector<bool>> rows;
    while (!drawn.empty()) {
        std::string_view line = drawn.substr(0, drawn.find('\n'));
        drawn.remove_prefix(line.size() + 1);
        std::vector<bool> upper, lower;
        while (!line.empty()) {
            const bool is_escape = line[0] == '\x1b';
            const std::size_t bytes = is_escape ? line.find('m') + 1 : line[0] == ' ' ? 1 : 3;
            const std::string_view cell = line.substr(0, bytes);
            line.remove_prefix(bytes);
            if (is_escape) continue;
            upper.push_back(cell == "\u2588" || cell == "\u2580");
            lower.push_back(cell == "\u2588" || cell == "\u2584");
        }
        rows.push_back(std::move(upper));
        rows.push_back(std::move(lower));
    }
    return rows;
}

QrMatrix checkered(std::size_t side) {
    QrMatrix matrix{side, {}};
    for (std::size_t i = 0; i < side * side; ++i) matrix.dark.push_back(i % 3 == 0);
    return matrix;
}

TEST(QrDrawing, ShowsEachModuleInsideItsQuietZone) {
    for (const std::size_t side : {1U, 2U, 5U, 6U}) {
        const QrMatrix matrix = checkered(side);
        for (const bool colour : {false, true}) {
            const auto rows = inked_rows(draw_qr(matrix, colour));
            const std::size_t columns = side + 2 * qr_quiet_modules;
            ASSERT_GE(rows.size(), columns);
            ASSERT_LE(rows.size(), columns + 1);
            for (std::size_t y = 0; y < rows.size(); ++y) {
                ASSERT_EQ(rows[y].size(), columns);
                for (std::size_t x = 0; x < columns; ++x) {
                    const bool dark = matrix.is_dark(static_cast<std::ptrdiff_t>(x) - 4,
                                                     static_cast<std::ptrdiff_t>(y) - 4);
                    EXPECT_EQ(rows[y][x], dark == colour) << side << ": " << x << "," << y;
                }
            }
        }
    }
}

TEST(QrDrawing, SetsAndResetsItsColoursOnEachLine) {
    const std::string drawn = draw_qr(checkered(2), true);
    EXPECT_TRUE(drawn.starts_with("\x1b[38;5;16;48;5;231m"));
    EXPECT_TRUE(drawn.ends_with("\x1b[0m\n"));
    EXPECT_EQ(draw_qr(checkered(2), false).find('\x1b'), std::string::npos);
}

TEST(QrCode, HasItsThreeFinders) {
    const auto code = encode_qr("http://192.168.1.20:8080/");
    if (!TIDERACE_HAVE_QRENCODE) {
        EXPECT_FALSE(code);
        return;
    }
    ASSERT_TRUE(code);
    EXPECT_EQ(code->side, 25U) << "version 2 holds such an address";
    const auto edge = static_cast<std::ptrdiff_t>(code->side) - 7;
    for (const auto& [left, top] :
         {std::pair<std::ptrdiff_t, std::ptrdiff_t>{0, 0}, {edge, 0}, {0, edge}}) {
        for (std::ptrdiff_t i = 0; i < 7; ++i) {
            EXPECT_TRUE(code->is_dark(left + i, top));
            EXPECT_TRUE(code->is_dark(left, top + i));
            EXPECT_TRUE(code->is_dark(left + 3, top + 3));
        }
        EXPECT_FALSE(code->is_dark(left + 1, top + 1));
    }
}

TEST(QrCode, RefusesWhatNoCodeHolds) {
    EXPECT_FALSE(encode_qr(std::string(5000, 'x')));
}

}  // namespace
}  // namespace tiderace::server
