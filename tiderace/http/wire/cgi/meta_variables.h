// MetaVariables: the variables that describe a request to a CGI or FastCGI program (RFC 3875,
// section 4.1).
//
// A field "X-Some-Name" becomes HTTP_X_SOME_NAME. A name that holds anything but letters, digits
// and '-' is dropped: "X_Some_Name" would become the same variable, so that a client could pass for
// a proxy in front of us. "Proxy" is dropped, because programs take HTTP_PROXY for the address of
// their own proxy (httpoxy). Fields of one connection and of framing are dropped too.
//
// Owner    The caller; the facts are copied.
// Thread   One at a time.
// Limits   None of its own: a request's head is bounded where it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tiderace/base/ascii.h"
#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/request_head.h"

namespace tiderace::http::wire::cgi {

// Views that live for the call. "" is left out, unless said otherwise.
struct RequestFacts {
    const RequestHead* head = nullptr;
    ByteView method;       // REQUEST_METHOD
    ByteView protocol;     // SERVER_PROTOCOL: "HTTP/1.1"
    ByteView authority;    // host[:port]; SERVER_NAME, SERVER_PORT and HTTP_HOST
    bool secure = false;   // HTTPS, and the port that an authority without one means
    ByteView script_name;  // may be "", and is there all the same
    ByteView path_info;
    ByteView path_translated;
    ByteView script_filename;
    ByteView document_root;
    ByteView query;        // may be "", and is there all the same
    ByteView request_uri;  // the target as it came
    ByteView remote_address;
    std::uint16_t remote_port = 0;  // 0: none
    ByteView remote_user;           // then AUTH_TYPE is Basic, and no HTTP_AUTHORIZATION is given
    ByteView server_software;
    std::optional<std::uint64_t> content_length;  // nullopt: there is no body
};

// What a field's name becomes: this, and its characters so.
inline constexpr ByteView field_variable_prefix = "HTTP_";
constexpr char field_variable_character(char c) {
    return c == '-' ? '_' : to_upper(c);
}

class MetaVariables {
  public:
    // For so many, with so many bytes in all, without an allocation for each.
    void reserve(std::size_t variables, std::size_t bytes);
    // Both are copied. A name is given once.
    void add(ByteView name, ByteView value);
    void add(ByteView name, std::uint64_t value);
    // As HTTP_NAME.
    void add_field(ByteView field, ByteView value);

    struct Variable {
        ByteView name;
        ByteView value;
    };
    std::size_t size() const { return begins_.size(); }
    Variable operator[](std::size_t index) const;
    // "" where there is none.
    ByteView find(ByteView name) const;
    // "NAME=VALUE" with a NUL behind it, one for each, and a null pointer: what execve takes. They
    // point into this object, which must not change meanwhile.
    std::vector<char*> environment();

  private:
    struct Begin {
        std::size_t name;
        std::size_t value;
        std::size_t end;  // of the NUL
    };
    // "=VALUE" behind the name that begins at `at`.
    void end_variable(std::size_t at, ByteView value);

    std::string text_;
    std::vector<Begin> begins_;
};

// To MetaVariables, or to FcgiParams (fcgi_records.h).
template <typename Variables>
void add_meta_variables(Variables& out, const RequestFacts& facts);
MetaVariables make_meta_variables(const RequestFacts& facts);

}  // namespace tiderace::http::wire::cgi
