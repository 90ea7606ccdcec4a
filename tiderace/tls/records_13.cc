#include "tiderace/tls/records_13.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace tiderace::tls {
namespace {

// RFC 8446, 5.2: encryption may add at most 256 bytes to a record's payload.
constexpr std::size_t longest_record_bytes =
    Records::header_bytes + Records::payload_bytes_max + 256;
constexpr std::size_t pieces_per_record = 16;
// Less than this left in a block is not worth a record of its own.
constexpr std::size_t worthwhile_bytes = 4'096;

std::size_t room_for(std::size_t payload) {
    return std::min(payload, worthwhile_bytes) + RecordCipher::overhead_bytes;
}

}  // namespace

// An opened record: its payload, and its type, which follows it.
struct Records13::Inner {
    ByteView payload;
    ContentType type;
};

Records13::Records13(const Suite13& suite, const TrafficSecrets& secrets,
                     const RecordAgreement& agreed)
    : Records(longest_record_bytes),
      in_(suite, secrets.client, RecordCipher::Direction::open, 0),
      out_(suite, secrets.server, RecordCipher::Direction::seal, secrets.server_wrote),
      fragment_bytes_max_(agreed.payload_bytes_max) {}

Records::Opened Records13::open(ByteView in, std::span<char> plain, Out out) {
    Opened opened;
    while (opened.used < in.size() && opened.event == Event::none) {
        const ByteView rest = in.substr(opened.used);
        const ByteView record = rest.substr(0, openable_bytes(rest, record_bytes_max()));
        const std::span<char> room = plain.subspan(opened.plain);
        // No room for this one: the caller delivers the opened bytes and calls again.
        if (record.size() > room.size()) {
            opened.event = Event::full;
            break;
        }
        const Alert alert = open_one(record, room, opened);
        opened.used += record.size();
        if (alert == Alert::none) continue;
        // A fatal alert (level 2) is our last word (RFC 8446, 6.2).
        seal_small(ContentType::alert, std::string{'\2', static_cast<char>(alert)}, out);
        opened.event = Event::failed;
    }
    return opened;
}

Records13::Alert Records13::open_one(ByteView record, std::span<char> to, Opened& opened) {
    if (declared_bytes(record) > record_bytes_max()) return Alert::record_overflow;
    // No change_cipher_spec after the handshake (RFC 8446, 5), nothing unencrypted.
    if (record[0] != static_cast<char>(ContentType::application_data)) {
        return Alert::unexpected_message;
    }
    std::size_t bytes = in_.open(record, to.data());
    if (bytes == ByteView::npos) return Alert::bad_record_mac;
    // Zeros are padding (RFC 8446, 5.4); the last other byte is the type. A record of zeros alone
    // has no type.
    while (bytes > 0 && to[bytes - 1] == 0) --bytes;
    if (bytes == 0) return Alert::unexpected_message;
    if (bytes - 1 > fragment_bytes_max_) return Alert::record_overflow;
    return take_inner(
        {.payload = {to.data(), bytes - 1}, .type = static_cast<ContentType>(to[bytes - 1])},
        opened);
}

Records13::Alert Records13::take_inner(const Inner& inner, Opened& opened) {
    if (inner.type == ContentType::alert) return take_alert(inner.payload, opened);
    // Nothing comes between the pieces of a message (RFC 8446, 5.1).
    if (message_bytes_ > 0 && inner.type != ContentType::handshake) {
        return Alert::unexpected_message;
    }
    if (inner.type == ContentType::application_data && !inner.payload.empty()) {
        empty_records_ = 0;
        opened.plain += inner.payload.size();
        return Alert::none;
    }
    // Records without payload cost the peer little and us a decryption each, so a run of them ends.
    if (++empty_records_ > empty_records_max) return Alert::unexpected_message;
    if (inner.type == ContentType::handshake) return take_handshake(inner.payload);
    return inner.type == ContentType::application_data ? Alert::none : Alert::unexpected_message;
}

Records13::Alert Records13::take_alert(ByteView alert, Opened& opened) {
    // RFC 8446, 5.4: of these types no record is empty.
    if (alert.empty()) return Alert::unexpected_message;
    if (alert.size() != 2) return Alert::decode_error;
    const auto said = static_cast<Alert>(alert[1]);
    // It cancels a handshake, which is over (RFC 8446, 6.1): ignored, but counted.
    if (said == Alert::user_canceled) {
        return ++empty_records_ > empty_records_max ? Alert::unexpected_message : Alert::none;
    }
    // Every other alert ends the connection, whatever level it claims (RFC 8446, 6).
    opened.event = said == Alert::close_notify ? Event::closed : Event::failed;
    return Alert::none;
}

