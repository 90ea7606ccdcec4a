// HTTP/1.1 (RFC 9112) from the client's side: one exchange after another.
//
//   idle -> begin() -> write()… -> the answer -> idle, or closed
#include <array>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/client/client_connection.h"
#include "tiderace/http/client/client_protocol.h"
#include "tiderace/http/wire/chunked.h"
#include "tiderace/http/wire/response_reader.h"

namespace tiderace::http {
namespace {

// Gives the pieces of a head to `put`, in their order.
template <typename Put>
void render(const ClientHead& head, bool chunked, Put&& put) {
    put(head.method);
    put(" ");
    put(head.target);
    put(" HTTP/1.1\r\nHost: ");
    put(head.authority);
    put("\r\n");
    put(head.fields.lines());
    if (chunked) put("Transfer-Encoding: chunked\r\n");
    put("\r\n");
}

// Written in place in the queue if it fits into one block, which saves a copy.
void write_head(net::Connection& below, const ClientHead& head, bool chunked) {
    std::size_t bytes = 0;
    render(head, chunked, [&](ByteView piece) { bytes += piece.size(); });
    if (bytes > core::BlockPool::block_room_bytes || below.closing()) {
        std::string text;
        text.reserve(bytes);
        render(head, chunked, [&](ByteView piece) { text += piece; });
        below.write(text);
        return;
    }
    char* to = below.queue().reserve_at_least(below.blocks(), bytes).data();
    render(head, chunked, [&](ByteView piece) { to += piece.copy(to, piece.size()); });
    below.queue().commit(bytes);
    below.written();
}

// With trailers (RFC 9112, 7.1.2).
std::string render_last_chunk(const Headers& trailers) {
    return std::string("0\r\n").append(trailers.lines()).append("\r\n");
}

class ClientH1 final : public ClientProtocol, private ClientLink {
  public:
    explicit ClientH1(ClientConnection& connection) : connection_(&connection) {}

    ClientLink* begin(ClientExchange& exchange, const ClientHead& head) override;
    std::size_t room() const override { return exchange_ == nullptr ? 1 : 0; }
    std::size_t exchanges() const override { return exchange_ == nullptr ? 0 : 1; }
    bool multiplexes() const override { return false; }

    std::size_t on_data(ByteView data) override;
    void on_drained() override {
        if (exchange_ != nullptr) exchange_->on_writable();
    }
    void on_peer_finished() override;
    void on_deadline() override { connection_->retire(); }
    void on_closed(ClientFault::Kind kind, std::string_view why) override;
    void idle_until(Instant when) override { connection_->below().set_deadline(when); }

  private:
    // Above it the body waits. Less than the connection's queue_bytes_high, above which nothing is
    // read: a server may answer, and take no more of the body.
    static constexpr std::uint64_t queue_bytes_wanted = 128_KiB;

    net::Backlog write(ByteView piece, bool last) override;
    bool has_backlog() const override {
        return connection_->below().has_backlog() ||
               connection_->below().queue_bytes() >= queue_bytes_wanted;
    }
    void kept(std::size_t unread) override {
        if (unread >= ClientExchange::buffer_bytes_high) connection_->below().set_reading(false);
    }
    void taken(std::size_t bytes) override {
        if (bytes >= ClientExchange::buffer_bytes_high) connection_->below().set_reading(true);
    }
    void give_up() override;

    void answer_ended(bool more_came);
    void finish_exchange(bool reusable);

