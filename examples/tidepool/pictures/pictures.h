// Pictures: files of one folder, each of one post or of one member's face.
//
//   form -> incoming file -> pool: shrink_picture() -> HASH-RANDOM.webp -> a row names it
//
// The name has a hash of what is inside, so that a browser keeps it for ever. Its random end makes
// it the name of one row: when the row goes, the file goes, and no other row can have it.
//
// Owner    The loop's state.
// Thread   The loop's. Files are read, decoded and written on the pool, one picture at a time.
// Errors   A PictureFault; std::runtime_error where a file cannot be written.
// Limits   uploads_max that come at a time, upload_time for each; picture_shrink.h. Each loop.
#pragma once

#include <tiderace/app.h>
#include <tiderace/task.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "examples/tidepool/pictures/picture_shrink.h"

namespace tidepool {

// The columns of one picture's row.
struct Picture {
    std::string name;  // "": none
    std::int64_t width = 0;
    std::int64_t height = 0;
};

// "HASH-RANDOM.webp", and nothing else that may ever lie in the folder.
bool is_picture_name(std::string_view name);

class Pictures {
  public:
    static constexpr std::size_t uploads_max = 32;
    static constexpr std::chrono::minutes upload_time{2};

    // "": no pictures.
    explicit Pictures(std::string folder) : folder_(std::move(folder)) {}

    bool on() const { return !folder_.empty() && pictures_are_built(); }
    // The rest of the part that `form.next()` gave.
    tiderace::Task<std::expected<Picture, PictureFault>> receive(tiderace::http::Multipart& form,
                                                                 PictureShape shape);
    // Pictures, and remains of uploads, that are older than `age`.
    tiderace::Task<std::vector<std::string>> older_than(std::chrono::seconds age);
    // Removes the named pictures, if they are there.
    tiderace::Task<> remove(std::vector<std::string> names);

  private:
    class Seat;

    std::string folder_;
    tiderace::Semaphore one_{1};
    std::size_t uploads_ = 0;
};

}  // namespace tidepool
