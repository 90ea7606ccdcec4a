// Names that nobody can guess, and names of contents.
//
// Thread   Any; a FormNames, one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidepool {

// 128 random bits as text, for links and tokens.
std::string random_word();
// Names of forms, each of which no other page has, not even of another node. They are no secret,
// because a form has its token beside it, so a page makes no system call for them.
class FormNames {
  public:
    std::string next();

  private:
    const std::string start_ = random_word().substr(0, 16);
    std::uint64_t made_ = 0;
};
// 128 bits of BLAKE2b, as digits.
std::string hash_of(std::string_view bytes);

}  // namespace tidepool
