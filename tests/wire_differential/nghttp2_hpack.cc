// nghttp2_hpack: our HPACK against nghttp2's, in both directions, over generated connections and
// mutations of their blocks. Prints every difference that is not one of `stricter`, and fails.
//
//   nghttp2_hpack SEED CONNECTIONS
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/base/random.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/h2/hpack_decoder.h"
#include "tiderace/http/wire/h2/hpack_encoder.h"

namespace tiderace::http::wire {
namespace {

using Status = HpackDecoder::Status;

constexpr std::size_t list_bytes_max = 1 << 20;  // nghttp2's inflater has no limit

struct Text {
    std::string name;
    std::string value;
    bool never_indexed = false;
    bool operator==(const Text&) const = default;
};

struct Reading {
    bool taken = false;
    std::vector<Text> fields;
};

class Inflater {
  public:
    explicit Inflater(std::uint32_t table_bytes) {
        nghttp2_hd_inflater* made = nullptr;
        TR_CHECK(nghttp2_hd_inflate_new(&made) == 0);
        inflater_.reset(made);
        if (table_bytes != 4096) nghttp2_hd_inflate_change_table_size(made, table_bytes);
    }
    Reading read(const std::string& block) {
        Reading reading;
        auto* at = reinterpret_cast<const std::uint8_t*>(block.data());
        std::size_t left = block.size();
        while (true) {
            nghttp2_nv nv;
            int flags = 0;
            const ssize_t used = nghttp2_hd_inflate_hd2(inflater_.get(), &nv, &flags, at, left, 1);
            if (used < 0) return reading;
            at += used;
            left -= static_cast<std::size_t>(used);
            if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
                reading.fields.push_back({{reinterpret_cast<char*>(nv.name), nv.namelen},
                                          {reinterpret_cast<char*>(nv.value), nv.valuelen},
                                          (nv.flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0});
            }
            if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
        }
        nghttp2_hd_inflate_end_headers(inflater_.get());
        reading.taken = true;
        return reading;
    }
    std::size_t table_bytes() const {
        return nghttp2_hd_inflate_get_dynamic_table_size(inflater_.get());
    }

  private:
    struct Delete {
        void operator()(nghttp2_hd_inflater* inflater) const { nghttp2_hd_inflate_del(inflater); }
    };
    std::unique_ptr<nghttp2_hd_inflater, Delete> inflater_;
};

class Deflater {
  public:
    explicit Deflater(std::uint32_t table_bytes) {
        nghttp2_hd_deflater* made = nullptr;
        TR_CHECK(nghttp2_hd_deflate_new(&made, table_bytes) == 0);
        deflater_.reset(made);
    }
    void set_table_bytes(std::uint32_t bytes) {
        nghttp2_hd_deflate_change_table_size(deflater_.get(), bytes);
    }
    std::string write(std::vector<Text>& fields) {
        std::vector<nghttp2_nv> all;
        for (Text& field : fields) {
            const std::uint8_t flags =
                field.never_indexed ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
            all.push_back({reinterpret_cast<std::uint8_t*>(field.name.data()),
                           reinterpret_cast<std::uint8_t*>(field.value.data()), field.name.size(),
                           field.value.size(), flags});
        }
        std::string out(nghttp2_hd_deflate_bound(deflater_.get(), all.data(), all.size()), '\0');
        const ssize_t bytes =
            nghttp2_hd_deflate_hd(deflater_.get(), reinterpret_cast<std::uint8_t*>(out.data()),
                                  out.size(), all.data(), all.size());
        TR_CHECK(bytes >= 0);
        out.resize(static_cast<std::size_t>(bytes));
        return out;
    }

  private:
    struct Delete {
        void operator()(nghttp2_hd_deflater* deflater) const { nghttp2_hd_deflate_del(deflater); }
    };
    std::unique_ptr<nghttp2_hd_deflater, Delete> deflater_;
};

Reading read(HpackDecoder& decoder, const std::string& block) {
    std::vector<char> arena(decoder.arena_bytes(list_bytes_max));
    HpackDecoder::Block fields = decoder.read(block, arena, list_bytes_max);
    Reading reading;
    while (fields.next() == Status::field) {
        const HpackField& field = fields.field();
        reading.fields.push_back(
            {std::string(field.name), std::string(field.value), field.never_indexed});
    }
    reading.taken = fields.status() == Status::end;
    return reading;
}

// Blocks that we refuse and nghttp2 takes: more size updates at the start of a block than an
// encoder has reason for (RFC 7541, 4.2), and numbers padded with zeros to more than five bytes.
bool stricter(const std::string& block) {
    const auto update = [](char c) { return (static_cast<unsigned char>(c) & 0xe0U) == 0x20; };
    std::size_t updates = 0;
    std::size_t long_number = 0;
    for (std::size_t at = 0; at < block.size(); ++at) {
        if (update(block[at])) ++updates;
        const bool more = (static_cast<unsigned char>(block[at]) & 0x80U) != 0;
        long_number = more ? long_number + 1 : 0;
        if (long_number >= 4) return true;
    }
    return updates > 2 && update(block.front());
}

class Differential {
  public:
    explicit Differential(std::uint64_t seed) : random_(seed) {}

