#include "examples/tidepool/pictures/picture_shrink.h"

#include <vips/vips8>

#include <optional>
#include <string>

// ThreadSanitizer does not see the locks of libraries that were built without it, so what they
// write and free looks like races.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
extern "C" const char* __tsan_default_options() {
    return "ignore_noninstrumented_modules=1";
}
#endif
#endif

namespace tidepool {
namespace {

using vips::VImage;

constexpr int post_side = 1280;
constexpr int face_side = 192;
constexpr int quality = 80;

// libvips warns many times about each broken picture; senders must not be able to fill our log.
void ignore(const char*, GLogLevelFlags, const char*, void*) {}

bool begin_vips() {
    g_log_set_handler("VIPS", G_LOG_LEVEL_WARNING, ignore, nullptr);
    if (VIPS_INIT("tidepool") != 0) return false;
    // Each loader is a parser of strangers' bytes, so there are as few as possible.
    vips_block_untrusted_set(TRUE);
    vips_operation_block_set("VipsForeignLoad", TRUE);
    for (const char* loader : {"VipsForeignLoadJpeg", "VipsForeignLoadPng", "VipsForeignLoadWebp",
                               "VipsForeignLoadNsgif"}) {
        vips_operation_block_set(loader, FALSE);
    }
    // No picture is decoded twice, so the cache would only hold memory.
    vips_cache_set_max(0);
    vips_concurrency_set(1);  // of one picture: other loops shrink theirs at the same time
    return true;
}

bool vips_works() {
    static const bool works = begin_vips();
    return works;
}

bool is_of_a_known_kind(std::string_view bytes) {
    return bytes.starts_with("\xFF\xD8\xFF") || bytes.starts_with("\x89PNG\r\n\x1A\n") ||
           bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a") ||
           (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP"));
}

// A small progressive JPEG may have thousands of scans, and each of them costs as much as the whole
// picture. Marks inside other segments are counted too, which errs on the safe side.
std::size_t count_scans(std::string_view bytes) {
    if (!bytes.starts_with("\xFF\xD8")) return 0;
    std::size_t scans = 0;
    for (std::size_t at = bytes.find("\xFF\xDA"); at != std::string_view::npos;
         at = bytes.find("\xFF\xDA", at + 2)) {
        ++scans;
    }
    return scans;
}

// From its head: nothing is decoded.
std::optional<PictureFault> fault_of_head(const VImage& head) {
    const std::int64_t width = head.width();
    const std::int64_t height = head.height();
    if (width > picture_side_max || height > picture_side_max ||
        width * height > picture_pixels_max) {
        return PictureFault::too_many;
    }
    if (head.get_typeof("n-pages") != 0 && head.get_int("n-pages") > picture_frames_max) {
        return PictureFault::too_many;
    }
    return std::nullopt;
}

std::size_t little_endian(std::string_view bytes) {
    std::size_t value = 0;
    for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
}

// A WebP without all that is no picture: profiles, EXIF, XMP. What a saver keeps when asked to
// strip differs among versions of libvips.
std::string bare(std::string_view webp) {
    constexpr std::size_t head = 12;  // RIFF, size, WEBP
    constexpr std::size_t chunk_head = 8;
    constexpr unsigned profile_and_metadata = 0x20 | 0x08 | 0x04;
    std::string out(webp.substr(0, head));
    for (std::size_t at = head; at + chunk_head <= webp.size();) {
        const std::string_view name = webp.substr(at, 4);
        const std::size_t size = little_endian(webp.substr(at + 4, 4));
        const std::size_t whole = chunk_head + size + size % 2;
        if (name != "EXIF" && name != "XMP " && name != "ICCP") {
            const std::size_t flags = out.size() + chunk_head;
            out += webp.substr(at, whole);
            if (name == "VP8X") {
                out[flags] = static_cast<char>(static_cast<unsigned char>(out[flags]) &
                                               ~profile_and_metadata);
            }
        }
        at += whole;
    }
    const std::size_t rest = out.size() - 8;
    for (std::size_t i = 0; i < 4; ++i) out[4 + i] = static_cast<char>(rest >> (8 * i) & 0xFF);
    return out;
}

SmallPicture shrink(const VImage& image, PictureShape shape) {
    const int side = shape == PictureShape::face ? face_side : post_side;
    auto* options = VImage::option()
                        ->set("height", side)
                        ->set("size", shape == PictureShape::face ? VIPS_SIZE_BOTH : VIPS_SIZE_DOWN)
                        ->set("export_profile", "srgb");
    if (shape == PictureShape::face) options->set("crop", VIPS_INTERESTING_CENTRE);
    const VImage small = image.thumbnail_image(side, options);
    VipsBlob* made = small.webpsave_buffer(VImage::option()->set("Q", quality));
    std::size_t size = 0;
    const auto* data = static_cast<const char*>(vips_blob_get(made, &size));
    SmallPicture picture{bare({data, size}), small.width(), small.height()};
    vips_area_unref(VIPS_AREA(made));
    return picture;
}

}  // namespace

bool pictures_are_built() {
    return true;
}

std::expected<SmallPicture, PictureFault> shrink_picture(std::string_view bytes,
                                                         PictureShape shape) {
    if (bytes.size() > picture_bytes_max) return std::unexpected(PictureFault::too_large);
    // By the content: the sender chooses the name and the type of an upload.
    if (!is_of_a_known_kind(bytes)) return std::unexpected(PictureFault::unknown);
    if (count_scans(bytes) > picture_scans_max) return std::unexpected(PictureFault::too_many);
    if (!vips_works()) return std::unexpected(PictureFault::off);
    try {
        auto* options = VImage::option()
                            ->set("access", VIPS_ACCESS_SEQUENTIAL)
                            ->set("fail_on", VIPS_FAIL_ON_ERROR);
        const VImage image = VImage::new_from_buffer(bytes.data(), bytes.size(), "", options);
        if (const auto fault = fault_of_head(image)) return std::unexpected(*fault);
        return shrink(image, shape);
    } catch (const vips::VError&) {
        // libvips gathers messages until they are cleared.
        vips_error_clear();
        return std::unexpected(PictureFault::broken);
    }
}

}  // namespace tidepool
