// HTTP/2 (RFC 9113) from the client's side: as many streams at once as the server lets, windows so
// wide that TCP alone holds back, requests that are a few bytes from the second one on.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "load/crc32.h"
#include "load/dialogue.h"
#include "tiderace/http/wire/h2/frame_reader.h"
#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/http/wire/h2/hpack_decoder.h"
#include "tiderace/http/wire/h2/hpack_encoder.h"
#include "tiderace/http/wire/h2/response.h"
#include "tiderace/http/wire/h2/settings.h"
#include "tiderace/http/wire/h2/window.h"

namespace tiderace::load {
namespace {

namespace wire = http::wire;
using wire::H2Error;

// So wide that only TCP holds the server back, and no WINDOW_UPDATE of ours is measured.
constexpr std::uint32_t window_bytes = 1U << 30;
constexpr std::uint32_t first_window_bytes = 65'535;  // RFC 9113, 6.9.2
constexpr std::size_t unsent_bytes_max = 256 * 1024;  // then bodies wait
constexpr std::size_t fields_bytes_max = 64 * 1024;   // of an answer's head
constexpr char table_size_zero = 0x20;                // RFC 7541, 6.3

struct Stream {
    std::uint32_t id;
    Instant intended;
    LoadAnswer answer{};
    std::optional<std::uint64_t> length{};  // the value of Content-Length
    std::size_t body_sent = 0;
    wire::H2SendWindow send;
    wire::H2ReceiveWindow receive{window_bytes};
    bool has_head = false;
    std::uint64_t steps = 1;  // towards its answer
    std::uint64_t steps_seen = 0;
    Instant since{};  // of the look that saw the last of them
};

//   begin() --> unsettled --SETTINGS--> asking --GOAWAY--> going --no stream is left--> left
//               (no room)                 |                (no new streams)              ^
//                                         +-- the one answer of --close, a fault, the end
class LoadH2 final : public LoadDialogue {
  public:
    LoadH2(Client& client, const Rules& rules) : client_(&client), rules_(rules) {
        const std::size_t bytes = wire::HpackDecoder().arena_bytes(fields_bytes_max);
        // One arena for all connections of a loop: a head is decoded in one go, and then the room
        // is free.
        if (rules_.arena->size() < bytes) rules_.arena->resize(bytes);
    }

    void begin() override;
    std::size_t room() const override;
    std::size_t under_way() const override { return streams_.size(); }
    void ask(Instant intended) override;
    void asked() override { flush(); }
    std::size_t hear(ByteView data) override;
    bool is_late(Instant now, Instant since, Instant resumed, Duration timeout) override;
    void drained() override {
        send_bodies();
        flush();
    }
    void ended(bool unread) override;
    void fail_all(LoadError error) override;
    std::size_t drop_all() override { return std::exchange(streams_, {}).size(); }

    // Handles a frame of the reader; false: the server broke the protocol.
    bool take(const wire::H2Data& data);
    bool take(const wire::H2Headers& headers);
    bool take(const wire::H2RstStream& reset);
    bool take(const wire::H2SettingsFrame& settings);
    bool take(const wire::H2Ping& ping);
    bool take(const wire::H2Goaway& goaway);
    bool take(const wire::H2WindowUpdate& update);
    bool take(const wire::H2PriorityFrame&) { return true; }
    bool take(const wire::H2PriorityUpdate&) { return false; }  // the reader refuses it
    bool take(const wire::H2UnknownFrame&) { return true; }

  private:
    using Streams = std::vector<Stream>;

    Streams::iterator find(std::uint32_t id) {
        return std::ranges::find(streams_, id, &Stream::id);
    }
    // A stream that was opened once and is not any more.
    bool is_over(std::uint32_t id) const { return id % 2 == 1 && id < next_id_; }
    // No stream may follow those that are open: GOAWAY came, the numbers are used up (after 2^30
    // requests, which a load on one connection reaches in hours), or --close has its one.
    bool is_last() const {
        return goes_ || next_id_ > rules_.last_stream || (rules_.close && next_id_ > 1);
    }
    void step(Stream& stream) {
        ++progress_;
        ++stream.steps;
    }
    bool read_head(const wire::H2Headers& headers, Stream& stream, bool& interim);
    bool finish(Streams::iterator stream);
    void fail(Streams::iterator stream, LoadError error);
    void send_bodies();
    bool send_body_of(Stream& stream);
    void leave();
    template <typename Write>
    void append(std::size_t most, Write&& write) {
        const std::size_t before = out_.size();
        out_.resize(before + most);
        out_.resize(before + write(std::span<char>(out_).subspan(before)));
    }
    void append_frame(const wire::H2FrameHeader& header, ByteView payload) {
        append(wire::h2_frame_header_bytes,
               [&](std::span<char> out) { return wire::write_h2_frame_header(out, header); });
        out_ += payload;
    }
    // One write for all that a call has appended. `part_` describes the whole, so send_body_of()
    // flushes between a head and its body.
    void flush() {
        if (!out_.empty()) client_->say(out_, part_);
        out_.clear();
        part_ = Part::control;
    }

