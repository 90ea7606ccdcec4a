#include "tiderace/http/client/client_response_stream.h"

#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {

ClientFault out_of_answer_memory(const Url& url) {
    return {ClientFault::Kind::busy,
            url.text() + ": the answers of this client take too much memory (memory_bytes_max)"};
}

ClientResponseStream::ClientResponseStream(OwnedExchange exchange, Url&& url, Duration read_timeout)
    : exchange_(std::move(exchange)), read_timeout_(read_timeout) {
    exchange_->url = std::move(url);
}
ClientResponseStream::~ClientResponseStream() = default;
ClientResponseStream::ClientResponseStream(ClientResponseStream&&) noexcept = default;
ClientResponseStream& ClientResponseStream::operator=(ClientResponseStream&&) noexcept = default;

bool ClientResponseStream::decode(const core::Ref<AnswerMemory>& memory) {
    // These answers have no body to decode. Their Content-Encoding and Content-Length describe the
    // body that a GET would have got (RFC 9110, 9.3.2 and 15.4.5), so both fields stay.
    if (exchange_->to_head() || status() == 204 || status() == 304) return true;
    if (!headers().has("Content-Encoding")) return true;
    std::string_view coding = header("Content-Encoding");
    // We accept one layer. With a second one left undone, the content would not have its
    // Content-Type.
    if (headers().all("Content-Encoding").size() > 1) return false;
    if (coding.empty() || equals_ignoring_case(coding, "identity")) return true;
    // An old name of the same coding, which a recipient should take (RFC 9110, 8.4.1.3).
    if (equals_ignoring_case(coding, "x-gzip")) coding = "gzip";
    for (const auto each :
         {wire::ContentCoding::gzip, wire::ContentCoding::zstd, wire::ContentCoding::br}) {
        if (equals_ignoring_case(coding, coding_name(each))) {
            decoding_ = std::make_unique<Decoding>(coding::make_decoder(each), memory);
        }
    }
    if (decoding_ == nullptr || decoding_->decoder == nullptr) return false;
    // They describe the encoded body.
    exchange_->fields().remove("Content-Encoding");
    exchange_->fields().remove("Content-Length");
    return true;
}

ClientFault ClientResponseStream::described(ClientFault fault) const {
    fault.message.insert(0, "reading ");
    return fault;
}

task::Task<ClientResult<std::string>> ClientResponseStream::read_raw(Duration limit) {
    // The limit is for one wait, not for the body: a long download may take its time while bytes
    // come.
    const core::EventLoop& loop = task::Context::here().runner->loop();
    loop.assert_on_loop();
    Instant due = moment_after(loop.now(), limit);
    for (bool in_time = true;;) {
        std::string got = exchange_->take_buffer();
        if (!got.empty()) co_return got;
        if (exchange_->fault()) co_return std::unexpected(described(*exchange_->fault()));
        if (exchange_->ended()) co_return std::string();
        if (!in_time && (!exchange_->awaits_our_body() || read_timeout_ <= Duration::zero())) {
            co_return std::unexpected(
                ClientFault(ClientFault::Kind::timed_out, url().text() + ": the body stopped"));
        }
        // Not for ever: once our body is made, its last bytes may wait for the server.
        if (!in_time) due = moment_after(loop.now(), read_timeout_);
        in_time = co_await exchange_->changed_until(due);
    }
}

task::Task<ClientResult<std::string>> ClientResponseStream::read() {
    return decoding_ == nullptr ? read_raw(read_timeout_) : read_decoded();
}

task::Task<ClientResult<std::string>> ClientResponseStream::read_decoded() {
    const core::EventLoop& loop = task::Context::here().runner->loop();
    // For all of the read: a server could send bytes for ever that the coding makes nothing of.
    const Instant until = moment_after(loop.now(), read_timeout_);
    while (true) {
        std::string out(read_bytes_max, '\0');
        const auto step = decoding_->decoder->step(decoding_->encoded, out);
        decoding_->encoded.erase(0, step.used);
        if (step.failed) {
            co_return std::unexpected(ClientFault(ClientFault::Kind::bad_answer,
                                                  url().text() + ": its content coding is broken"));
        }
        if (!decoding_->share.resize(decoding_->decoder->held_bytes())) {
            co_return std::unexpected(out_of_answer_memory(url()));
        }
        out.resize(step.made);
        if (out.size() < read_bytes_max / 2) out.shrink_to_fit();  // it may be kept for long
        if (!out.empty()) co_return out;
        // It took input and made nothing, of a gzip header, say. Only a step that does neither
        // needs more.
        if (step.used > 0) continue;
        auto more = co_await read_raw(until - loop.now());
        if (!more) co_return std::unexpected(std::move(more.error()));
        if (more->empty()) break;
        decoding_->encoded += *more;
        decoding_->encoded_began = true;
    }
    // Servers also name a coding for empty bodies, which no coding has made.
    if (decoding_->encoded_began && !decoding_->decoder->ended()) {
        co_return std::unexpected(ClientFault(
            ClientFault::Kind::bad_answer, url().text() + ": its content coding ends too early"));
    }
    co_return std::string();
}

}  // namespace tiderace::http
