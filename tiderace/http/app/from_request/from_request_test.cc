#include "tiderace/http/app/from_request/from_request.h"

#include <gtest/gtest.h>

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/http/app/body_stream.h"
#include "tiderace/http/app/endpoint.h"
#include "tiderace/http/app/form.h"
#include "tiderace/http/app/pages/page.h"

namespace tiderace::http {
namespace {

struct Upload {};
struct Span {};
struct Word {
    std::string word;
};
// A stranger gets a page.
struct Guarded {};
struct Twice {};

}  // namespace

template <>
struct FromRequest<Upload> {
    static task::Task<Upload> from(int, BodyStream) { co_return Upload(); }
};
template <>
struct FromRequest<Span> {
    static Span from(std::string_view, std::string_view) { return {}; }
};
template <>
struct FromRequest<Guarded> {
    static std::expected<Guarded, PageOf<"refused.html", Word>> from(Form<Word>);
};
template <>
struct FromRequest<Twice> {
    static Twice from(int, Guarded);
};

namespace app_parts {
namespace {

template <typename F>
using Of = SignatureOf<F>;

TEST(FromRequest, ASignatureCountsWhatItsArgumentsAreMadeOf) {
    using Waiting = Of<void (*)(int, Upload, Body)>;
    EXPECT_EQ(Waiting::path_parameters, 2U);
    EXPECT_EQ(Waiting::body, BodyUse::streamed);
    EXPECT_EQ(Waiting::body_arguments, 2U);
    EXPECT_FALSE(Waiting::takes_views);
    EXPECT_TRUE(Waiting::waits);
    using Viewing = Of<void (*)(Span)>;
    EXPECT_EQ(Viewing::path_parameters, 2U);
    EXPECT_TRUE(Viewing::takes_views);
    EXPECT_FALSE(Viewing::waits);
}

TEST(FromRequest, DocumentsDescribeWhatItTakesAndAnswers) {
    RouteShape shape;
    ShapeOf<std::string>::With<Twice>::list(shape);
    using Role = RouteItem::Role;
    ASSERT_EQ(shape.size(), 4U);
    EXPECT_EQ(shape[0].role, Role::parameter);
    EXPECT_EQ(shape[1].role, Role::body);
    EXPECT_EQ(shape[2].role, Role::answer) << "the page";
    EXPECT_EQ(shape[3].media, "text/plain");
}

// A template that does not fit is reported when the program starts.
TEST(FromRequest, ThePagesOfItsAnswersAreKnown) {
    std::vector<PageUse> uses;
    kind_of<Of<std::string (*)(int, Twice)>>.list_pages(uses);
    ASSERT_EQ(uses.size(), 1U);
    EXPECT_EQ(uses[0].name, "refused.html");
}

}  // namespace
}  // namespace app_parts
}  // namespace tiderace::http
