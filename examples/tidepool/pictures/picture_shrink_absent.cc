// Stands in for picture_shrink.cc where libvips is not installed.
#include "examples/tidepool/pictures/picture_shrink.h"

namespace tidepool {

bool pictures_are_built() {
    return false;
}

std::expected<SmallPicture, PictureFault> shrink_picture(std::string_view, PictureShape) {
    return std::unexpected(PictureFault::off);
}

}  // namespace tidepool
