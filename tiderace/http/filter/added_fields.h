// AddedFields: the fields that an operator wants on every answer (`--header NAME:VALUE`).
//
// A field of the same name that the handler set is replaced; Set-Cookie and Vary are added to.
// The filters of several scopes run from the outside in (Setting::adds_up), so the nearest counts.
//
// Owner    The program; one per loop, or one for several sites of a loop.
// Thread   The loop's.
// Errors   None: whoever reads the fields has checked them.
// Keywords: add_header, response headers
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tiderace/http/stages.h"

namespace tiderace::http::filter {

struct AddedField {
    std::string name;
    std::optional<std::string> value;  // unset: the field is taken out
};

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
