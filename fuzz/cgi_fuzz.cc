// A server reads answers of CGI and FastCGI programs: the same head, or the same fault, however the
// bytes were cut; nothing in a field that could end it; records that never reach past their bytes.
#include <string>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/cgi/answer_head.h"
#include "tiderace/http/wire/cgi/fcgi_records.h"
#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire::cgi {
namespace {

std::string read_head(ByteView bytes, std::size_t piece, AnswerHeadReader::Form form) {
    AnswerHeadReader reader(form);
    std::string part;  // the one that completes the head is as long there as the head is used
    std::size_t used = 0;
    while (used < bytes.size() && reader.state() == AnswerHeadReader::State::need_more) {
        part = std::string(bytes.substr(used, piece));  // a copy, so that ASan sees its end
        const std::size_t took = reader.feed(part);
        TR_CHECK(took <= part.size());
        used += took;
        if (took < part.size()) break;
    }
    std::string told = std::to_string(static_cast<int>(reader.state())) + ' ' +
                       std::to_string(static_cast<int>(reader.fault()));
    if (reader.state() != AnswerHeadReader::State::complete) return told;
    const AnswerHead& head = reader.head();
    TR_CHECK(head.status >= 200 && head.status <= 599);
    told += ' ' + std::to_string(head.status) + ' ' + std::to_string(used);
    for (const Field& field : head.fields) {
        TR_CHECK(is_token(field.name) && is_field_value(field.value));
        told.append("\n").append(field.name).append(":").append(field.value);
    }
    return told;
}

std::string read_records(ByteView bytes, std::size_t piece) {
    FcgiReader reader;
    std::string output;
    std::string errors;
    std::string told;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        const std::string part(bytes.substr(at, piece));
        ByteView rest = part;
        for (;;) {
            const FcgiEvent event = reader.next(rest);
            if (event.kind == FcgiEvent::Kind::fault) return told + output + '|' + errors + "fault";
            if (event.kind == FcgiEvent::Kind::need_more) break;
            TR_CHECK(event.bytes.size() <= 65'535);
            if (event.kind == FcgiEvent::Kind::output) output += event.bytes;
            if (event.kind == FcgiEvent::Kind::errors) errors += event.bytes;
            if (event.kind == FcgiEvent::Kind::end_request) {
                told += std::to_string(event.id) + '=' + std::to_string(event.application_status);
            }
        }
        TR_CHECK(rest.empty());
    }
    return told + output + '|' + errors;
}

}  // namespace
}  // namespace tiderace::http::wire::cgi

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    namespace cgi = tiderace::http::wire::cgi;
    if (size == 0) return 0;
    const std::size_t piece = 1 + data[0] % 32;
    const tiderace::ByteView bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    for (const auto form :
         {cgi::AnswerHeadReader::Form::cgi, cgi::AnswerHeadReader::Form::whole_answer}) {
        TR_CHECK(cgi::read_head(bytes, bytes.size() + 1, form) ==
                 cgi::read_head(bytes, piece, form));
    }
    TR_CHECK(cgi::read_records(bytes, bytes.size() + 1) == cgi::read_records(bytes, piece));
    return 0;
}
