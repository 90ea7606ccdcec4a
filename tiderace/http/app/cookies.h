// Cookies: the client's cookies. Cookie: one for the client to keep.
//
//   app.get<"/">([](Cookies cookies) {
//       return Response().cookie({.name = "seen", .value = "yes", .max_age = 24h}).text(
//           cookies.get("seen") ? "welcome\n" : "hello\n");
//   });
//
// Anyone can send any cookie: trust its value no more than a form's. The first of several cookies
// with the same name counts; browsers send the one with the longest path first.
//
// Owner    Views of the request, valid as long as the handler runs, across its awaits too.
// Thread   The loop's.
// Errors   A doubtful pair is skipped (http/wire/cookie.h).
// Keywords: cookie, Set-Cookie
#pragma once

#include <optional>
#include <string_view>

#include "tiderace/http/app/arguments.h"
#include "tiderace/http/wire/cookie.h"

namespace tiderace::http {

class Cookies {
  public:
    explicit Cookies(const Request& request) : request_(&request) {}

    std::optional<std::string_view> get(std::string_view name) const;
    // Calls call(name, value) for each, in the order in which they came.
    template <typename Call>
    void each(Call&& call) const {
        const wire::RequestHead& head = *request_->head;
        for (const wire::Field* field = head.find(wire::FieldName::cookie); field != nullptr;
             field = head.next(*field)) {
            for (wire::CookiePairs pairs(field->value); auto pair = pairs.next();) {
                call(pair->name, pair->value);
            }
        }
    }

  private:
    const Request* request_;
};

namespace app_parts {

template <>
inline constexpr bool is_view_of_request<Cookies> = true;

template <>
struct Argument<Cookies> {
    static std::optional<Cookies> find(Call& call) { return Cookies(call.exchange.request()); }
    static Cookies pass(std::optional<Cookies>& found) { return *found; }
};

}  // namespace app_parts
}  // namespace tiderace::http
