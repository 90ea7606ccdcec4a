// Internal. ClientFault: why a request has no answer.
//
// An answer with a status of 400 or 500 is an answer, and no fault.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

#include "tiderace/base/result.h"

namespace tiderace::http {

struct ClientFault {
    enum class Kind : std::uint8_t {
        bad_request,         // it cannot be sent: no such URL, a field that no message may hold
        busy,                // a limit of connections, waiting requests or memory is reached
        connect,             // no connection: the name, the address, the proxy
        tls,                 // no connection that is safe: the certificate, the handshake
        timed_out,           // the time-out, or the deadline of the task
        closed,              // the connection ended before or inside the answer
        bad_answer,          // what came is no answer of HTTP, or its coding is broken
        too_large,           // the body passes ClientOptions::body_bytes_max
        too_many_redirects,  // above ClientOptions::redirects_max
        bad_redirect,        // to no URL or several, to clear text, or with a body that is gone
        body_failed,         // the generator of the request's body threw, or a form's file failed
        save_failed,         // a file of save() cannot be written
    };

    ClientFault(Kind k, std::string m) : kind(k), message(one_line(std::move(m))) {}

    Kind kind;
    // One line whatever the URL holds, lower case, no final stop: "http://a/: connection refused"
    std::string message;
};

template <typename T>
using ClientResult = std::expected<T, ClientFault>;

}  // namespace tiderace::http
