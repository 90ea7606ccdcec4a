// What a person reads about the keys of a configuration: meaning, form, default, what nginx and
// Caddy call them, an example. `tiderace schema` and the pages of the keys are made of it.
//
//   site.listing    boolean, false, "list folders …", autoindex, browse, true
//
// A key that has a flag takes from it what the table does not have.
//
// Thread   Constants; any.
// Keywords: JSON Schema, documentation
#pragma once

#include <string>
#include <string_view>

#include "server/config/keys.h"

namespace tiderace::server::config {

struct KeyText {
    TableKind in;
    std::string_view name;
    std::string_view about = {};    // one line, lower case, no final stop
    std::string_view schema = {};   // the members of its JSON Schema: `"type": "string"`
    std::string_view example = {};  // a value, as JSON
    std::string_view nginx = {};    // directives that do the same
    std::string_view caddy = {};
};

// With what its flag says where the table says nothing.
struct KeyFacts {
    std::string about;
    std::string schema;
    std::string example;
    std::string initial;  // the default, as JSON; "": none, or no single one
    std::string unset;    // how no value reads: "one per CPU"
    std::string_view nginx;
    std::string_view caddy;
};

KeyFacts facts_of(const Key& key);
// nullptr: none of its own.
const KeyText* find_key_text(TableKind in, std::string_view name);

}  // namespace tiderace::server::config