    ClientConnection* connection_;
    ClientExchange* exchange_ = nullptr;
    wire::ResponseReader reader_;
    std::uint64_t mark_ = 0;  // where the present request begins
    bool kept_ = false;       // it had an exchange before the present one
    bool touched_ = false;    // a byte of the present answer has come
    bool request_sent_ = false;
    bool answer_ended_ = false;
};

ClientLink* ClientH1::begin(ClientExchange& exchange, const ClientHead& head) {
    TR_CHECK(exchange_ == nullptr, "two requests at once on a connection of HTTP/1.1");
    exchange_ = &exchange;
    // An answer to HEAD has the fields of a GET's and no body (RFC 9112, 6.3). Only the request
    // shows it.
    reader_.next(exchange.to_head());
    touched_ = request_sent_ = answer_ended_ = false;
    mark_ = connection_->mark();
    connection_->below().set_deadline(Instant::max());
    write_head(connection_->below(), head, exchange.unknown_length());
    return this;
}

net::Backlog ClientH1::write(ByteView piece, bool last) {
    net::Connection& below = connection_->below();
    const bool chunked = exchange_->unknown_length();
    // An empty chunk is the last one (RFC 9112, 7.1): an empty piece must not end the body.
    if (chunked && !piece.empty()) {
        std::array<char, wire::chunk_head_bytes_max> line{};
        const std::size_t bytes = wire::format_chunk_head(piece.size(), line.data());
        below.write(ByteView(line.data(), bytes));
        below.write(piece);
        piece = wire::chunk_end;
    }
    below.write(piece);
    if (!last) {
        if (!has_backlog()) return net::Backlog::low;
        below.want_drained();
        return net::Backlog::high;
    }
    if (chunked && exchange_->request_trailers.empty()) below.write(wire::last_chunk);
    if (chunked && !exchange_->request_trailers.empty()) {
        below.write(render_last_chunk(exchange_->request_trailers));
    }
    request_sent_ = true;
    if (answer_ended_) finish_exchange(true);
    return net::Backlog::low;
}

// The answer is not wanted any more, and it cannot be skipped without reading it.
void ClientH1::give_up() {
    exchange_ = nullptr;
    connection_->abort();
}

std::size_t ClientH1::on_data(ByteView data) {
    using Status = wire::ResponseReader::Status;
    using Kind = ClientFault::Kind;
    std::size_t used = 0;
    // A server that answers unasked on a kept connection, with 408 mostly, ends it (RFC 9112, 9.5).
    // Such an answer is not about a request that has not left yet.
    const bool unasked = kept_ && !touched_ && connection_->is_unsent(mark_);
    while (exchange_ != nullptr && !answer_ended_ && !unasked) {
        touched_ = true;
        wire::FieldPlaces& places = connection_->all().field_places();
        const auto step = reader_.step(data.substr(used), &places);
        used += step.used;
        switch (step.status) {
            case Status::need_more:
                return used;
            case Status::head: {
                const wire::ResponseStart& start = reader_.start();
                // ClientH1 sends no Upgrade. What followed would be of an unknown protocol.
                if (start.status == 101) {
                    connection_->fail(Kind::bad_answer, "it changes to a protocol not asked for");
                    return data.size();
                }
                exchange_->fields().add_lines(step.data, places);
                exchange_->on_head(
                    start.version_minor == 0 ? HttpVersion::http_1_0 : HttpVersion::http_1_1,
                    start.status);
                break;
            }
            case Status::data:
                exchange_->on_data(step.data);
                break;
            case Status::trailer:
                exchange_->trailers().add(step.trailer.name, step.trailer.value);
                break;
            case Status::done:
                answer_ended(used < data.size());
                return data.size();
            case Status::refused:
                connection_->fail(Kind::bad_answer, to_string(reader_.fault()));
                return data.size();
        }
    }
    // Bytes that answer nothing: the next request could take them for its answer.
    connection_->fail(Kind::bad_answer, "unasked bytes");
    return data.size();
}

void ClientH1::answer_ended(bool more_came) {
    answer_ended_ = true;
    // Bytes behind the answer belong to no request, so the connection is not trusted any more.
    const bool reusable = reader_.start().keep_alive && !more_came;
    // An answer may come before the request was sent; an error is not worth sending the rest.
    const bool refused = reader_.start().status >= 300;
    if (request_sent_ || !reusable || refused) return finish_exchange(request_sent_ && reusable);
    exchange_->on_answer_end();
}

void ClientH1::finish_exchange(bool reusable) {
    ClientExchange* const exchange = std::exchange(exchange_, nullptr);
    kept_ = true;
    if (reusable) {
        // The last answer may have paused reading (kept()). The pool has to notice when the server
        // closes an idle connection, and the next answer has to arrive.
        connection_->below().set_reading(true);
        connection_->ready();
    } else {
        connection_->abort();
    }
    exchange->on_end();
}

void ClientH1::on_peer_finished() {
    // A whole answer is one, however much of the request was still to be sent.
    if (exchange_ != nullptr && (answer_ended_ || reader_.end_of_stream())) {
        answer_ended_ = true;
        return finish_exchange(false);
    }
    // Idle too: the pool forgets the connection before a request is sent into its closed end.
    connection_->fail(ClientFault::Kind::closed, "");
}

void ClientH1::on_closed(ClientFault::Kind kind, std::string_view why) {
    ClientExchange* const exchange = std::exchange(exchange_, nullptr);
    if (exchange == nullptr) return;
    // The answer is whole. The server did not need the rest of the request, which alone was lost.
    if (answer_ended_) return exchange->on_end();
    using Progress = ClientExchange::Progress;
    const Progress without_a_byte =
        connection_->is_unsent(mark_) ? Progress::unsent : Progress::untouched;
    exchange->on_failed(connection_->fault(kind, why, touched_),
                        touched_ ? Progress::touched : without_a_byte);
}

}  // namespace

std::unique_ptr<ClientProtocol> make_client_h1(ClientConnection& connection) {
    return std::make_unique<ClientH1>(connection);
}

}  // namespace tiderace::http
