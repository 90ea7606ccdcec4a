// KnownScripts: the scripts that were requested of a FastCGI peer lately, so that not every request
// opens its script only to see that it is there.
//
// Only files are remembered, for `remembered`: a new script is found at once. Until then, a request
// for a removed script still goes to the peer, which answers it, because it opens scripts by their
// names anyway.
//
// Owner    FastCgi.
// Thread   The loop's.
// Limits   names_max; one more forgets all of them.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "tiderace/base/keyed_hash.h"
#include "tiderace/base/units.h"
#include "tiderace/http/cgi/program_folder.h"

namespace tiderace::http::cgi {

class KnownScripts {
  public:
    static constexpr std::size_t names_max = 512;
    static constexpr Duration remembered = 1s;

    // Whether `path` is a regular file beneath the folder.
    bool has(const ProgramFolder& folder, ByteView path, Instant now);

    std::size_t size() const { return seen_.size(); }

  private:
    std::unordered_map<std::string, Instant, KeyedHash, std::equal_to<>> seen_;
};

}  // namespace tiderace::http::cgi
