#include "server/config/asked_request.h"

#include <algorithm>
#include <string_view>

#include "tiderace/base/ascii.h"
#include "tiderace/http/wire/canonical_path.h"
#include "tiderace/net/network.h"

namespace tiderace::server::config {

std::string AskedRequest::read(std::string_view url, const CommandWords& words) {
    const std::size_t scheme_end = url.find("://");
    const std::string scheme = lower_case(url.substr(0, std::min(scheme_end, url.size())));
    if (scheme_end == url.npos || (scheme != "http" && scheme != "https")) {
        return "a URL begins with http:// or https://";
    }
    request_.secure = scheme == "https";
    url.remove_prefix(scheme_end + 3);
    url = url.substr(0, url.find('#'));
    const std::size_t host_end = std::min(url.find_first_of("/?"), url.size());
    if (host_end == 0) return "the URL names no host";
    std::string method = "GET";
    std::string host = "Host: " + std::string(url.substr(0, host_end)) + "\r\n";
    std::string fields;
    for (const GivenFlag& given : words.flags) {
        if (given.flag->name == "method") method = given.value;
        if (given.flag->name == "from") {
            const auto peer = net::parse_ip(given.value);
            if (!peer) return refused_value(given, "expected an address such as 192.0.2.7");
            peer_ = *peer;
        }
        if (given.flag->name != "header") continue;
        if (given.value.find_first_of("\r\n") != given.value.npos) {
            return "a field has no line end";
        }
        if (lower_case(given.value).starts_with("host:")) host.clear();
        fields.append(given.value).append("\r\n");
    }
    text_ = method + " ";
    if (!url.substr(host_end).starts_with('/')) text_ += "/";
    text_.append(url.substr(host_end)).append(" HTTP/1.1\r\n").append(host).append(fields);
    text_ += "\r\n";
    return parse();
}

std::string AskedRequest::parse() {
    namespace wire = http::wire;
    const wire::HeadParse parsed = wire::parse_request_head(text_, {}, head_);
    // A line end in the method or the URL would begin a field, or end the head.
    const bool is_whole =
        parsed.status == wire::ParseStatus::complete && parsed.bytes == text_.size();
    if (parsed.refusal != wire::Refusal::none) return std::string(wire::explain(parsed.refusal));
    if (!is_whole || head_.target_form() != wire::TargetForm::origin) {
        return "no client sends such a request";
    }
    request_.head = &head_;
    request_.peer = &peer_;
    request_.authority = request_.header(wire::FieldName::host);
    request_.raw_path = head_.target();
    if (const std::size_t mark = request_.raw_path.find('?'); mark != ByteView::npos) {
        request_.has_query = true;
        request_.query = request_.raw_path.substr(mark + 1);
        request_.raw_path = request_.raw_path.substr(0, mark);
    }
    path_.resize(request_.raw_path.size());
    const wire::PathResult path = wire::canonicalize(request_.raw_path, path_);
    request_.path = path.path;
    const wire::Refusal refusal = wire::refusal_of(path.fault);
    return refusal == wire::Refusal::none ? "" : std::string(wire::explain(refusal));
}

}  // namespace tiderace::server::config
