#include "tiderace/http/wire/h2/huffman.h"

#include <array>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/h2/big_endian.h"

namespace tiderace::http::wire::huffman {
namespace {

constexpr std::size_t symbols = 257;
constexpr std::size_t end_of_string = 256;
constexpr unsigned shortest = 5;
constexpr unsigned longest = 30;

// The bits of each symbol's code (RFC 7541, appendix B). The code is canonical: the symbols of one
// length have consecutive codes, which follow the codes of the length before. So lengths are
// enough.
// clang-format off
constexpr std::array<std::uint8_t, symbols> lengths = {
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
     6, 10, 10, 12, 13,  6,  8, 11, 10, 10,  8, 11,  8,  6,  6,  6,   // space to /
     5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8, 15,  6, 12, 10,   // 0 to ?
    13,  6,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,   // @ to O
     7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8, 13, 19, 13, 14,  6,   // P to _
    15,  5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,   // ` to o
     6,  7,  6,  5,  5,  6,  7,  7,  7,  7,  7, 15, 11, 14, 13, 28,   // p to DEL
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
};
// clang-format on

struct Code {
    std::uint32_t bits;  // right-aligned
    std::uint8_t length;
};

struct Tree {
    std::array<Code, symbols> codes{};
    // For each length: its first code and that code's place in `by_code`; and, left-aligned in 32
    // bits, the first code of all that are longer.
    std::array<std::uint32_t, longest + 1> first{};
    std::array<std::uint32_t, longest + 1> place{};
    std::array<std::uint64_t, longest + 1> beyond{};
    std::array<std::uint16_t, symbols> by_code{};
};

constexpr Tree make_tree() {
    Tree tree;
    std::uint32_t code = 0;
    std::uint32_t place = 0;
    for (unsigned length = shortest; length <= longest; ++length) {
        code <<= 1;
        tree.first[length] = code;
        tree.place[length] = place;
        for (std::size_t symbol = 0; symbol < symbols; ++symbol) {
            if (lengths[symbol] != length) continue;
            tree.codes[symbol] = {code++, static_cast<std::uint8_t>(length)};
            tree.by_code[place++] = static_cast<std::uint16_t>(symbol);
        }
        tree.beyond[length] = std::uint64_t{code} << (32 - length);
    }
    return tree;
}

constexpr Tree tree = make_tree();
static_assert(tree.beyond[longest] == std::uint64_t{1} << 32, "a prefix code that is complete");
static_assert(tree.codes['a'].bits == 0x3 && tree.codes['&'].bits == 0xf8 &&
                  tree.codes['\\'].bits == 0x7fff0 && tree.codes[255].bits == 0x3ffffee,
              "as in RFC 7541");

// What the next twelve bits begin with: one or two symbols, or a code that is longer than that.
constexpr unsigned window_bits = 12;

struct Entry {
    std::array<char, 2> text;
    std::uint8_t symbols;  // 0: a longer code
    std::uint8_t bits;     // of them all
};
using Window = std::array<Entry, 1U << window_bits>;

constexpr void fill(Window& window, std::uint32_t code, unsigned length, Entry entry) {
    const std::uint32_t begin = code << (window_bits - length);
    const std::uint32_t count = 1U << (window_bits - length);
    for (std::uint32_t i = 0; i < count; ++i) window[begin + i] = entry;
}

constexpr Window make_window() {
    Window window{};
    for (std::size_t one = 0; one < end_of_string; ++one) {
        const Code a = tree.codes[one];
        if (a.length > window_bits) continue;
        fill(window, a.bits, a.length, {{static_cast<char>(one), 0}, 1, a.length});
        for (std::size_t two = 0; two < end_of_string; ++two) {
            const Code b = tree.codes[two];
            const unsigned length = a.length + b.length;
            if (length > window_bits) continue;
            fill(window, a.bits << b.length | b.bits, length,
                 {{static_cast<char>(one), static_cast<char>(two)},
                  2,
                  static_cast<std::uint8_t>(length)});
        }
    }
    return window;
}

constexpr Window window = make_window();

// The bits of a code not yet used, the next one topmost; zeros after the code's end.
class BitReader {
  public:
    explicit BitReader(ByteView code) : at_(code.data()), end_(at_ + code.size()) {}

