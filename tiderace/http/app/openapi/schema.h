// SchemaBook: JSON Schemas (2020-12, as OpenAPI 3.1 has them) of types, by their tables
// (json/type.h). A struct is described once, under its name; all else in place.
//
//   write()       {"$ref": "#/components/schemas/User"}, or the schema itself
//   write_all()   {"User": {…}, …}: what was referred to
//
// Owner    The maker of a document.
// Thread   One at a time.
// Errors   None: two types of one name are "User" and "User2".
// Keywords: JSON Schema
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tiderace/json/type.h"
#include "tiderace/json/writer.h"

namespace tiderace::http::app_parts {

class SchemaBook final {
  public:
    void write(json::Writer& out, const json::Type& type);
    // The object of all schemas that write() referred to, and all schemas behind these.
    void write_all(json::Writer& out);

  private:
    struct Entry {
        const json::ObjectShape* shape;
        std::string name;
    };

    const std::string& name_of(const json::ObjectShape& shape);
    void write_inside(json::Writer& out, const json::Type& type);
    void write_checked(json::Writer& out, const json::CheckedShape& shape);
    void write_variant(json::Writer& out, const json::VariantShape& shape);
    void write_object(json::Writer& out, const json::ObjectShape& shape);

    std::vector<Entry> entries_;
};

// A member of a body in JSON that may be left out.
bool may_be_missing(const json::Type& type);

}  // namespace tiderace::http::app_parts
