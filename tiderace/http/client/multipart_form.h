// MultipartForm: a body of multipart/form-data (RFC 7578), with files that are read while they are
// sent.
//
//   auto form = http::MultipartForm().field("title", "Autumn").file("photo", "/srv/autumn.jpg");
//   auto answer = co_await client.request(ClientRequest("POST", url).multipart(std::move(form)));
//
// Names and file names are UTF-8; `"`, CR and LF in them become %22, %0D and %0A, as browsers send
// them (HTML, "multipart/form-data encoding algorithm"). Values are sent as they are. The boundary
// is 192 bits of the kernel's generator, drawn after the content is known, so that no content can
// hold it. Content-Length is known, and the body can be sent again after a redirect or a retry.
//
// Owner    The request, once it is given away.
// Thread   One at a time. Files are read on threads of the pool.
// Errors   body_failed: a file that is missing, no regular one, not readable, or shorter or longer
//          when it is sent than before. bad_request: a control character in a name or a type.
// Limits   parts_max. What field() and bytes() get is the caller's to bound.
// Memory   Fields, and of files piece_bytes_max at a time.
// Keywords: upload, form-data, file upload, RFC 7578
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/task/generator.h"
#include "tiderace/task/task.h"

namespace tiderace::http {

class MultipartForm {
  public:
    static constexpr std::size_t parts_max = 1'000;
    static constexpr std::size_t piece_bytes_max = 256_KiB;

    MultipartForm();

    MultipartForm& field(std::string_view name, std::string_view value) &;
    // A file of the disk, under the last part of its path; the type by its extension.
    MultipartForm& file(std::string_view name, std::string path) &;
    // The same, with a name and type of the caller's.
    MultipartForm& file(std::string_view name, std::string path, std::string_view file_name,
                        std::string_view type) &;
    // A file that is in memory.
    MultipartForm& bytes(std::string_view name, std::string_view content,
                         std::string_view file_name, std::string_view type) &;

    // The same for temporaries.
    MultipartForm field(std::string_view name, std::string_view value) && {
        return std::move(field(name, value));
    }
    MultipartForm file(std::string_view name, std::string path) && {
        return std::move(file(name, std::move(path)));
    }
    MultipartForm file(std::string_view name, std::string path, std::string_view file_name,
                       std::string_view type) && {
        return std::move(file(name, std::move(path), file_name, type));
    }
    MultipartForm bytes(std::string_view name, std::string_view content, std::string_view file_name,
                        std::string_view type) && {
        return std::move(bytes(name, content, file_name, type));
    }

    // "multipart/form-data; boundary=…"
    std::string type() const { return "multipart/form-data; boundary=" + boundary_; }
    // Whether all names and types may stand in a message, and the parts are few enough.
    bool valid() const { return valid_ && parts_ <= parts_max; }

    // For the client. The length of the body; a thread of the pool finds the files' sizes.
    task::Task<Result<std::uint64_t>> measure();
    // After measure(), any number of times. `form` lives as long as the generator.
    static task::Generator<std::string> pieces(std::shared_ptr<const MultipartForm> form);

  private:
    // Text of the form itself, and then a file or nothing.
    struct Stretch {
        std::string text;
        std::string path;  // "": no file
        std::uint64_t file_bytes = 0;
    };

    std::string& text() { return stretches_.back().text; }
    void begin_part(std::string_view name, const std::string_view* file_name,
                    std::string_view type);
    std::string end() const { return "--" + boundary_ + "--\r\n"; }

    std::string boundary_;
    std::vector<Stretch> stretches_{1};
    std::size_t parts_ = 0;
    bool valid_ = true;
};

}  // namespace tiderace::http