    std::uint32_t peek(unsigned bits) const {
        return static_cast<std::uint32_t>(held_ >> (64 - bits));
    }
    void skip(unsigned bits) {
        held_ = held_ << bits;
        count_ -= bits;
    }
    // Real bits at hand.
    unsigned count() const { return count_; }
    // At least as many bits as the longest code has, unless the end is near.
    void refill() {
        if (count_ >= longest) return;
        if (end_ - at_ >= 8) {
            // Bits of a byte that is only partly taken come again with the next word, the same.
            held_ |= read_big_endian<8>(at_) >> count_;
            const unsigned bytes = (63 - count_) / 8;
            at_ += bytes;
            count_ += 8 * bytes;
            return;
        }
        while (count_ <= 56 && at_ != end_) {
            held_ |= std::uint64_t{static_cast<unsigned char>(*at_++)} << (56 - count_);
            count_ += 8;
        }
    }
    // At most seven bits are left, and they are the first of EOS's: ones.
    bool ends_well() const { return count_ < 8 && held_ == ~(~std::uint64_t{0} >> count_); }

  private:
    const char* at_;
    const char* end_;
    std::uint64_t held_ = 0;
    unsigned count_ = 0;
};

// The symbol whose code of more than window_bits bits comes next, or end_of_string when the bits
// end before it does.
std::size_t read_long(BitReader& reader) {
    const std::uint64_t next = reader.peek(32);
    unsigned length = window_bits + 1;
    while (next >= tree.beyond[length]) ++length;
    if (length > reader.count()) return end_of_string;
    const auto code = static_cast<std::uint32_t>(next >> (32 - length));
    reader.skip(length);
    return tree.by_code[tree.place[length] + (code - tree.first[length])];
}

}  // namespace

Decoded decode(ByteView code, std::span<char> out) {
    BitReader reader(code);
    char* to = out.data();
    char* const end = to + out.size();
    while (true) {
        reader.refill();
        const Entry& entry = window[reader.peek(window_bits)];
        if (entry.symbols != 0 && entry.bits <= reader.count() && end - to >= 2) {
            to[0] = entry.text[0];
            to[1] = entry.text[1];
            to += entry.symbols;
            reader.skip(entry.bits);
            continue;
        }
        // Near an end, or a rare symbol: one at a time.
        if (reader.ends_well()) break;
        std::size_t symbol = end_of_string;
        if (entry.symbols == 0) {
            symbol = read_long(reader);
        } else {
            symbol = static_cast<unsigned char>(entry.text[0]);
            if (lengths[symbol] > reader.count()) return {Decoded::Status::corrupt, 0};
            reader.skip(lengths[symbol]);
        }
        if (symbol == end_of_string) return {Decoded::Status::corrupt, 0};
        if (to == end) return {Decoded::Status::no_room, 0};
        *to++ = static_cast<char>(symbol);
    }
    return {Decoded::Status::complete, static_cast<std::size_t>(to - out.data())};
}

std::size_t encoded_bytes(ByteView text) {
    std::size_t bits = 0;
    for (const char c : text) bits += lengths[static_cast<unsigned char>(c)];
    return (bits + 7) / 8;
}

std::size_t encode(ByteView text, std::span<char> out) {
    TR_CHECK(out.size() >= encoded_bytes(text), "no room for the code");
    char* to = out.data();
    std::uint64_t held = 0;  // right-aligned
    unsigned count = 0;      // below 8 between symbols, so 30 more fit
    for (const char c : text) {
        const Code& code = tree.codes[static_cast<unsigned char>(c)];
        held = held << code.length | code.bits;
        for (count += code.length; count >= 8;) {
            count -= 8;
            *to++ = static_cast<char>(held >> count & 0xff);
        }
    }
    if (count > 0) {
        const unsigned padding = 8 - count;
        *to++ = static_cast<char>((held << padding | ((1U << padding) - 1)) & 0xff);
    }
    return static_cast<std::size_t>(to - out.data());
}

}  // namespace tiderace::http::wire::huffman
