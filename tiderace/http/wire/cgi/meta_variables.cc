#include "tiderace/http/wire/cgi/meta_variables.h"

#include <algorithm>
#include <array>
#include <span>

#include "tiderace/http/wire/cgi/fcgi_records.h"
#include "tiderace/http/wire/field_name.h"

namespace tiderace::http::wire::cgi {
namespace {

// Enough for a browser's request.
constexpr std::size_t usual_variables = 40;
constexpr std::size_t usual_bytes = 2'048;

bool is_passed_on(const Field& field, bool without_authorization) {
    switch (field.id) {
        case FieldName::host:  // the authority, whichever field or target gave it
        case FieldName::connection:
        case FieldName::content_length:
        case FieldName::content_type:
        case FieldName::transfer_encoding:
        case FieldName::expect:
        case FieldName::upgrade:
        case FieldName::te:
        case FieldName::trailer:
        case FieldName::keep_alive:
        case FieldName::http2_settings:
            return false;
        // RFC 3875, 9.2: a password that the server has checked is not the script's business.
        case FieldName::authorization:
            return !without_authorization;
        default:
            break;
    }
    // HTTP_PROXY would become the proxy of a program's own HTTP client ("httpoxy", CVE-2016-5385).
    if (equals_ignoring_case(field.name, "Proxy")) return false;
    if (equals_ignoring_case(field.name, "Proxy-Connection")) return false;
    return std::ranges::all_of(field.name,
                               // Other characters of a token, '_' above all, would make the name of
                               // a different field.
                               [](char c) { return is_letter_or_digit(c) || c == '-'; });
}

bool is_same(const Field& one, const Field& other) {
    return one.id == other.id && equals_ignoring_case(one.name, other.name);
}

[[gnu::cold]] std::string joined_values(const Field& first, std::span<const Field> rest) {
    std::string value(first.value);
    for (const Field& field : rest) {
        if (!is_same(field, first)) continue;
        value.append(first.id == FieldName::cookie ? "; " : ", ") += field.value;
    }
    return value;
}

// The first of a name takes the values of all.
template <typename Variables>
void add_field(Variables& out, std::span<const Field> fields, std::size_t at) {
    const Field& first = fields[at];
    const auto same = [&](const Field& other) { return is_same(other, first); };
    if (std::ranges::any_of(fields.first(at), same)) return;
    const auto rest = fields.subspan(at + 1);
    if (std::ranges::none_of(rest, same)) return out.add_field(first.name, first.value);
    out.add_field(first.name, joined_values(first, rest));
}

// A table, because a call for each variable would be four times the code, and a request's main cost
// here is to bring code into the cache.
struct TextVariable {
    ByteView name;
    ByteView RequestFacts::* value;
    bool is_always_there = false;  // "" too
};
constexpr std::array text_variables{
    TextVariable{"REQUEST_METHOD", &RequestFacts::method, true},
    TextVariable{"SERVER_PROTOCOL", &RequestFacts::protocol, true},
    TextVariable{"SERVER_SOFTWARE", &RequestFacts::server_software},
    TextVariable{"SCRIPT_NAME", &RequestFacts::script_name, true},
    TextVariable{"SCRIPT_FILENAME", &RequestFacts::script_filename},
    TextVariable{"PATH_INFO", &RequestFacts::path_info},
    TextVariable{"PATH_TRANSLATED", &RequestFacts::path_translated},
    TextVariable{"DOCUMENT_ROOT", &RequestFacts::document_root},
    TextVariable{"QUERY_STRING", &RequestFacts::query, true},
    TextVariable{"REQUEST_URI", &RequestFacts::request_uri},
    TextVariable{"REMOTE_ADDR", &RequestFacts::remote_address},
    TextVariable{"REMOTE_USER", &RequestFacts::remote_user},
    TextVariable{"HTTP_HOST", &RequestFacts::authority},
};

template <typename Variables>
void add_server(Variables& out, const RequestFacts& facts) {
    ByteView name = facts.authority;
    ByteView port = facts.secure ? "443" : "80";
    const std::size_t colon = name.rfind(':');
    // Not a colon inside an IPv6 address.
    if (colon != ByteView::npos && name.find(']', colon) == ByteView::npos) {
        if (colon + 1 < name.size()) port = name.substr(colon + 1);
        name = name.substr(0, colon);
    }
    out.add("SERVER_NAME", name.empty() ? "localhost" : name);
    out.add("SERVER_PORT", port);
    out.add("REQUEST_SCHEME", facts.secure ? "https" : "http");
    if (facts.secure) out.add("HTTPS", "on");
}

}  // namespace

void MetaVariables::reserve(std::size_t variables, std::size_t bytes) {
    begins_.reserve(variables);
    text_.reserve(bytes);
}

void MetaVariables::add(ByteView name, ByteView value) {
    const std::size_t at = text_.size();
    text_ += name;
    end_variable(at, value);
}

void MetaVariables::end_variable(std::size_t at, ByteView value) {
    text_ += '=';
    Begin begin{at, text_.size(), 0};
    text_ += value;
    begin.end = text_.size();
    // Each variable ends with NUL, because environment() points into this text.
    text_ += '\0';
    begins_.push_back(begin);
}

void MetaVariables::add(ByteView name, std::uint64_t value) {
    add(name, std::to_string(value));
}

MetaVariables::Variable MetaVariables::operator[](std::size_t index) const {
    const Begin& begin = begins_[index];
    const ByteView text = text_;
    return {text.substr(begin.name, begin.value - 1 - begin.name),
            text.substr(begin.value, begin.end - begin.value)};
}

void MetaVariables::add_field(ByteView field, ByteView value) {
    const std::size_t at = text_.size();
    text_.append(field_variable_prefix).append(field);
    for (std::size_t i = at; i < text_.size(); ++i) text_[i] = field_variable_character(text_[i]);
    end_variable(at, value);
}

ByteView MetaVariables::find(ByteView name) const {
    for (std::size_t i = 0; i < size(); ++i) {
        if ((*this)[i].name == name) return (*this)[i].value;
    }
    return {};
}

std::vector<char*> MetaVariables::environment() {
    std::vector<char*> pointers;
    pointers.reserve(size() + 1);
    for (const Begin& begin : begins_) pointers.push_back(text_.data() + begin.name);
    pointers.push_back(nullptr);
    return pointers;
}

template <typename Variables>
void add_meta_variables(Variables& out, const RequestFacts& facts) {
    out.add("GATEWAY_INTERFACE", "CGI/1.1");
    for (const TextVariable& variable : text_variables) {
        const ByteView value = facts.*variable.value;
        if (!value.empty() || variable.is_always_there) out.add(variable.name, value);
    }
    // php-cgi refuses to run without it.
    out.add("REDIRECT_STATUS", "200");
    if (!facts.remote_user.empty()) out.add("AUTH_TYPE", "Basic");
    if (facts.remote_port != 0) out.add("REMOTE_PORT", std::uint64_t{facts.remote_port});
    add_server(out, facts);
    if (facts.content_length) out.add("CONTENT_LENGTH", *facts.content_length);
    if (const Field* type = facts.head->find(FieldName::content_type)) {
        out.add("CONTENT_TYPE", type->value);
    }
    const auto fields = facts.head->fields();
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (is_passed_on(fields[i], !facts.remote_user.empty())) add_field(out, fields, i);
    }
}

template void add_meta_variables(MetaVariables& out, const RequestFacts& facts);
template void add_meta_variables(FcgiParams& out, const RequestFacts& facts);

MetaVariables make_meta_variables(const RequestFacts& facts) {
    MetaVariables out;
    out.reserve(usual_variables, usual_bytes);
    add_meta_variables(out, facts);
    return out;
}

}  // namespace tiderace::http::wire::cgi
