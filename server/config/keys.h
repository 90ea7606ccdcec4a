// The keys of a configuration that have the meaning, the form and the default of one flag of
// `tiderace serve`, and their tables.
//
//   [limits] header_timeout = "10s"        --header-timeout 10s
//
// Thread   Constants; any.
// Errors   read_key(): a problem at the value, in the words that the flag has.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/command_line/flags.h"
#include "server/config/document.h"
#include "server/config/problems.h"
#include "server/options.h"

namespace tiderace::server::config {

enum class TableKind : std::uint8_t {
    top,
    server,
    file_cache,
    listen,
    tls,
    certificate,
    log,
    skip,
    limits,
    cgi,
    admin,
    metrics,
    site,
    route,
    response,
    rate,
    auth,
};

struct Key {
    TableKind in;
    std::string_view name;
    std::string_view flag = {};   // its flag; "": the reader knows it
    std::string_view later = {};  // not built yet: what to do instead
    bool names_file = false;      // relative to the file that has the key
};

// "[server]", "[[site]]", "the top of the file".
std::string_view title_of(TableKind kind);
std::span<const Key> keys();
const Key* find_key(TableKind kind, std::string_view name);

// Whether presets may have it: it does not say for which hosts or requests a table holds.
bool is_setting(std::string_view name);

// The flag of a key. The key must have one.
const ServeFlag& flag_of(const Key& key);
// Reads the value of a key that has a flag. False: it was refused.
bool read_key(const Key& key, const Value& value, ServeOptions& options, const Reading& reading);
// The same for a flag whose text was put together: "404=404.html". `name` begins the sentence.
bool read_flag_text(std::string_view flag, std::string_view text, Place at, ServeOptions& options,
                    Problems& problems, std::string_view name = {});

// A sentence about flags, as one about the keys that do the same.
std::string in_words_of_the_file(std::string sentence);

// Says that the table has no such key, and what may have been meant.
void refuse_key(TableKind kind, const Member& member, Problems& problems);

}  // namespace tiderace::server::config
