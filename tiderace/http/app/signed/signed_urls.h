// SignedUrls: links whose owner may do one thing for some time, without a log-in.
//
//   const SignedUrls links({read_secret("link.key"), read_secret("link.key.old")});
//   app.get<"/share/{id}">([&](std::uint64_t id, core::EventLoop& loop) {
//       return links.sign("/files/" + std::to_string(id), loop.unix_now() + 3600);
//   });                                 // "/files/7?expires=1764003600&signature=8c5e…"
//   app.group("/files").use(signed_urls(links)).get<"/{id}">(file);
//
//   HMAC-SHA-256 of: the method, the canonical path, the query up to the signature
//
// HEAD passes with a link for GET. The path is compared as handlers see it (Request::path), so a
// browser may write "%7E" or "~"; the query byte by byte, with the signature at its end. Nothing
// can be added to a link, left out or put in another order. The name of the site is not part of it:
// sites that may not use each other's links have keys of their own.
//
// Owner    The program; middleware has a copy.
// Thread   Any, at once: constant.
// Errors   signed_urls(): 403 as a Problem, for a request that is not signed, or too late. sign():
//          a target that no client could request, or that has a '#', throws std::invalid_argument.
//          Keys are as CookieKeys has them; a key may serve both.
// Limits   A link is bounded as a request's head is.
// Keywords: signed URL, presigned, temporary link, HMAC, download link
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/base/units.h"
#include "tiderace/http/app/middleware.h"
#include "tiderace/http/app/signed/signing_keys.h"

namespace tiderace::http {

class SignedUrls final {
  public:
    // The newest first: it signs, and all of them verify.
    explicit SignedUrls(std::vector<std::string> keys) : keys_(std::move(keys)) {}

    // `target`: a path that begins with '/', and perhaps a query. What no URI holds is escaped.
    // `expires`: the first second in which the link is worth nothing.
    std::string sign(std::string_view target, UnixSeconds expires,
                     std::string_view method = "GET") const;

    enum class Verdict : std::uint8_t { good, expired, unsigned_or_changed };
    Verdict verify(const Request& request, UnixSeconds now) const;

  private:
    SigningKeys keys_;
};

Middleware signed_urls(SignedUrls urls);

}  // namespace tiderace::http