// A KeyUpdate, or the next piece of one. We never request a client's certificate after the
// handshake, so nothing else may come, and we refuse it at the first wrong byte.
Records13::Alert Records13::take_handshake(ByteView piece) {
    if (piece.empty()) return Alert::unexpected_message;
    const std::size_t taken = std::min(piece.size(), message_.size() - message_bytes_);
    piece.copy(message_.data() + message_bytes_, taken);
    message_bytes_ += taken;
    const ByteView message(message_.data(), message_bytes_);
    constexpr ByteView head("\x18\0\0\1", 4);  // its type, its length
    if (message.front() != head.front()) return Alert::unexpected_message;
    if (message.substr(0, head.size()) != head.substr(0, message.size())) {
        return Alert::decode_error;
    }
    // The key changes here: a record ends here (RFC 8446, 5.1).
    if (taken < piece.size()) return Alert::unexpected_message;
    if (message_bytes_ < message_.size()) return Alert::none;
    message_bytes_ = 0;
    if (message.back() != 0 && message.back() != 1) return Alert::illegal_parameter;
    in_.update();
    // Answered once, however often the peer requests it before we send again, so that KeyUpdates
    // cannot make us flood the queue.
    update_owed_ = update_owed_ || message.back() == 1;
    return Alert::none;
}

void Records13::seal_small(ContentType type, ByteView payload, Out out) {
    const std::size_t bytes = payload.size() + RecordCipher::overhead_bytes;
    const std::span<char> room = out.queue.reserve_at_least(out.pool, bytes);
    const iovec piece{const_cast<char*>(payload.data()), payload.size()};
    out_.seal(type, {&piece, 1}, payload.size(), room.data());
    out.queue.commit(bytes);
}

// Before the record whose sending needs a new key: by request, or because a key may seal only so
// many records (RFC 8446, 5.5).
void Records13::seal_owed(Out out) {
    if (!update_owed_ && !out_.worn_out()) return;
    update_owed_ = false;
    seal_small(ContentType::handshake, {"\x18\0\0\1\0", 5}, out);
    out_.update();
}

void Records13::seal_end(Out out) {
    seal_owed(out);
    // A warning (level 1), close_notify (0).
    seal_small(ContentType::alert, {"\1\0", 2}, out);
}

std::size_t Records13::payload_in(std::span<char> room, std::uint64_t wanted) const {
    return static_cast<std::size_t>(std::min<std::uint64_t>(
        {wanted, fragment_bytes_max_, room.size() - RecordCipher::overhead_bytes}));
}

int Records13::seal(core::SendQueue& plain, Out out, std::size_t bytes_max, core::Kernel& kernel) {
    std::array<iovec, pieces_per_record> pieces;
    while (!plain.empty() && out.queue.bytes() < bytes_max) {
        seal_owed(out);
        const std::size_t count = plain.gather(pieces);
        if (count > 0) {
            seal_memory(plain, {pieces.data(), count}, out);
        } else if (const int error = seal_file(plain, out, kernel); error != 0) {
            return error;
        }
    }
    return 0;
}

void Records13::seal_memory(core::SendQueue& plain, std::span<iovec> pieces, Out out) {
    std::size_t offered = 0;
    // Pieces beyond one record stay for the next.
    for (const iovec& piece : pieces) {
        offered += piece.iov_len;
        if (offered >= fragment_bytes_max_) break;
    }
    offered = std::min(offered, fragment_bytes_max_);
    const std::span<char> room = out.queue.reserve_at_least(out.pool, room_for(offered));
    const std::size_t bytes = payload_in(room, offered);
    std::size_t left = bytes;
    std::size_t count = 0;
    for (; left > 0; ++count) {
        pieces[count].iov_len = std::min(pieces[count].iov_len, left);
        left -= pieces[count].iov_len;
    }
    out_.seal(ContentType::application_data, pieces.first(count), bytes, room.data());
    out.queue.commit(bytes + RecordCipher::overhead_bytes);
    plain.consume(bytes);
}

// The file is read to where its record will be, and sealed in place: no copy in between.
int Records13::seal_file(core::SendQueue& plain, Out out, core::Kernel& kernel) {
    const core::SendQueue::FileRange range = plain.front_file();
    const std::size_t offered =
        static_cast<std::size_t>(std::min<std::uint64_t>(range.bytes, fragment_bytes_max_));
    const std::span<char> room = out.queue.reserve_at_least(out.pool, room_for(offered));
    char* payload = room.data() + RecordCipher::header_bytes;
    const ssize_t got = kernel.read_at(range.descriptor, payload, payload_in(room, offered),
                                       static_cast<off_t>(range.offset));
    if (got <= 0) {
        // The reservation is returned unused. 0 bytes: the file became shorter than promised.
        out.queue.commit(0);
        return got == 0 ? -EBADMSG : static_cast<int>(got);
    }
    const auto bytes = static_cast<std::size_t>(got);
    const iovec piece{payload, bytes};
    out_.seal(ContentType::application_data, {&piece, 1}, bytes, room.data());
    out.queue.commit(bytes + RecordCipher::overhead_bytes);
    plain.consume(bytes);
    return 0;
}

}  // namespace tiderace::tls
