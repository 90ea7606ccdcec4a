#include "tiderace/http/client/event_reader.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <system_error>

namespace tiderace::http {

std::optional<ReceivedEvent> EventParser::take(ByteView& bytes) {
    while (!bytes.empty() && !overflowed_) {
        if (std::exchange(after_cr_, false) && bytes[0] == '\n') {
            bytes.remove_prefix(1);
            continue;
        }
        const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
        if (end > event_bytes_max_ - line_.size()) {
            overflowed_ = true;
            return std::nullopt;
        }
        line_ += bytes.substr(0, end);
        if (end == bytes.size()) {
            bytes = {};
            return std::nullopt;
        }
        after_cr_ = bytes[end] == '\r';
        bytes.remove_prefix(end + 1);
        ByteView line = line_;
        if (std::exchange(is_first_, false) && line.starts_with("\xEF\xBB\xBF")) {
            line.remove_prefix(3);
        }
        const bool ends = take_line(line);
        line_.clear();
        if (!ends) continue;
        last_id_ = id_;
        ReceivedEvent event = std::exchange(event_, {.type = "", .data = ""});
        // Without a data line it is no event; one empty line of data is.
        if (event.data.empty()) continue;
        event.data.pop_back();
        if (event.type.empty()) event.type = "message";
        return event;
    }
    return std::nullopt;
}

bool EventParser::take_line(ByteView line) {
    if (line.empty()) return true;
    const std::size_t colon = std::min(line.find(':'), line.size());
    const ByteView name = line.substr(0, colon);
    ByteView value = line.substr(std::min(colon + 1, line.size()));
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (name == "data") {
        if (value.size() >= event_bytes_max_ - event_.data.size()) {
            overflowed_ = true;
            return false;
        }
        (event_.data += value) += '\n';
    } else if (name == "event") {
        event_.type = value;
    } else if (name == "id") {
        if (value.find('\0') == value.npos) id_ = value;
    } else if (name == "retry") {
        const bool digits = !value.empty() && value.find_first_not_of("0123456789") == value.npos;
        std::uint32_t milliseconds = 0;
        const auto read = std::from_chars(value.data(), value.data() + value.size(), milliseconds);
        if (digits && read.ec == std::errc{}) retry_ = std::chrono::milliseconds(milliseconds);
    }
    return false;  // a comment has no name, and unknown names are ignored
}

task::Task<ClientResult<std::optional<ReceivedEvent>>> EventReader::next() {
    while (true) {
        ByteView left = ByteView(piece_).substr(read_);
        auto event = parser_.take(left);
        read_ = piece_.size() - left.size();
        if (event) co_return event;
        if (parser_.overflowed()) {
            co_return std::unexpected(
                ClientFault(ClientFault::Kind::too_large,
                            stream_.url().text() + ": an event is too large"));
        }
        auto piece = co_await stream_.read();
        if (!piece) co_return std::unexpected(std::move(piece.error()));
        if (piece->empty()) co_return std::nullopt;
        piece_ = std::move(*piece);
        read_ = 0;
    }
}

}  // namespace tiderace::http
