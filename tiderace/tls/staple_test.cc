#include "tiderace/tls/staple.h"

#include <gtest/gtest.h>

#include <ctime>

#include "tiderace/testing/certificates.h"
#include "tiderace/tls/certificate.h"
#include "tiderace/tls/read_file.h"

namespace tiderace::tls {
namespace {

class StapleFileTest : public ::testing::Test {
  protected:
    Result<Staple> load(const std::string& file) {
        return Staple::load(file, certificate_->leaf.get(), now_);
    }

    testing::TemporaryFolder folder_;
    testing::Authority authority_;
    Result<Certificate> certificate_ = Certificate::load(authority_.issue(folder_, "one"));
    UnixSeconds now_ = std::time(nullptr);
};

TEST_F(StapleFileTest, ServesUntilItsEndAndNotAtIt) {
    const auto staple = load(authority_.answer_for(folder_, certificate_->files.certificate, "s"));
    ASSERT_TRUE(staple);
    EXPECT_EQ(staple->warning, "");
    EXPECT_NEAR(static_cast<double>(staple->ends - now_), 86'400, 100);
    EXPECT_TRUE(staple->serves(staple->ends - 1));
    EXPECT_FALSE(staple->serves(staple->ends));
    now_ = staple->ends;  // loaded at its end, it does not serve either
    const auto late = load(folder_.path_of("s"));
    ASSERT_TRUE(late);
    EXPECT_FALSE(late->serves(0));
    EXPECT_NE(late->warning, "");
}

TEST_F(StapleFileTest, EveryCutOfAnAnswerIsRefused) {
    const std::string file =
        authority_.answer_for(folder_, certificate_->files.certificate, "whole");
    const auto whole = read_file(file, 1'000'000);
    ASSERT_TRUE(whole);
    for (std::size_t cut = 0; cut < whole->size(); ++cut) {
        folder_.write("cut", std::string(whole->substr(0, cut)));
        EXPECT_FALSE(load(folder_.path_of("cut"))) << cut;
    }
}

TEST_F(StapleFileTest, AnAnswerWithoutContentIsNone) {
    folder_.write("empty", std::string("\x30\x03\x0a\x01\x00", 5));  // "successful", and no more
    const auto staple = load(folder_.path_of("empty"));
    ASSERT_FALSE(staple);
    EXPECT_NE(staple.error().message().find("expected a successful OCSP response"),
              std::string::npos);
    EXPECT_FALSE(load(folder_.path_of("absent")));
}

}  // namespace
}  // namespace tiderace::tls
