// The frame reader: whole, cut in two and byte by byte come to the same; what it gives keeps to its
// limits. Read as a whole connection, and as what follows the preface and the first SETTINGS.
#include <algorithm>
#include <string>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/h2/frame_reader.h"
#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/http/wire/h2/priority.h"

namespace tiderace::http::wire {
namespace {

using Status = H2FrameReader::Status;

constexpr H2ReaderLimits limits{
    .frame_bytes_max = h2_frame_bytes_min, .block_bytes_max = 256, .continuations_max = 4};

// Adds up what a reader gives, in a form that does not depend on how it was cut.
struct Sum {
    std::string text;
    std::uint64_t flow_bytes = 0;
    std::uint64_t data_bytes = 0;
    std::uint64_t padding_bytes = 0;
    bool operator==(const Sum&) const = default;

    void number(std::uint64_t value) { text += std::to_string(value) + ' '; }

    void operator()(const H2Data& data) {
        TR_CHECK(data.stream != 0);
        TR_CHECK(data.frame_begins || data.flow_bytes == 0);
        TR_CHECK(!data.bytes.empty() || data.frame_begins || data.end_stream);
        if (data.frame_begins) text += 'd';
        text += data.bytes;
        if (data.end_stream) text += 'e';
        flow_bytes += data.flow_bytes;
        data_bytes += data.bytes.size();
        padding_bytes += data.padding_bytes;
    }
    void operator()(const H2Headers& headers) {
        TR_CHECK(headers.stream != 0 && headers.block.size() <= limits.block_bytes_max);
        TR_CHECK(headers.continuations <= limits.continuations_max);
        text += 'h';
        number(headers.stream);
        number(headers.end_stream ? 1 : 0);
        text += headers.block;
    }
    void operator()(const H2PriorityFrame& priority) { number(priority.stream); }
    void operator()(const H2RstStream& reset) {
        TR_CHECK(reset.stream != 0);
        text += 'r';
        number(reset.code);
    }
    void operator()(const H2SettingsFrame& settings) {
        TR_CHECK(settings.entries.size() % h2_setting_bytes == 0);
        H2Settings applied;
        if (applied.apply(settings.entries) == H2Error::no_error) {
            TR_CHECK(applied.initial_window_size <= h2_window_bytes_max);
            TR_CHECK(applied.max_frame_size >= h2_frame_bytes_min);
        }
        text += 's';
        text += settings.entries;
    }
    void operator()(const H2Ping& ping) {
        std::string frame(h2_ping_bytes, '\0');
        write_h2_ping(frame, ping.data, ping.ack);
        text += frame;
    }
    void operator()(const H2Goaway& goaway) {
        number(goaway.last_stream);
        text += goaway.debug;
    }
    void operator()(const H2WindowUpdate& update) {
        TR_CHECK(update.increment > 0 && update.increment <= h2_window_bytes_max);
        number(update.increment);
    }
    void operator()(const H2PriorityUpdate& update) {
        TR_CHECK(update.prioritized_stream != 0);
        number(parse_h2_priority(update.value).urgency);
        text += update.value;
    }
    void operator()(const H2UnknownFrame& unknown) { number(unknown.type); }
};

struct Reading {
    H2FrameReader reader{limits};
    Sum sum;
    std::size_t used = 0;
    bool dead = false;

    // Feeds bytes[0, end), of which `used` were used before.
    void feed(ByteView bytes, std::size_t end) {
        while (!dead) {
            const std::string piece(bytes.substr(used, end - used));
            const H2FrameReader::Step step = reader.next(piece);
            TR_CHECK(step.used <= piece.size());
            used += step.used;
            if (step.status == Status::need_more) return;
            if (step.status == Status::frame) {
                std::visit(sum, step.frame);
                continue;
            }
            sum.text += "fault" + std::string(to_string(step.fault.error));
            dead = step.fault.scope == H2Fault::Scope::connection;
            TR_CHECK(dead == (step.fault.stream == 0));
        }
    }
    void expect_same(const Reading& whole) const {
        TR_CHECK(sum == whole.sum && dead == whole.dead);
        TR_CHECK(reader.in_field_block() == whole.reader.in_field_block());
    }
};

Reading read_in_pieces(ByteView bytes, std::size_t piece_bytes) {
    Reading reading;
    for (std::size_t end = 0; end < bytes.size();) {
        end += std::min(piece_bytes, bytes.size() - end);
        reading.feed(bytes, end);
    }
    return reading;
}

std::string opening() {
    std::string bytes(h2_preface);
    bytes.resize(bytes.size() + h2_frame_header_bytes);
    write_h2_frame_header(std::span(bytes).subspan(h2_preface.size()),
                          {.type = H2FrameType::settings});
    return bytes;
}

void read_every_way(ByteView bytes) {
    const Reading whole = read_in_pieces(bytes, bytes.size());
    // The data is never longer than the frames announced.
    TR_CHECK(whole.sum.data_bytes + whole.sum.padding_bytes <= whole.sum.flow_bytes);
    read_in_pieces(bytes, 1).expect_same(whole);
    read_in_pieces(bytes, 7).expect_same(whole);
    for (std::size_t cut = 1; cut < bytes.size(); cut += 1 + bytes.size() / 32) {
        Reading two;
        two.feed(bytes, cut);
        two.feed(bytes, bytes.size());
        two.expect_same(whole);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* input, std::size_t size) {
    const ByteView bytes(reinterpret_cast<const char*>(input), std::min<std::size_t>(size, 2048));
    if (bytes.empty()) return 0;
    read_every_way(bytes);
    read_every_way(opening() + std::string(bytes));
    return 0;
}

}  // namespace tiderace::http::wire
