#include "tiderace/http/wire/scan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "tiderace/base/random.h"

namespace tiderace::http::wire::scan {
namespace {

template <typename Class>
class Scan : public ::testing::Test {};
using Classes = ::testing::Types<ValueEnd, TargetEnd, TokenEnd>;
TYPED_TEST_SUITE(Scan, Classes);

// Bytes that end exactly where an allocation ends, at a chosen alignment, so that the address
// sanitizer sees any look past the view.
class Edge {
  public:
    Edge(const std::string& bytes, std::size_t alignment)
        : held_(new char[alignment + bytes.size()]), size_(bytes.size()), at_(alignment) {
        std::memcpy(held_.get() + at_, bytes.data(), size_);
    }
    ByteView view() const { return {held_.get() + at_, size_}; }

  private:
    std::unique_ptr<char[]> held_;
    std::size_t size_;
    std::size_t at_;
};

TYPED_TEST(Scan, FindsEachByteThatStopsAtEachPlaceOfEachLength) {
    for (std::size_t size = 0; size <= 50; ++size) {
        for (std::size_t place = 0; place <= size; ++place) {
            std::string bytes(size, 'a');
            if (place < size) bytes[place] = '\r';
            const Edge edge(bytes, place % 16);
            for (std::size_t from = 0; from <= place; ++from) {
                ASSERT_EQ(find_first<TypeParam>(edge.view(), from), place) << size << ' ' << from;
                ASSERT_EQ(find_first_portable<TypeParam>(edge.view(), from), place);
            }
        }
    }
}

TYPED_TEST(Scan, JudgesEachByteAsTheTableDoes) {
    for (int byte = 0; byte < 256; ++byte) {
        for (std::size_t place = 0; place < 33; ++place) {
            std::string bytes(33, 'x');
            bytes[place] = static_cast<char>(byte);
            const std::size_t expected =
                TypeParam::stops(static_cast<char>(byte)) ? place : bytes.size();
            ASSERT_EQ(find_first<TypeParam>(bytes, 0), expected) << byte << " at " << place;
        }
    }
}

TYPED_TEST(Scan, AgreesWithThePortableScanOnRandomBytesAtEveryAlignmentAndLength) {
    Random random(7);
    for (int round = 0; round < 400; ++round) {
        for (std::size_t alignment = 0; alignment < 16; ++alignment) {
            std::string bytes(random.below(70), '\0');
            // Mostly bytes that do not stop, so that the scan gets somewhere.
            for (char& c : bytes) {
                c = random.chance(1, 12) ? static_cast<char>(random.below(256))
                                         : static_cast<char>('a' + random.below(26));
            }
            const Edge edge(bytes, alignment);
            for (std::size_t from = 0; from <= bytes.size(); ++from) {
                ASSERT_EQ(find_first<TypeParam>(edge.view(), from),
                          find_first_portable<TypeParam>(edge.view(), from));
            }
        }
    }
}

TEST(ScanClasses, StopWhereTheNextPieceBegins) {
    EXPECT_EQ(find_first<TokenEnd>("Content-Length: 5\r\n", 0), 14U);
    EXPECT_EQ(find_first<TokenEnd>("X_Odd!#$%&'*+.^_`|~Name: 5", 0), 23U);
    EXPECT_EQ(find_first<TargetEnd>("/a?b=%20\"<>\\^`{|}~ HTTP/1.1", 0), 18U);
    EXPECT_EQ(find_first<TargetEnd>("/a#b", 0), 2U);
    EXPECT_EQ(find_first<ValueEnd>("a\tb c\xc3\xa9\r\n", 0), 7U);
}

}  // namespace
}  // namespace tiderace::http::wire::scan
