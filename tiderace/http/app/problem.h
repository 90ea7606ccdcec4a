// Problem: an answer that describes an error. Created, Redirect: answers that say where to go.
//
//   return Problem{.status = 409, .detail = "the name is taken"};
//   return Redirect{"/login"};
//
// Handlers may return much else (http/app/results.h); each becomes a Response (http/response.h).
//
// Owner    The handler, until it is returned.
// Thread   One loop's.
// Keywords: RFC 9457, problem+json
#pragma once

#include <string>
#include <vector>

#include "tiderace/http/response.h"

namespace tiderace::http {

// The fault of a request, for programs: application/problem+json (RFC 9457).
struct Problem {
    struct Fault {
        std::string name;    // of the field or parameter; "": of the whole body
        std::string detail;  // what is wrong with it
    };

    int status = 400;
    std::string title = {};  // "": the status's own phrase
    std::string detail = {};
    std::vector<Fault> faults = {};

    Response response() const;
};

// 201 with where it is, and what was made as JSON.
template <typename T>
struct Created {
    std::string location;
    T value;
};

struct Redirect {
    std::string to;    // as in every Location, what a URI cannot hold is escaped: "/a b"
    int status = 303;  // "see other": the client requests `to` with GET
};

}  // namespace tiderace::http
