// A token of a stranger: no text is one without a key of ours. And a header and claims that
// are signed, whatever they say: what passes has an expiry that is not over.
#include <optional>
#include <string>

#include "tiderace/base/base64.h"
#include "tiderace/base/check.h"
#include "tiderace/http/wire/sha256.h"
#include "tiderace/jwt/verifier.h"

namespace tiderace::jwt {
namespace {

constexpr UnixSeconds now = 2'000'000'000;
const std::string secret(32, 's');

std::string url_text(std::string_view bytes) {
    std::string text = base64_of(bytes);
    for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
    text.erase(text.find_last_not_of('=') + 1);
    return text;
}

const Verifier& verifier() {
    static const Verifier made =
        *Verifier::make({.keys = {{.algorithm = Algorithm::hs256, .text = secret}}});
    return made;
}

// The header is what stands before the first line's end.
void check_signed(std::string_view text) {
    const std::size_t line = text.find('\n');
    if (line == text.npos) return;
    std::string token = url_text(text.substr(0, line)) + "." + url_text(text.substr(line + 1));
    const auto sealed = http::wire::hmac_sha256(secret, token);
    token += "." + url_text({reinterpret_cast<const char*>(sealed.data()), sealed.size()});
    const auto claims = verifier().verify(token, now);
    if (!claims) {
        TR_CHECK(!describe(claims.error()).empty());
        return;
    }
    TR_CHECK(claims->expires >= now - 30);
    TR_CHECK(claims->all.object() != nullptr && claims->all["aud"].is_null());
}

void check(std::string_view text) {
    TR_CHECK(!verifier().verify(text, now));
    check_signed(text);
}

}  // namespace
}  // namespace tiderace::jwt

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    tiderace::jwt::check({reinterpret_cast<const char*>(data), size});
    return 0;
}
