// RegexFront: the plain text that every path of a regular expression begins with.
//
//   ^/shop/item-([0-9]+)$   "/shop/item-"        ^/shop/.*   "/shop/", and all that begins with it
//   \.php$  ^/a|^/b         ""
//
// Thread   Any: a pure function. It reads less than there is rather than more.
#pragma once

#include <string>

#include "tiderace/base/bytes.h"

namespace tiderace::http::route {

struct RegexFront {
    std::string text;
    bool is_all = false;  // every path that begins with the text matches
};
RegexFront front_of(ByteView regex);

}  // namespace tiderace::http::route
