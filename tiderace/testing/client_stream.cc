#include "tiderace/testing/client_stream.h"

#include <array>
#include <utility>

#include "tiderace/http/wire/chunked.h"
#include "tiderace/testing/client/stage.h"

namespace tiderace::testing {
namespace {

// Where the first line ends, and where the next begins; npos: it does not end yet. A CR at the end
// may be half of a CR LF.
struct LineEnd {
    std::size_t end = std::string_view::npos;
    std::size_t next = 0;
};
LineEnd find_line_end(std::string_view text) {
    const std::size_t at = text.find_first_of("\r\n");
    if (at == text.npos || (text[at] == '\r' && at + 1 == text.size())) return {};
    const bool two = text[at] == '\r' && text[at + 1] == '\n';
    return {at, at + (two ? 2 : 1)};
}

}  // namespace

Stream::Stream(ClientStage& stage, std::unique_ptr<ClientExchange> exchange)
    : stage_(&stage), exchange_(std::move(exchange)) {}
Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;

// Listens only in here: between two reads the server finds no room.
void Stream::look(std::size_t bytes_max) {
    exchange_->look(bytes_max);
    if (exchange_->over() || exchange_->body().size() >= bytes_max) return;
    exchange_->set_listening(true);
    stage_->world().forget_turns();
    stage_->settle([&] {
        exchange_->look(bytes_max);
        return exchange_->over() || exchange_->body().size() >= bytes_max;
    });
    exchange_->set_listening(false);
}

int Stream::status() {
    if (exchange_->status() == 0) look(1);
    return exchange_->status();
}

const http::Headers& Stream::headers() {
    status();
    return exchange_->fields();
}

std::string Stream::read() {
    look(read_bytes_max);
    std::string got = std::exchange(unparsed_, {}) + exchange_->body().substr(0, read_bytes_max);
    exchange_->body().erase(0, read_bytes_max);
    return got;
}

// The event stream format of HTML, 9.2.6.
std::optional<StreamEvent> Stream::next_event() {
    // All from the start of the event, each time: what a test gets is small, and an event is either
    // whole or still to come.
    unparsed_ = read();
    StreamEvent event;
    bool has_data = false;
    std::string_view rest = unparsed_;
    for (LineEnd line = find_line_end(rest); line.end != rest.npos; line = find_line_end(rest)) {
        const std::string_view text = rest.substr(0, line.end);
        rest.remove_prefix(line.next);
        if (text.empty() && has_data) {
            event.id = last_id_;
            unparsed_ = std::string(rest);
            return event;
        }
        const std::size_t colon = text.find(':');
        const std::string_view name = text.substr(0, colon);
        std::string_view value = colon == text.npos ? "" : text.substr(colon + 1);
        if (value.starts_with(' ')) value.remove_prefix(1);
        if (name == "data") {
            if (std::exchange(has_data, true)) event.data += '\n';
            event.data += value;
        } else if (name == "event") {
            event.event = value;
        } else if (name == "id") {
            last_id_ = value;
        } else if (text.empty()) {
            event = {};
        }
    }
    return std::nullopt;
}

bool Stream::ended() {
    look(1);
    return exchange_->done() && exchange_->body().empty() && unparsed_.empty();
}

const std::string& Stream::fault() {
    look(read_bytes_max);
    return exchange_->fault();
}

void Stream::write(ByteView bytes) {
    TR_CHECK(exchange_->uploading, "write to a stream that is no upload, or has ended");
    // An empty chunk would be the last one.
    if (bytes.empty()) return;
    std::array<char, http::wire::chunk_head_bytes_max> head{};
    const std::size_t head_bytes = http::wire::format_chunk_head(bytes.size(), head.data());
    exchange_->say(
        std::string(head.data(), head_bytes).append(bytes).append(http::wire::chunk_end));
    stage_->settle([] { return false; });
}

void Stream::finish() {
    TR_CHECK(std::exchange(exchange_->uploading, false), "finish of a stream that is no upload");
    exchange_->say(http::wire::last_chunk);
    stage_->settle([] { return false; });
}

void Stream::close() {
    exchange_->uploading = false;
    exchange_->close();
    stage_->settle([] { return false; });
}

}  // namespace tiderace::testing
