// ByteView: borrowed bytes, valid for the length of a call unless stated otherwise.
//
// A std::string_view, because protocols are compared with literals all day; it is not text: it may
// hold NUL and any other byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tiderace/base/language.h"

namespace tiderace {

using ByteView = std::string_view;

}  // namespace tiderace