    Client* client_;
    Rules rules_;
    wire::H2FrameReader reader_;
    wire::HpackDecoder decoder_;
    wire::H2Settings peer_;
    wire::H2SendWindow send_;
    wire::H2ReceiveWindow receive_;
    Streams streams_;
    std::string out_;
    Part part_ = Part::control;
    std::uint32_t next_id_ = 1;
    bool settled_ = false;
    bool left_ = false;
    bool goes_ = false;        // GOAWAY came: no new streams
    bool table_used_ = false;  // a block was sent
    bool table_gone_ = false;  // the server's table is too small for it
    bool size_change_due_ = false;
};

void LoadH2::begin() {
    // All of it anew: the dialogue outlives its connections, and HPACK's table and the windows
    // belong to one of them.
    reader_ = wire::H2FrameReader({}, wire::H2Peer::server);
    decoder_ = wire::HpackDecoder();
    peer_ = {};
    send_ = wire::H2SendWindow();
    receive_ = wire::H2ReceiveWindow(first_window_bytes);
    receive_.enlarge(window_bytes);
    streams_.clear();
    streams_.reserve(static_cast<std::size_t>(rules_.depth));
    next_id_ = 1;
    settled_ = left_ = goes_ = table_used_ = table_gone_ = size_change_due_ = false;
    out_ = wire::h2_preface;
    // No push: it would be an answer that nothing requested, and the load counts those as errors.
    constexpr std::array ours{
        wire::H2Setting{wire::H2SettingId::enable_push, 0},
        wire::H2Setting{wire::H2SettingId::initial_window_size, window_bytes}};
    append(64, [&](std::span<char> out) { return wire::write_h2_settings(out, ours); });
    append(wire::h2_window_update_bytes, [&](std::span<char> out) {
        return wire::write_h2_window_update(out, 0, receive_.announce());
    });
    flush();
}

// Waits for the server's settings, so that it never gets more streams at once than it allows.
std::size_t LoadH2::room() const {
    if (!settled_ || left_ || is_last()) return 0;
    const std::uint64_t most = std::min<std::uint64_t>(rules_.depth, peer_.max_concurrent_streams);
    return streams_.size() < most ? static_cast<std::size_t>(most) - streams_.size() : 0;
}

void LoadH2::ask(Instant intended) {
    // Three spellings of one request, made once for the run, so that the generator spends its time
    // on sending.
    const LoadRequest& request = *rules_.request;
    // The first request fills the server's table, later ones refer to it.
    const std::string& block = !table_used_   ? request.block_first
                               : !table_gone_ ? request.block_again
                                              : request.block_plain;
    const std::string changed =
        // RFC 7541, 4.2: a smaller table has to be confirmed at the start of the next block.
        std::exchange(size_change_due_, false) ? table_size_zero + request.block_plain : "";
    std::uint8_t flags = request.has_body ? 0 : wire::h2_flag::end_stream;
    auto type = wire::H2FrameType::headers;
    ByteView rest = changed.empty() ? block : changed;
    do {
        const ByteView piece = rest.substr(0, wire::h2_frame_bytes_min);
        rest.remove_prefix(piece.size());
        if (rest.empty()) flags |= wire::h2_flag::end_headers;
        append_frame({static_cast<std::uint32_t>(piece.size()), type, flags, next_id_}, piece);
        type = wire::H2FrameType::continuation;
        flags = 0;
    } while (!rest.empty());
    table_used_ = true;
    part_ = Part::head;
    streams_.push_back({.id = next_id_,
                        .intended = intended,
                        .send = wire::H2SendWindow(peer_.initial_window_size)});
    next_id_ += 2;
    if (request.has_body) send_bodies();
}

void LoadH2::send_bodies() {
    if (!rules_.request->has_body) return;
    for (Stream& stream : streams_) {
        if (stream.body_sent < rules_.request->body.size() && !send_body_of(stream)) return;
    }
}

// False: nothing more can be sent now.
bool LoadH2::send_body_of(Stream& stream) {
    const ByteView body = rules_.request->body;
    while (stream.body_sent < body.size()) {
        if (send_.available() == 0 || client_->unsent() >= unsent_bytes_max) return false;
        const std::size_t bytes =
            std::min({body.size() - stream.body_sent, std::size_t{stream.send.available()},
                      std::size_t{send_.available()}, std::size_t{wire::h2_frame_bytes_min}});
        // This stream's window is shut, which must not stop the others.
        if (bytes == 0) return true;
        // Heads leave apart from bodies, because a slow sender may drip one of the two alone.
        flush();
        const bool last = stream.body_sent + bytes == body.size();
        append_frame({static_cast<std::uint32_t>(bytes), wire::H2FrameType::data,
                      last ? wire::h2_flag::end_stream : std::uint8_t{0}, stream.id},
                     body.substr(stream.body_sent, bytes));
        part_ = Part::body;
        flush();
        stream.body_sent += bytes;
        step(stream);
        stream.send.spend(static_cast<std::uint32_t>(bytes));
        send_.spend(static_cast<std::uint32_t>(bytes));
    }
    return true;
}

std::size_t LoadH2::hear(ByteView data) {
    using Status = wire::H2FrameReader::Status;
    std::size_t used = 0;
    while (!left_) {
        const auto step = reader_.next(data.substr(used));
        used += step.used;
        if (step.status == Status::need_more) break;
        const bool good = step.status == Status::frame &&
                          std::visit([&](const auto& frame) { return take(frame); }, step.frame);
        if (good) continue;
        if (left_) break;
        client_->found("frames that HTTP/2 does not allow");
        // No request fails with it, and yet the run must not look right.
        if (streams_.empty()) client_->failed_besides(LoadError::not_http);
        fail_all(LoadError::not_http);
        leave();
    }
    flush();
    return left_ ? data.size() : used;
}

bool LoadH2::take(const wire::H2SettingsFrame& settings) {
    if (settings.ack) return true;
    const std::uint32_t before = peer_.initial_window_size;
    if (peer_.apply(settings.entries) != H2Error::no_error) return false;
    // RFC 9113, 6.9.2: a new initial window also moves the windows of open streams.
    for (Stream& stream : streams_) {
        if (!stream.send.move(before, peer_.initial_window_size)) return false;
    }
    append(wire::h2_settings_ack_bytes,
           [](std::span<char> out) { return wire::write_h2_settings_ack(out); });
    // The prepared blocks need the table's default size, so without it none of them uses the table.
    if (peer_.header_table_size < wire::HpackEncoder::default_table_bytes && !table_gone_) {
        table_gone_ = table_used_ = size_change_due_ = true;
    }
    settled_ = true;
    send_bodies();
    // room() is 0 until the first SETTINGS.
    client_->room_changed();
    return true;
}

// False: the bytes are no valid field block, or not the head of an answer.
bool LoadH2::read_head(const wire::H2Headers& headers, Stream& stream, bool& interim) {
    const auto part = stream.has_head ? wire::H2ResponsePart::trailers : wire::H2ResponsePart::head;
    const wire::H2ResponseParse parse = wire::parse_h2_response(
        decoder_, headers.block, *rules_.arena, {.list_bytes_max = fields_bytes_max}, part,
        [](ByteView, ByteView) {});
    if (parse.status != wire::H2ResponseParse::Status::complete) return false;
    if (stream.has_head) return headers.end_stream;  // trailers
    // A 1xx is no answer: it does not count, and another head follows (RFC 9113, 8.1).
    interim = parse.interim();
    if (interim) return !headers.end_stream && parse.code != 101;
    stream.length = parse.content_length;
    stream.answer.status = parse.code;
    stream.has_head = true;
    return true;
}

bool LoadH2::take(const wire::H2Headers& headers) {
    const auto stream = find(headers.stream);
    Stream ignored{.id = 0, .intended = {}, .send = wire::H2SendWindow()};
    bool interim = false;
    if (stream == streams_.end()) {
        // One that we gave up; its block is read for the table.
        read_head(headers, ignored, interim);
        // A frame for a stream that was never opened is a fault of the server's.
        return is_over(headers.stream);
    }
    if (!read_head(headers, *stream, interim)) return false;
    if (!interim) step(*stream);
    return !headers.end_stream || finish(stream);
}

bool LoadH2::take(const wire::H2Data& data) {
    // A frame comes in pieces, and counts once, with its padding (RFC 9113, 6.9.1).
    if (data.frame_begins && !receive_.receive(data.flow_bytes)) return false;
    const auto used = static_cast<std::uint32_t>(data.bytes.size()) + data.padding_bytes;
    const auto give_back = [&](wire::H2ReceiveWindow& window, std::uint32_t id) {
        const std::uint32_t increment = window.give_back(used);
        if (increment == 0) return;
        append(wire::h2_window_update_bytes, [&](std::span<char> out) {
            return wire::write_h2_window_update(out, id, increment);
        });
    };
    // First, because the connection's window also counts the bytes of streams that are gone.
    give_back(receive_, 0);
    const auto stream = find(data.stream);
    if (stream == streams_.end()) return is_over(data.stream);
    if (!stream->has_head) return false;  // a body without a head (RFC 9113, 8.1)
    if (data.frame_begins && !stream->receive.receive(data.flow_bytes)) return false;
    stream->answer.length += data.bytes.size();
    if (!data.bytes.empty()) step(*stream);
    if (rules_.hash) stream->answer.hash = crc32(stream->answer.hash, data.bytes);
    if (data.end_stream) return finish(stream);
    give_back(stream->receive, data.stream);
    return true;
}

bool LoadH2::finish(Streams::iterator stream) {
    // A copy, because the stream leaves the list before its answer is reported.
    const Stream done = *stream;
    ++progress_;
    const bool without_body = rules_.request->is_head || done.answer.status == 304;
    if (done.length && *done.length != done.answer.length && !without_body) return false;
    streams_.erase(stream);
    if (done.body_sent < rules_.request->body.size()) {
        // Answered before all of it was sent: the rest is not sent.
        append(wire::h2_rst_stream_bytes, [&](std::span<char> out) {
            return wire::write_h2_rst_stream(out, done.id, H2Error::cancel);
        });
    }
    client_->answered(done.answer, done.intended);
    if (is_last() && streams_.empty()) leave();
    return true;
}

bool LoadH2::take(const wire::H2RstStream& reset) {
    const auto stream = find(reset.stream);
    if (stream == streams_.end()) return is_over(reset.stream);
    // Not sent again, even where the server did not process it: a load that hides refusals would
    // report a server at its limit as a good one.
    fail(stream, LoadError::stream_reset);
    if (is_last() && streams_.empty()) leave();
    return true;
}

bool LoadH2::take(const wire::H2Ping& ping) {
    if (ping.ack) return true;
    append(wire::h2_ping_bytes,
           [&](std::span<char> out) { return wire::write_h2_ping(out, ping.data, true); });
    return true;
}

// Requests that the server did not read are retried elsewhere.
bool LoadH2::take(const wire::H2Goaway& goaway) {
    goes_ = true;
    for (std::size_t i = 0; i < streams_.size();) {
        if (streams_[i].id <= goaway.last_stream) {
            ++i;
            continue;
        }
        const Instant intended = streams_[i].intended;
        streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(i));
        client_->give_back(intended);
    }
    if (streams_.empty()) leave();
    return true;
}

bool LoadH2::take(const wire::H2WindowUpdate& update) {
    const auto stream = find(update.stream);
    // grow() refuses a window above 2^31 - 1 (RFC 9113, 6.9.1).
    if (update.stream == 0) {
        if (!send_.grow(update.increment)) return false;
    } else if (stream == streams_.end()) {
        return is_over(update.stream);
    } else if (!stream->send.grow(update.increment)) {
        return false;
    }
    send_bodies();
    return true;
}

void LoadH2::fail(Streams::iterator stream, LoadError error) {
    const Instant intended = stream->intended;
    streams_.erase(stream);
    client_->failed(error, intended);
}

void LoadH2::fail_all(LoadError error) {
    left_ = true;
    while (!streams_.empty()) fail(streams_.begin(), error);
}

// A stream that stalls beside others that go on fails alone.
bool LoadH2::is_late(Instant now, Instant, Instant resumed, Duration timeout) {
    if (!settled_) {
        // The run would wait for ever, because no request may be sent before them.
        if (left_ || now - resumed < timeout) return false;
        client_->found("no SETTINGS frame came in time");
        client_->failed_waiting(LoadError::timed_out);
        return true;
    }
    const bool asked = !streams_.empty();
    for (std::size_t i = 0; i < streams_.size();) {
        Stream& stream = streams_[i];
        if (std::exchange(stream.steps_seen, stream.steps) != stream.steps) stream.since = now;
        if (now - std::max(stream.since, resumed) < timeout) {
            ++i;
            continue;
        }
        append(wire::h2_rst_stream_bytes, [&](std::span<char> out) {
            return wire::write_h2_rst_stream(out, stream.id, H2Error::cancel);
        });
        fail(streams_.begin() + static_cast<std::ptrdiff_t>(i), LoadError::timed_out);
    }
    flush();
    // With the last one the connection has stalled as well.
    return asked && streams_.empty();
}

void LoadH2::ended(bool unread) {
    // A server that ends inside an answer has a fault; one that ends before it may have a limit.
    const bool begun = unread || std::ranges::any_of(streams_, &Stream::has_head);
    fail_all(begun ? LoadError::cut_short : LoadError::closed_early);
    leave();
}

void LoadH2::leave() {
    left_ = true;
    client_->leave();
}

}  // namespace

std::unique_ptr<LoadDialogue> make_load_h2(LoadDialogue::Client& client,
                                           const LoadDialogue::Rules& rules) {
    return std::make_unique<LoadH2>(client, rules);
}

}  // namespace tiderace::load
