#include "tiderace/http/app/csrf.h"

#include <array>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/constant_time.h"
#include "tiderace/base/random.h"
#include "tiderace/http/wire/multipart.h"
#include "tiderace/http/wire/query.h"

namespace tiderace::http {
namespace {

constexpr char guard_key = 0;
constexpr std::string_view value_name = "csrf";  // in forms
constexpr std::size_t secret_bytes = 32;

std::string random_bytes() {
    std::array<unsigned char, secret_bytes> bytes;
    secure_random(bytes);
    return std::string(bytes.begin(), bytes.end());
}

// A token is another text in each page. In a compressed page, one that stays the same could be
// guessed byte by byte from the length (BREACH).
std::string masked(std::string_view mask, std::string_view secret) {
    std::string text(mask);
    for (std::size_t i = 0; i < secret.size(); ++i) text += static_cast<char>(mask[i] ^ secret[i]);
    return text;
}

// Holds the secret for a request that has still to show a token.
class Guard final : public Attachment {
  public:
    explicit Guard(std::string secret) : Attachment(&guard_key), secret(std::move(secret)) {}

    bool is_good(std::string_view token) const {
        // Two digits a byte, and the mask is as long as the secret.
        if (secret.size() != secret_bytes || token.size() != 4 * secret_bytes) return false;
        const std::string bytes = bytes_of_hex(token);
        if (bytes.size() != 2 * secret_bytes) return false;
        const std::string mask = bytes.substr(0, secret_bytes);
        return equals_in_constant_time(masked(mask, secret), bytes);
    }

    std::string secret;  // "": there is none
    bool waits = true;
};

Guard* guard_of(const Exchange& exchange) {
    return static_cast<Guard*>(exchange.attached(&guard_key));
}

class CsrfRule final : public AccessRule {
  public:
    explicit CsrfRule(const LayerPlace& place) : runner_(&place.runner), states_(&place.states) {}

    Verdict check(Exchange& exchange) override {
        const Request& request = exchange.request();
        switch (request.method()) {
            case wire::Method::get:
            case wire::Method::head:
            case wire::Method::options:
            case wire::Method::connect:  // a WebSocket's, as GET
                return Verdict::pass;
            default:
                break;
        }
        app_parts::Call call{exchange, *runner_, *states_, "csrf()"};
        // It has answered with 500: without sessions() there is nothing to compare a token with,
        // and to let the request through would be no protection at all.
        const auto session = app_parts::Argument<Session>::find(call);
        if (!session) return Verdict::answered;
        auto guard = core::make_ref<Guard>(bytes_of_hex(app_parts::csrf_secret(*session)));
        // Pages of another site cannot set a field of that name without CORS.
        if (const wire::Field* given = request.head->find("x-csrf-token"); given != nullptr) {
            if (guard->is_good(given->value)) return Verdict::pass;
            app_parts::refuse_csrf(exchange);
            return Verdict::answered;
        }
        // The token may be in the body, which comes later: AppLoop::handle reads it.
        exchange.attach(std::move(guard));
        return Verdict::pass;
    }

  private:
    task::Runner* runner_;
    const States* states_;
};

bool is_urlencoded(ByteView type) {
    return equals_ignoring_case(trim_ows(type.substr(0, type.find(';'))),
                                "application/x-www-form-urlencoded");
}

// The value of the first pair of that name.
std::string token_of_pairs(ByteView body) {
    std::string storage(body.size(), '\0');
    wire::QueryPairs pairs(body, storage);
    while (const auto pair = pairs.next()) {
        if (pair->name == value_name) return std::string(pair->value);
    }
    return {};
}

// The text of the first part; nullopt: it is not complete yet. "": it is another.
std::optional<std::string> token_of_parts(ByteView boundary, ByteView body) {
    using Event = wire::MultipartReader::Event;
    wire::MultipartReader reader(boundary);
    std::string text;
    for (;;) {
        const auto step = reader.next(body);
        body.remove_prefix(step.bytes);
        switch (step.event) {
            case Event::need_more:
                return std::nullopt;
            case Event::part:
                if (reader.name() != value_name) return std::string();
                break;
            case Event::data:
                text += step.data;
                break;
            case Event::part_end:
                return text;
            case Event::end:
            case Event::failed:
                return std::string();
        }
    }
}

}  // namespace

Middleware csrf() {
    Middleware made(Middleware::Make(
        [](LayerPlace& place) { return Layer(std::make_shared<CsrfRule>(place)); }));
    app_parts::NeedsOf<Session>::list(made.needs);
    return std::move(made).noted({.unsafe_refusals = {403}});
}

task::Task<std::string> csrf_token(Session session) {
    const std::string secret = co_await app_parts::ensure_csrf_secret(std::move(session));
    co_return hex_text(masked(random_bytes(), bytes_of_hex(secret)));
}

namespace app_parts {

bool awaits_csrf_token(const Exchange& exchange) {
    const Guard* const guard = guard_of(exchange);
    return guard != nullptr && guard->waits;
}

FormCheck check_csrf_token(Exchange& exchange, ByteView body, bool ended) {
    Guard& guard = *guard_of(exchange);
    const ByteView type = exchange.request().header(wire::FieldName::content_type);
    std::string token;
    if (const auto boundary = wire::multipart_boundary(type)) {
        // Only the first part is read, so that an upload need not be held for the check.
        const ByteView first = body.substr(0, first_part_bytes_max);
        auto found = token_of_parts(*boundary, first);
        if (!found && !ended && first.size() == body.size()) return FormCheck::need_more;
        token = found ? std::move(*found) : std::string();
    } else if (is_urlencoded(type)) {
        if (!ended) return FormCheck::need_more;
        token = token_of_pairs(body);
    }
    // A body of another type (JSON, say) has no place for a token, so `token` is empty here. Such
    // requests show theirs in X-CSRF-Token.
    if (!guard.is_good(token)) return FormCheck::bad;
    guard.waits = false;
    return FormCheck::good;
}

void refuse_csrf(Exchange& exchange) {
    const Problem problem{
        .status = 403,
        .detail = "the request shows no token of this session: load the page and send it again"};
    exchange.respond(problem.response());
}

}  // namespace app_parts
}  // namespace tiderace::http