    void run_connection() {
        const auto table_bytes =
            static_cast<std::uint32_t>(random_.below(3) == 0 ? random_.below(200) : 4096);
        Deflater deflater(table_bytes);
        HpackDecoder ours(4096);
        Inflater theirs(4096);
        HpackEncoder encoder;
        Inflater peer(4096);
        for (std::uint64_t left = 1 + random_.below(12); left > 0; --left) {
            if (random_.below(8) == 0) {
                const auto bytes = static_cast<std::uint32_t>(random_.below(4097));
                deflater.set_table_bytes(bytes);
                encoder.set_peer_table_bytes_max(bytes);
            }
            std::vector<Text> fields = make_fields();
            write_and_compare(encoder, peer, fields);
            std::string block = deflater.write(fields);
            if (random_.below(3) == 0) mutate(block);
            if (!same(block, ours, theirs)) return;
        }
    }

    int differences = 0;
    int blocks = 0;
    int refused = 0;
    int excused = 0;

  private:
    // False when the connection is over.
    bool same(const std::string& block, HpackDecoder& ours, Inflater& theirs) {
        ++blocks;
        const Reading a = read(ours, block);
        const Reading b = theirs.read(block);
        if (!a.taken) ++refused;
        if (!a.taken && b.taken && stricter(block)) {
            ++excused;
            return false;
        }
        if (!a.taken && !b.taken) return false;  // how far each got first is its own affair
        if (a.taken != b.taken || a.fields != b.fields) report("read", block, a, b);
        const bool table = ours.table().bytes() == theirs.table_bytes();
        if (a.taken && b.taken && !table) report("table", block, a, b);
        return a.taken && b.taken && table;
    }

    void write_and_compare(HpackEncoder& encoder, Inflater& peer, const std::vector<Text>& fields) {
        std::vector<char> out(1 << 16);
        HpackEncoder::Block block(encoder, out);
        std::vector<Text> sent;
        for (const Text& field : fields) {
            if (field.name.front() == ':') continue;
            if (!block.field(field.name, field.value)) continue;
            sent.push_back(
                {field.name, std::string(trim_ows(field.value)), field.name == "set-cookie"});
        }
        if (block.fault() != HpackEncoder::Fault::none) return;  // it never happened
        const std::string bytes(block.finish());
        const Reading reading = peer.read(bytes);
        if (!reading.taken || reading.fields != sent ||
            peer.table_bytes() != encoder.table().bytes()) {
            report("write", bytes, {true, sent}, reading);
        }
    }

    std::vector<Text> make_fields() {
        static const char* const names[] = {":method",
                                            ":path",
                                            "accept",
                                            "server",
                                            "vary",
                                            "set-cookie",
                                            "x-request",
                                            "etag",
                                            "x-a",
                                            "date",
                                            "x-long-name-of-a-field"};
        static const char* const values[] = {"GET", "/", "/index.html", "", "gzip, deflate", "a"};
        std::vector<Text> fields;
        for (std::uint64_t count = random_.below(10); count > 0; --count) {
            Text field{names[random_.below(std::size(names))], values[random_.below(6)]};
            if (random_.below(3) == 0) field.value = random_text();
            field.never_indexed = random_.below(20) == 0;
            fields.push_back(field);
        }
        return fields;
    }
    std::string random_text() {
        std::string text(random_.below(random_.below(10) == 0 ? 3000 : 40), '\0');
        const bool binary = random_.below(8) == 0;
        for (char& c : text) {
            c = static_cast<char>(binary ? random_.below(256) : 'a' + random_.below(26));
        }
        return text;
    }
    void mutate(std::string& block) {
        static const char* const pieces[] = {"\x80", "\xbe", "\x20", "\x3f\xe1\x1f", "\x7f",
                                             "\xff", "\x0f", "\x10", "\x82",         "\xc0"};
        for (std::uint64_t count = 1 + random_.below(3); count > 0; --count) {
            const std::size_t at = random_.below(block.size() + 1);
            switch (random_.below(5)) {
                case 0:
                    block.insert(at, pieces[random_.below(std::size(pieces))]);
                    break;
                case 1:
                    block.insert(0, pieces[random_.below(std::size(pieces))]);
                    break;
                case 2:
                    block.resize(at);
                    break;
                case 3:
                    if (at < block.size()) block.erase(at, 1 + random_.below(3));
                    break;
                default:
                    if (at < block.size()) block[at] = static_cast<char>(random_.below(256));
            }
        }
    }

    void report(const char* what, const std::string& block, const Reading& a, const Reading& b) {
        if (++differences > 10) return;
        std::cout << what << ": ours " << (a.taken ? "takes" : "refuses") << ' ' << a.fields.size()
                  << " fields, theirs " << (b.taken ? "takes" : "refuses") << ' ' << b.fields.size()
                  << ":";
        for (const char c : block.substr(0, 200)) {
            static constexpr char digits[] = "0123456789abcdef";
            const auto byte = static_cast<unsigned char>(c);
            std::cout << ' ' << digits[byte >> 4] << digits[byte & 15U];
        }
        std::cout << '\n';
    }

    Random random_;
};

int run(std::uint64_t seed, int connections) {
    Differential differential(seed);
    for (int i = 0; i < connections; ++i) differential.run_connection();
    std::cout << differential.blocks << " blocks, " << differential.refused << " refused, "
              << differential.excused << " only by us and rightly, " << differential.differences
              << " differences\n";
    return differential.differences == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tiderace::http::wire

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    return tiderace::http::wire::run(std::strtoull(argv[1], nullptr, 10), std::atoi(argv[2]));
}
