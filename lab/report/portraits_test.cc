#include "lab/report/portraits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "lab/report/published.h"

namespace tiderace::lab::report {
namespace {

std::size_t letters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

TEST(Portraits, EachIsADrawingThatAPhoneHolds) {
    std::set<std::string_view> names;
    for (const Portrait& portrait : portraits()) {
        EXPECT_TRUE(names.insert(portrait.name).second) << portrait.name;
        std::string_view rest = portrait.flow;
        EXPECT_FALSE(rest.empty()) << portrait.name;
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            EXPECT_LE(letters(rest.substr(0, end)), 45U) << portrait.name;
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
}

TEST(Portraits, EveryNameThatTheLabKnowsHasOne) {
    std::istringstream names(
        "epoll epoll-lt epoll-et epoll-oneshot io_uring poll select kqueue queue threads pool "
        "blocking-epoll prefork libevent asio-shared asio-per-thread evhttp evhttp-sendfile "
        "asio-http nginx lighttpd h2o apache caddy haproxy floor floor-sendfile");
    for (std::string name; names >> name;) {
        EXPECT_NE(portrait_of(name), nullptr) << name;
    }
    EXPECT_EQ(portrait_of("iis"), nullptr);
    EXPECT_EQ(family_of("iis"), Family::other);
    EXPECT_EQ(family_of("pool"), Family::threads);
}

TEST(Published, EachSaysWhyAndWhatIsComparedHere) {
    for (const Published& one : published()) {
        EXPECT_FALSE(one.who.empty() || one.claim.empty() || one.why_not.empty());
        EXPECT_FALSE(one.workload.empty() || one.subjects.empty());
    }
}

}  // namespace
}  // namespace tiderace::lab::report
