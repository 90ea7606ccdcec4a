// Multipart: the parts of a multipart/form-data body as they come (RFC 7578), for a task.
//
//   app.post<"/upload">([](Multipart form) -> Task<std::string> {
//       std::string said;
//       while (auto part = co_await form.next()) {
//           if (part->filename) {
//               co_await form.save("uploads/" + new_name(), 100_MiB);   // never the client's name
//           } else {
//               said += part->name + "=" + co_await form.text() + "\n";
//           }
//       }
//       co_return said;
//   });
//
// Parts that are not read are skipped. The client is held back while the task does something
// else, so memory is bounded whatever the body's size. A part's name, file name and type are the
// client's words: a file name may be "../../etc/passwd".
//
// Owner    The handler.
// Thread   The loop's; save() writes on a thread of the pool.
// Errors   Thrown as a Problem, which becomes the answer: 400 where it is no form, 413 above a
//          limit. Another content type: 415 before the handler is called. save(): 500 and a line in
//          the log where the file cannot be made or written; a file that exists is never touched,
//          and one that is not complete is removed.
// Limits   AppOptions::body_bytes_max for all of it; wire::MultipartLimits; those given here.
// Keywords: multipart, upload, form-data
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tiderace/http/app/body_stream.h"
#include "tiderace/http/wire/multipart.h"
#include "tiderace/task/task.h"

namespace tiderace::http {

class Multipart final {
  public:
    struct Part {
        std::string name;
        std::optional<std::string> filename;  // none: a field
        std::string content_type;             // "": not sent
    };

    Multipart(BodyStream body, ByteView boundary);

    // The next part; nullopt: there is none.
    task::Task<std::optional<Part>> next();
    // The next piece of the part that next() gave; nullopt: its end.
    task::Task<std::optional<std::string>> read();
    // The rest of it, as a whole.
    task::Task<std::string> text(std::size_t bytes_max = 64_KiB);
    // The rest of it, into a new file (mode 0600). Returns its bytes.
    task::Task<std::uint64_t> save(std::string path, std::uint64_t bytes_max);

  private:
    using Event = wire::MultipartReader::Event;

    task::Task<Event> step();

    BodyStream body_;
    std::unique_ptr<wire::MultipartReader> reader_;
    std::string held_;      // came, and is not used yet
    std::size_t used_ = 0;  // of held_
    std::string piece_;     // of Event::data
    std::string type_;      // of Event::part
    bool in_part_ = false;
    bool body_ended_ = false;
};

namespace app_parts {

template <>
inline constexpr BodyUse body_use<Multipart> = BodyUse::streamed;

template <>
struct Argument<Multipart> {
    static std::optional<Multipart> find(Call& call);
    static Multipart pass(std::optional<Multipart>& found) { return std::move(*found); }
};

}  // namespace app_parts
}  // namespace tiderace::http
