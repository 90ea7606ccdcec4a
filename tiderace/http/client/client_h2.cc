#include "tiderace/http/client/client_h2.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/client/client_connection.h"
#include "tiderace/http/wire/h2/frame_writer.h"

namespace tiderace::http {

using wire::H2Act;
using wire::H2Error;
using wire::H2StreamState;

namespace {

constexpr std::uint32_t first_window_bytes = 65'535;  // RFC 9113, 6.9.2
constexpr wire::H2PingData are_you_there{'t', 'h', 'e', 'r', 'e', '?', '?', '?'};

// As RFC 9113, 6.5.2 counts them.
std::size_t list_bytes(const Headers& fields) {
    std::size_t bytes = 0;
    for (const Header& field : fields) {
        bytes += field.name.size() + field.value.size() + wire::hpack_field_overhead;
    }
    return bytes;
}

std::size_t list_bytes(const ClientHead& head) {
    constexpr std::size_t pseudo_names = 4 * wire::hpack_field_overhead + 32;
    return pseudo_names + head.method.size() + head.authority.size() + head.target.size() +
           list_bytes(head.fields);
}

// "" when a field cannot be sent.
ByteView encode(wire::HpackEncoder& encoder, const ClientHead& head, std::span<char> out) {
    using wire::PseudoField;
    wire::HpackEncoder::Block block(encoder, out);
    block.pseudo(PseudoField::method, head.method);
    block.pseudo(PseudoField::scheme, head.secure ? "https" : "http");
    block.pseudo(PseudoField::authority, head.authority);
    block.pseudo(PseudoField::path, head.target);
    for (const Header& field : head.fields) block.field(field.name, field.value);
    return block.finish();
}

}  // namespace

net::Backlog ClientH2Stream::write(ByteView piece, bool last) {
    return connection_->write(*this, piece, last);
}
void ClientH2Stream::taken(std::size_t bytes) {
    connection_->taken(*this, bytes);
}
void ClientH2Stream::give_up() {
    connection_->give_up(*this);
}

ClientH2::ClientH2(ClientConnection& connection)
    : connection_(&connection),
      receive_(first_window_bytes),
      budget_(connection.below().loop().now()) {
    say_settings();
}

// --- sending ---------------------------------------------------------------------------------

void ClientH2::say(ByteView frames) {
    if (!over_) connection_->below().write(frames);
}

void ClientH2::say_settings() {
    constexpr std::array ours{
        wire::H2Setting{wire::H2SettingId::enable_push, 0},
        wire::H2Setting{wire::H2SettingId::initial_window_size, Stream::first_window_bytes},
        wire::H2Setting{wire::H2SettingId::max_header_list_size,
                        static_cast<std::uint32_t>(head_limits.list_bytes_max)}};
    std::array<char, 64> frame;
    say(wire::h2_preface);
    say({frame.data(), wire::write_h2_settings(frame, ours)});
    // The connection's window covers the windows of all streams, so that one slow reader stops no
    // other.
    receive_.enlarge(all_windows_bytes);
    update_window(0, receive_.announce());
}

void ClientH2::say_head(std::uint32_t stream, ByteView block, bool end_stream) {
    std::uint8_t flags = end_stream ? wire::h2_flag::end_stream : std::uint8_t{0};
    auto type = wire::H2FrameType::headers;
    // A block larger than a frame continues in CONTINUATION frames, which nothing may interrupt
    // (RFC 9113, 6.10). All are queued in this one call.
    do {
        const ByteView piece = block.substr(0, wire::h2_frame_bytes_min);
        block.remove_prefix(piece.size());
        if (block.empty()) flags |= wire::h2_flag::end_headers;
        std::array<char, wire::h2_frame_header_bytes> header;
        wire::write_h2_frame_header(
            header, {static_cast<std::uint32_t>(piece.size()), type, flags, stream});
        say({header.data(), header.size()});
        say(piece);
        type = wire::H2FrameType::continuation;
        flags = 0;
    } while (!block.empty());
}

void ClientH2::say_trailers(const Stream& stream) {
    const Headers& trailers = stream.exchange_->request_trailers;
    std::string out(wire::hpack_field_overhead + list_bytes(trailers), '\0');
    wire::HpackEncoder::Block block(encoder_, out);
    for (const Header& field : trailers) block.field(field.name, field.value);
    say_head(stream.id_, block.finish(), true);
}

void ClientH2::update_window(std::uint32_t stream, std::uint32_t increment) {
    if (increment == 0) return;
    std::array<char, wire::h2_window_update_bytes> frame;
    say({frame.data(), wire::write_h2_window_update(frame, stream, increment)});
}

void ClientH2::reset(std::uint32_t stream, H2Error error) {
    std::array<char, wire::h2_rst_stream_bytes> frame;
    say({frame.data(), wire::write_h2_rst_stream(frame, stream, error)});
}

ClientLink* ClientH2::begin(ClientExchange& exchange, const ClientHead& head) {
    TR_CHECK(room() > 0, "a request on a connection that has no room for it");
    const std::size_t size = list_bytes(head);
    const auto refuse = [&](const char* why) {
        exchange.on_failed(connection_->fault(ClientFault::Kind::bad_request, why, false),
                           Progress::untouched);
        return nullptr;
    };
    // Before it is encoded: a block that is finished is one that the server reads, and what it put
    // into our table must be in the server's.
    if (size > peer_.max_header_list_size) return refuse("the server rejects a head that large");
    std::string out(size, '\0');  // each field counts for more than it takes
    const ByteView block = encode(encoder_, head, out);
    if (block.empty()) return refuse("no message may hold its fields");
    const std::uint32_t id = std::exchange(next_id_, next_id_ + 2);
    // Frames of streams that we never opened are a fault of the server's, and this is where we know
    // which.
    closed_.open(id);
    // room() above has made sure that the share is there.
    exchange.hold(ReceiveShare(connection_->all().receive_budget()));
    streams_.push_back(std::make_unique<Stream>(*this, exchange, id, peer_.initial_window_size));
    Stream& stream = *streams_.back();
    // All are of one urgency, and take turns.
    scheduler_.set_priority(stream, {.incremental = true});
    // Compared in give_up(): if nothing came since, the server may be gone, and a PING decides.
    stream.heard_before_ = heard_;
    stream.mark_ = connection_->mark();
    stream.request_ended_ = !exchange.has_body();
    say_head(id, block, stream.request_ended_);
    idle_due_ = Instant::max();
    arm();
    // A connection has 2^30 streams of ours, and numbers are never used again (RFC 9113, 5.1.1).
    if (next_id_ > wire::h2_stream_max) {
        going_away_ = true;
        connection_->leave();
    }
    return &stream;
}

net::Backlog ClientH2::write(Stream& stream, ByteView piece, bool last) {
    // A request without a body ended with its head.
    if (stream.request_ended_) return net::Backlog::low;
    // The body is sent by now, so that this is the request's failure, as its generator's is.
    if (last && list_bytes(stream.exchange_->request_trailers) > peer_.max_header_list_size) {
        throw std::length_error("the server rejects trailers that large");
    }
    // Moved once for each piece of the caller, not once for each frame.
    stream.unsent_.erase(0, std::exchange(stream.unsent_begin_, 0));
    stream.unsent_ += piece;
    stream.last_ = last;
    scheduler_.add(stream);
    const std::uint32_t id = stream.id_;
    fill();
    const Stream* const left = find(id);  // it may have ended
    return left != nullptr && left->has_backlog() ? net::Backlog::high : net::Backlog::low;
}

// Until the queue holds enough: what waits in the streams can still be given up.
void ClientH2::fill() {
    while (!over_) {
        Stream* const stream = scheduler_.next();
        if (stream == nullptr) return;
        if (connection_->below().queue_bytes() >= queue_bytes_wanted) {
            return connection_->below().want_drained();
        }
        if (!send_piece(*stream)) return;
    }
}

// False: the connection's window is used up.
bool ClientH2::send_piece(Stream& stream) {
    const std::size_t unsent = stream.unsent_bytes();
    const auto bytes = static_cast<std::uint32_t>(std::min<std::size_t>(
        {unsent, stream.send_.available(), send_.available(), data_bytes_max}));
    if (bytes == 0 && unsent > 0) {
        if (send_.available() == 0) return false;
        scheduler_.remove(stream);  // until its window grows
        return true;
    }
    const bool ends = stream.last_ && bytes == unsent;
    const bool trailers = ends && !stream.exchange_->request_trailers.empty();
    if (bytes > 0 || (ends && !trailers)) {
        std::array<char, wire::h2_frame_header_bytes> header;
        wire::write_h2_frame_header(
            header, {bytes, wire::H2FrameType::data,
                     ends && !trailers ? wire::h2_flag::end_stream : std::uint8_t{0}, stream.id_});
        say({header.data(), header.size()});
        say(ByteView(stream.unsent_).substr(stream.unsent_begin_, bytes));
    }
    if (trailers) say_trailers(stream);
    stream.unsent_begin_ += bytes;
    stream.send_.spend(bytes);
    send_.spend(bytes);
    budget_.transferred(bytes);
    scheduler_.sent_piece(stream);
    if (stream.has_backlog()) return true;
    scheduler_.remove(stream);
    // Memory is given back here, because a stream may wait long for its answer.
    std::string().swap(stream.unsent_);
    stream.unsent_begin_ = 0;
    stream.request_ended_ = ends;
    // It wakes the upload, which runs later: the stream cannot end inside this call.
    stream.exchange_->on_writable();
    finish_if_done(stream);
    return true;
}

// --- streams ---------------------------------------------------------------------------------

ClientH2::Stream* ClientH2::find(std::uint32_t id) {
    const auto found = std::ranges::lower_bound(
        streams_, id, {}, [](const std::unique_ptr<Stream>& stream) { return stream->id_; });
    return found != streams_.end() && (*found)->id_ == id ? found->get() : nullptr;
}

// Destroys the stream. The caller ends its exchange, then calls after_close().
ClientExchange& ClientH2::close(Stream& stream, H2StreamState how) {
    ClientExchange& exchange = *stream.exchange_;
    closed_.remember(stream.id_, how);
    std::erase_if(streams_, [&](const auto& each) { return each.get() == &stream; });
    return exchange;
}

void ClientH2::after_close() {
    if (over_) return;
    if (going_away_ && streams_.empty()) {
        connection_->retire();
    } else {
        connection_->ready();
    }
}

void ClientH2::finish_if_done(Stream& stream) {
    if (!stream.answer_ended_) return;
    // An answer may come before the request was sent; an error is not worth sending the rest.
    const bool refused = stream.exchange_->status() >= 300;
    if (!stream.request_ended_ && !refused) return;
    if (!stream.request_ended_) reset(stream.id_, H2Error::cancel);
    budget_.answered();
    close(stream, stream.request_ended_ ? H2StreamState::ended : H2StreamState::reset_by_us)
        .on_end();
    after_close();
}

// The server broke the rules on one stream.
void ClientH2::fail_stream(Stream& stream, H2Error error, std::string_view why) {
    // A server that breaks one stream after another costs us work for each, and is cut off by its
    // budget.
    if (!charge(H2Act::fault)) return;
    reset(stream.id_, error);
    const ClientFault fault = connection_->fault(ClientFault::Kind::bad_answer, why, true);
    close(stream, H2StreamState::reset_by_us).on_failed(fault, Progress::touched);
    after_close();
}

// The server ended one stream.
void ClientH2::fail_exchange(Stream& stream, H2StreamState how, std::string_view why,
                             Progress progress) {
    const ClientFault fault =
        connection_->fault(ClientFault::Kind::closed, why, progress == Progress::touched);
    close(stream, how).on_failed(fault, progress);
}

void ClientH2::taken(Stream& stream, std::size_t bytes) {
    // An ended stream does not use its window; the update would only be traffic.
    if (over_ || stream.answer_ended_) return;
    update_window(stream.id_, stream.receive_.give_back(static_cast<std::uint32_t>(bytes)));
}

// A request that got no byte may have met a dead connection: no other is begun on it until the PING
// is answered (room()), and without an answer it ends.
void ClientH2::give_up(Stream& stream) {
    reset(stream.id_, H2Error::cancel);
    const bool silent = stream.heard_before_ == heard_;
    close(stream, H2StreamState::reset_by_us);
    if (over_) return;
    if (silent && ping_due_ == Instant::max()) {
        std::array<char, wire::h2_ping_bytes> frame;
        say({frame.data(), wire::write_h2_ping(frame, are_you_there, false)});
        ping_due_ = connection_->below().loop().now() + ping_timeout;
        arm();
    }
    after_close();
}

// --- the connection --------------------------------------------------------------------------

std::size_t ClientH2::room() const {
    //  open -- GOAWAY, or numbers used up --> going_away_ -- its last stream ends --> over_
    //   |                                                                              ^
    //   +-- PING sent: no room until anything comes -- fail(), retire(), the close ----+
    if (over_ || going_away_ || ping_due_ != Instant::max()) return 0;
    const std::size_t most = std::min(reader_.settled() ? streams_max : streams_before_settings_max,
                                      peer_.max_concurrent_streams);
    return std::min(most - std::min(most, streams_.size()),
                    connection_->all().receive_budget()->shares_left());
}

// Work without an answer spends a budget: floods of PING, SETTINGS, CONTINUATION,
// empty frames.
bool ClientH2::charge(H2Act act, std::uint32_t times) {
    if (times == 0 || budget_.charge(act, connection_->below().loop().now(), times)) return true;
    fail(H2Error::enhance_your_calm);
    return false;
}

void ClientH2::fail(H2Error error) {
    if (over_) return;
    std::array<char, wire::h2_goaway_bytes> frame;
    say({frame.data(), wire::write_h2_goaway(frame, 0, error)});
    connection_->below().finish();
    std::string why = "the server broke HTTP/2 (";
    why.append(to_string(error)) += ')';
    connection_->end_exchanges(ClientFault::Kind::bad_answer, why);
}

bool ClientH2::say_end() {
    if (over_) return true;
    std::array<char, wire::h2_goaway_bytes> frame;
    say({frame.data(), wire::write_h2_goaway(frame, 0, H2Error::no_error)});
    over_ = true;
    connection_->below().close_when_sent();
    return true;
}

void ClientH2::on_closed(ClientFault::Kind kind, std::string_view why) {
    over_ = true;
    for (const auto& stream : std::exchange(streams_, {})) {
        // A whole answer is one, however much of the request was still to be sent.
        if (stream->answer_ended_) {
            stream->exchange_->on_end();
            continue;
        }
        const Progress without_a_byte =
            connection_->is_unsent(stream->mark_) ? Progress::unsent : Progress::untouched;
        stream->exchange_->on_failed(connection_->fault(kind, why, stream->touched_),
                                     stream->touched_ ? Progress::touched : without_a_byte);
    }
}

void ClientH2::on_peer_finished() {
    // HTTP/2 needs both directions: without the server's there are no more answers, nor window
    // updates.
    connection_->fail(ClientFault::Kind::closed, "");
}

void ClientH2::idle_until(Instant when) {
    // From the last request on: frames of the server meanwhile do not keep the connection.
    idle_due_ = std::min(idle_due_, when);
    arm();
}

void ClientH2::arm() {
    if (!over_) connection_->below().set_deadline(std::min(idle_due_, ping_due_));
}

void ClientH2::on_deadline() {
    const Instant now = connection_->below().loop().now();
    // One deadline of the connection serves two times; here we see which of them has come.
    if (now >= ping_due_) {
        connection_->fail(ClientFault::Kind::closed, "the server does not answer");
    } else if (now >= idle_due_ && streams_.empty()) {
        connection_->retire();
    } else {
        arm();
    }
}

std::unique_ptr<ClientProtocol> make_client_h2(ClientConnection& connection) {
    return std::make_unique<ClientH2>(connection);
}

}  // namespace tiderace::http
