#include "tiderace/json/value.h"

namespace tiderace::json {
namespace {

const Value& nothing() {
    static const Value null;
    return null;
}

}  // namespace

const Value& Value::operator[](std::string_view member) const {
    const Object* in = object();
    if (in == nullptr) return nothing();
    const auto found = in->find(member);
    return found == in->end() ? nothing() : found->second;
}

const Value& Value::operator[](std::size_t element) const {
    const Array* in = array();
    return in == nullptr || element >= in->size() ? nothing() : (*in)[element];
}

}  // namespace tiderace::json
