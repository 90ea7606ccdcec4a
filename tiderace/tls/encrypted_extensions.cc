#include "tiderace/tls/encrypted_extensions.h"

namespace tiderace::tls {
namespace {

constexpr std::size_t message_type = 8;

enum class Extension : std::uint16_t {
    server_name = 0,
    max_fragment_length = 1,
    supported_groups = 10,
    application_layer_protocol = 16,
};

// Takes `bytes` big-endian bytes from the front; nullopt: there are fewer.
std::optional<std::size_t> take_number(ByteView& rest, std::size_t bytes) {
    if (rest.size() < bytes) return std::nullopt;
    std::size_t number = 0;
    for (const char c : rest.substr(0, bytes))
        number = number << 8U | static_cast<unsigned char>(c);
    rest.remove_prefix(bytes);
    return number;
}

// Takes a length of `bytes` bytes and what it announces.
std::optional<ByteView> take_vector(ByteView& rest, std::size_t bytes) {
    const std::size_t length = take_number(rest, bytes).value_or(ByteView::npos);
    if (length > rest.size()) return std::nullopt;
    const ByteView taken = rest.substr(0, length);
    rest.remove_prefix(length);
    return taken;
}

// False: an extension that may change the format of records, such as record_size_limit (RFC 8449).
// Our record layer must not take over then.
bool take_extension(RecordAgreement& agreed, std::size_t type, ByteView value) {
    switch (static_cast<Extension>(type)) {
        case Extension::server_name:
        case Extension::supported_groups:
        case Extension::application_layer_protocol:
            return true;  // nothing about records
        case Extension::max_fragment_length:
            // 1 to 4: 2^9 to 2^12 bytes.
            if (value.size() != 1 || value[0] < 1 || value[0] > 4) return false;
            agreed.payload_bytes_max = static_cast<std::uint16_t>(256U << value[0]);
            return true;
        default:
            return false;
    }
}

}  // namespace

std::optional<RecordAgreement> read_encrypted_extensions(ByteView message) {
    if (take_number(message, 1) != message_type) return std::nullopt;
    auto body = take_vector(message, 3);
    if (!body || !message.empty()) return std::nullopt;
    auto extensions = take_vector(*body, 2);
    if (!extensions || !body->empty()) return std::nullopt;
    RecordAgreement agreed;
    while (!extensions->empty()) {
        const auto type = take_number(*extensions, 2);
        const auto value = take_vector(*extensions, 2);
        if (!type || !value || !take_extension(agreed, *type, *value)) return std::nullopt;
    }
    return agreed;
}

}  // namespace tiderace::tls
