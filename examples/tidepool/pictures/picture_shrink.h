// Pictures of strangers made harmless: decoded, turned upright, made small, and encoded again
// without the camera's metadata.
//
//   bytes -> JPEG, PNG, WebP or GIF by their first bytes -> limits, from the head -> libvips
//         -> WebP
//
// libvips may use its loaders for these four alone, and none that it calls untrusted. The first
// frame alone of a moving picture is decoded. Built without libvips, it refuses everything.
//
// Thread   Any; it takes up to a second, so: offload().
// Errors   A PictureFault.
// Limits   Below. A picture is decoded line by line: a few MiB beside its bytes, and what a
//          progressive or interlaced one needs for its pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace tidepool {

inline constexpr std::size_t picture_bytes_max = std::size_t{8} * 1024 * 1024;
inline constexpr std::int64_t picture_pixels_max = 40'000'000;
inline constexpr std::int64_t picture_side_max = 12'000;
inline constexpr std::int64_t picture_frames_max = 200;
inline constexpr std::size_t picture_scans_max = 60;  // of a progressive JPEG: each costs as much

enum class PictureFault : std::uint8_t {
    off,        // there is no libvips
    too_large,  // bytes
    unknown,    // none of the four kinds
    too_many,   // pixels, frames or scans
    broken,     // it cannot be decoded to its end
    busy,       // too many are worked on
};

enum class PictureShape : std::uint8_t {
    post,  // within 1280 x 1280
    face,  // 192 x 192, its middle
};

struct SmallPicture {
    std::string webp;
    std::int64_t width;
    std::int64_t height;
};

bool pictures_are_built();
std::expected<SmallPicture, PictureFault> shrink_picture(std::string_view bytes,
                                                         PictureShape shape);

}  // namespace tidepool
