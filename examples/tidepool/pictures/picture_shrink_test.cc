#include "examples/tidepool/pictures/picture_shrink.h"

#include <gtest/gtest.h>

#include <string>
#include <vips/vips8>

namespace tidepool {
namespace {

using vips::VImage;

class PictureShrinkTest : public ::testing::Test {
  protected:
    // libvips is started by the first picture.
    PictureShrinkTest() { EXPECT_EQ(fault("no picture"), PictureFault::unknown); }

    static PictureFault fault(const std::string& bytes) {
        const auto small = shrink_picture(bytes, PictureShape::post);
        EXPECT_FALSE(small);
        return small ? PictureFault::off : small.error();
    }
    static std::string saved(const VImage& image, const char* ending) {
        void* data = nullptr;
        std::size_t size = 0;
        image.write_to_buffer(ending, &data, &size);
        std::string bytes(static_cast<const char*>(data), size);
        g_free(data);
        return bytes;
    }
    static VImage sea(int width, int height) {
        return VImage::black(width, height, VImage::option()->set("bands", 3)) + 90;
    }
};

TEST_F(PictureShrinkTest, ALargePictureIsMadeSmallAndWrittenAnew) {
    for (const char* ending : {".jpg", ".png", ".webp"}) {
        const auto small = shrink_picture(saved(sea(3'000, 2'000).cast(VIPS_FORMAT_UCHAR), ending),
                                          PictureShape::post);
        ASSERT_TRUE(small) << ending;
        EXPECT_EQ(small->width, 1'280);
        EXPECT_EQ(small->height, 853);
        EXPECT_EQ(small->webp.substr(0, 4), "RIFF");
        EXPECT_EQ(small->webp.substr(8, 4), "WEBP");
    }
    const auto kept =
        shrink_picture(saved(sea(20, 10).cast(VIPS_FORMAT_UCHAR), ".png"), PictureShape::post);
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->width, 20) << "nothing is made larger";
    const auto face =
        shrink_picture(saved(sea(300, 900).cast(VIPS_FORMAT_UCHAR), ".jpg"), PictureShape::face);
    ASSERT_TRUE(face);
    EXPECT_EQ(face->width, 192);
    EXPECT_EQ(face->height, 192);
}

TEST_F(PictureShrinkTest, WhatACameraWroteIsGoneAndThePictureUpright) {
    VImage image = sea(40, 20).cast(VIPS_FORMAT_UCHAR);
    image = image.copy();
    image.set("exif-ifd0-Copyright", "where I live");
    image.set("orientation", 6);  // lies on its side
    const std::string jpeg = saved(image, ".jpg");
    ASSERT_NE(jpeg.find("where I live"), std::string::npos);
    const auto small = shrink_picture(jpeg, PictureShape::post);
    ASSERT_TRUE(small);
    EXPECT_EQ(small->webp.find("where I live"), std::string::npos);
    EXPECT_EQ(small->webp.find("EXIF"), std::string::npos);
    EXPECT_EQ(small->width, 20);
    EXPECT_EQ(small->height, 40);
}

TEST_F(PictureShrinkTest, WhatWouldTakeAllMemoryIsRefusedByItsHead) {
    const std::string bomb = saved(sea(10'000, 5'000).cast(VIPS_FORMAT_UCHAR), ".png");
    EXPECT_LT(bomb.size(), picture_bytes_max);
    EXPECT_EQ(fault(bomb), PictureFault::too_many);
    EXPECT_EQ(fault(saved(sea(12'001, 1).cast(VIPS_FORMAT_UCHAR), ".png")), PictureFault::too_many);
    EXPECT_EQ(fault(std::string(picture_bytes_max + 1, 'x')), PictureFault::too_large);
    std::string scans = saved(sea(9, 9).cast(VIPS_FORMAT_UCHAR), ".jpg");
    for (std::size_t i = 0; i <= picture_scans_max; ++i) scans += "\xFF\xDA";
    EXPECT_EQ(fault(scans), PictureFault::too_many);
}

TEST_F(PictureShrinkTest, OnlyFourKindsAreDecodedWhateverTheyAreCalled) {
    const VImage image = sea(8, 8).cast(VIPS_FORMAT_UCHAR);
    EXPECT_EQ(fault("<svg xmlns=\"http://www.w3.org/2000/svg\"/>"), PictureFault::unknown);
    EXPECT_EQ(fault(saved(image, ".tif")), PictureFault::unknown);
    EXPECT_EQ(fault(saved(image, ".ppm")), PictureFault::unknown);
    EXPECT_EQ(fault("%PDF-1.7"), PictureFault::unknown);
    EXPECT_EQ(fault(""), PictureFault::unknown);
    EXPECT_EQ(fault("GIF89a and no more"), PictureFault::broken);
    const std::string png = saved(sea(500, 500).cast(VIPS_FORMAT_UCHAR), ".png");
    EXPECT_EQ(fault(png.substr(0, png.size() / 2)), PictureFault::broken);
    const std::string jpeg = saved(sea(500, 500).cast(VIPS_FORMAT_UCHAR), ".jpg");
    EXPECT_EQ(fault(jpeg.substr(0, jpeg.size() / 2)), PictureFault::broken);
    // Beyond the check of the first bytes, the loaders themselves are blocked.
    const std::string tiff = saved(image, ".tif");
    EXPECT_THROW(VImage::new_from_buffer(tiff.data(), tiff.size(), ""), vips::VError);
}

}  // namespace
}  // namespace tidepool
