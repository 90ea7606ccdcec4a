// Writer: values of RESP 2 or 3, and commands, appended to a string.
//
//   Writer writer(out, Protocol::resp3);
//   writer.map(2);
//   writer.bulk("server");  writer.bulk("kv");
//   writer.bulk("proto");   writer.integer(3);
//
// Each call writes one value, or the head of an aggregate whose elements the following calls write.
// With Protocol::resp2 the types of RESP 3 become what Redis sends to old clients: a map, a set and
// a push are arrays, a double is a bulk string, a boolean 0 or 1.
//
// Owner    The caller owns the string.
// Limits   `bytes_max`: a value that begins when the string holds as much is dropped, so that an
//          answer above the limit is never built. It is incomplete then (full()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>

#include "tiderace/base/bytes.h"

namespace tiderace::resp {

enum class Protocol : std::uint8_t { resp2 = 2, resp3 = 3 };

class Writer {
  public:
    explicit Writer(std::string& out, Protocol protocol = Protocol::resp2,
                    std::size_t bytes_max = std::numeric_limits<std::size_t>::max())
        : out_(&out), bytes_max_(bytes_max), protocol_(protocol) {}

    Protocol protocol() const { return protocol_; }
    std::string& out() const { return *out_; }
    std::size_t bytes_max() const { return bytes_max_; }
    bool full() const { return out_->size() >= bytes_max_; }

    // A CR or LF in the text becomes a space: the type has no place for it.
    void simple(ByteView text) { line('+', text); }
    // "ERR …": the first word is the code.
    void error(ByteView text) { line('-', text); }
    void ok() { literal("+OK\r\n"); }
    void integer(std::int64_t value) { head(':', value); }
    void bulk(ByteView text);
    // The head of a bulk string whose bytes, and a CR LF, the caller sends itself: for one that is
    // sent without a copy.
    void bulk_head(std::size_t bytes) { head('$', bytes); }
    void null();
    void null_array();
    void boolean(bool value);
    void real(double value);
    // Digits with an optional sign.
    void big_number(ByteView digits);
    // `format`: three characters, "txt" or "mkd".
    void verbatim(ByteView format, ByteView text);

    void array(std::size_t elements) { head('*', elements); }
    void set(std::size_t elements) { head(protocol_ == Protocol::resp3 ? '~' : '*', elements); }
    void push(std::size_t elements) { head(protocol_ == Protocol::resp3 ? '>' : '*', elements); }
    // `pairs` keys, each followed by its value.
    void map(std::size_t pairs);
    // About the value that follows. With RESP 2 this is misuse.
    void attribute(std::size_t pairs);

    // A command: an array of bulk strings.
    void command(std::span<const ByteView> arguments);
    void command(std::initializer_list<ByteView> arguments) {
        command(std::span(arguments.begin(), arguments.size()));
    }

  private:
    void literal(ByteView whole) {
        if (!full()) out_->append(whole);
    }
    void line(char type, ByteView text);
    void head(char type, std::int64_t number);
    void head(char type, std::size_t count) { head(type, static_cast<std::int64_t>(count)); }

    std::string* out_;
    std::size_t bytes_max_;
    Protocol protocol_;
};

}  // namespace tiderace::resp
