// A URL and a reference found there, one a line. What is accepted holds no byte that could end a
// line of a request or leave its field, reads back as itself, and leads where RFC 3986, 5.2 says.
#include <algorithm>
#include <string>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/http/client/url.h"

namespace tiderace::http {
namespace {

void check_form(const Url& url) {
    TR_CHECK(!url.host.empty() && url.port != 0);
    TR_CHECK(url.target.starts_with('/'));
    for (const char c : url.host) {
        TR_CHECK(c > ' ' && c < '\x7f' && (c < 'A' || c > 'Z'));
        TR_CHECK(std::string_view("/?#@\\%").find(c) == std::string_view::npos);
    }
    for (const char c : url.target) TR_CHECK(c > ' ' && c < '\x7f' && c != '#' && c != '\\');
    const std::string path = url.path() + "/";
    TR_CHECK(path.find("/./") == std::string::npos && path.find("/../") == std::string::npos);
    TR_CHECK(url.same_origin(url));
    // Escapes may make it longer than what is read at all.
    if (url.text().size() > Url::url_bytes_max) return;
    const auto again = Url::parse(url.text());
    TR_CHECK(again && *again == url);
    const auto beside = url.resolve(url.text());
    TR_CHECK(beside && *beside == url);
}

// RFC 3986, 5.2.4, letter by letter.
std::string remove_dot_segments(std::string in) {
    std::string out;
    const auto cut_last = [&] { out.erase(std::min(out.rfind('/'), out.size())); };
    while (!in.empty()) {
        if (in.starts_with("/./")) {
            in.erase(0, 2);
        } else if (in == "/.") {
            in = "/";
        } else if (in.starts_with("/../")) {
            in.erase(0, 3);
            cut_last();
        } else if (in == "/..") {
            in = "/";
            cut_last();
        } else {
            const std::size_t end = std::min(in.find('/', 1), in.size());
            out += in.substr(0, end);
            in.erase(0, end);
        }
    }
    return out;
}

// A reference that is a path, and perhaps a query: the target that it leads to, unescaped.
std::string target_of(const Url& base, std::string_view reference) {
    reference = reference.substr(0, reference.find('#'));
    if (reference.empty()) return base.target;
    const std::size_t question = std::min(reference.find('?'), reference.size());
    const std::string path(reference.substr(0, question));
    const std::string query(reference.substr(question));
    if (path.empty()) return base.path() + query;
    if (path.starts_with('/')) return remove_dot_segments(path) + query;
    const std::string own = base.path();
    return remove_dot_segments(own.substr(0, own.rfind('/') + 1) + path) + query;
}

bool is_plain(std::string_view text) {
    return std::ranges::all_of(text, [](char c) {
        return c > ' ' && c < '\x7f' &&
               std::string_view("\"<>\\^`{|}").find(c) == std::string_view::npos;
    });
}

void check_reference(const Url& base, std::string_view reference) {
    const auto made = base.resolve(reference);
    if (made) check_form(*made);
    const bool has_scheme = reference.find(':') < reference.find_first_of("/?#");
    if (has_scheme || reference.starts_with("//")) return;
    const std::string_view plain = reference.substr(0, reference.find('#'));
    if (!is_plain(plain) || reference.size() > Url::url_bytes_max) return;
    TR_CHECK(made.has_value() && made->same_origin(base));
    TR_CHECK(made->target == target_of(base, reference));
}

void check(std::string_view input) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    const auto url = Url::parse(input.substr(0, end));
    if (url) check_form(*url);
    const Url base = url ? *url : *Url::parse("http://a/b/c/d;p?q");
    check_reference(base, input.substr(std::min(end + 1, input.size())));
}

}  // namespace
}  // namespace tiderace::http

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    tiderace::http::check({reinterpret_cast<const char*>(data), size});
    return 0;
}
