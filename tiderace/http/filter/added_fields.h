// AddedFields: the fields that an operator wants on every answer (`--header NAME:VALUE`).
//
// A field of the same name that the handler set is replaced; Set-Cookie and Vary are added to.
//
// Owner    The program; one per loop, or one for several sites of a loop.
// Thread   The loop's.
// Errors   parse() refuses what is no field, and the fields that framing and the connection own.
// Keywords: add_header, response headers
#pragma once

#include <string>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/http/stages.h"

namespace tiderace::http::filter {

struct AddedField {
    std::string name;
    std::string value;
};

// "X-Frame-Options: DENY". The space after the colon may be left out.
Result<AddedField> parse_added_field(ByteView text);

class AddedFields final : public ResponseFilter {
  public:
    explicit AddedFields(std::vector<AddedField> fields);

    void filter(Exchange& exchange, Response& response) override;

  private:
    struct Known {
        wire::FieldName id;
        AddedField field;
    };
    std::vector<Known> fields_;
};

}  // namespace tiderace::http::filter
