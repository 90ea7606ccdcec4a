#include "tiderace/http/response.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tiderace::http {
namespace {

using wire::FieldName;

std::string text_of(const Response& response) {
    std::string text;
    for (const ResponseField& field : response.fields()) {
        text += field.id == FieldName::other ? field.name : wire::to_string(field.id);
        text += "=";
        text += field.value;
        text += ";";
    }
    return text;
}

class NoBytes final : public BodySource {
  public:
    explicit NoBytes(int& alive) : alive_(&alive) { ++*alive_; }
    ~NoBytes() override { --*alive_; }
    State pull(core::BlockPool&, core::SendQueue&, std::size_t) override { return State::end; }

  private:
    int* alive_;
};

TEST(Response, IsTwoHundredWithoutFieldsOrBodyAsItStands) {
    Response response;
    EXPECT_EQ(response.status(), 200);
    EXPECT_TRUE(response.fields().empty());
    EXPECT_FALSE(response.has_body());
    EXPECT_EQ(response.body_bytes(), 0U);
    response.set_status(404);
    EXPECT_EQ(response.status(), 404);
}

TEST(Response, AddedFieldsKeepTheirOrderAndMayRepeat) {
    Response response;
    response.add(FieldName::vary, "Accept").add("X-One", "1").add(FieldName::vary, "Origin");
    EXPECT_EQ(text_of(response), "Vary=Accept;X-One=1;Vary=Origin;");
}

TEST(Response, AFieldIsKnownByItsNameInAnyCase) {
    Response response;
    response.add("vARY", "Accept");
    ASSERT_TRUE(response.find(FieldName::vary));
    EXPECT_EQ(response.find(FieldName::vary)->value, "Accept");
    EXPECT_FALSE(response.find(FieldName::etag));
}

TEST(Response, SettingReplacesAllOfThatNameAndNoOther) {
    Response response;
    response.add(FieldName::vary, "1").add("X-A", "2").add(FieldName::vary, "3").add("X-B", "4");
    response.set(FieldName::vary, "5");
    response.set("x-a", "6");
    response.set("VARY", "7");
    EXPECT_EQ(text_of(response), "X-B=4;x-a=6;Vary=7;");
    response.remove(FieldName::vary);
    EXPECT_EQ(text_of(response), "X-B=4;x-a=6;");
}

TEST(Response, NumbersAreWrittenOutWhole) {
    Response response;
    response.add(FieldName::etag, 0).add(FieldName::etag, UINT64_MAX);
    EXPECT_EQ(text_of(response), "ETag=0;ETag=18446744073709551615;");
}

TEST(Response, HoldsMoreFieldsThanFitInsideAndChangesThemToo) {
    Response response;
    std::string expected;
    for (std::size_t i = 0; i < 3 * ResponseFields::inline_max; ++i) {
        const ByteView number = response.keep(std::to_string(i));
        response.add(i % 2 == 0 ? FieldName::etag : FieldName::vary, number);
        if (i % 2 == 0) expected += "ETag=" + std::to_string(i) + ";";
    }
    EXPECT_EQ(response.fields().size(), 3 * ResponseFields::inline_max);
    response.remove(FieldName::vary);
    EXPECT_EQ(text_of(response), expected);
    response.set(FieldName::etag, "last");
    EXPECT_EQ(text_of(response), "ETag=last;");
}

TEST(Response, AllFieldsCanBeRemovedAlsoWhenThereWereMany) {
    Response response;
    for (std::size_t i = 0; i < ResponseFields::inline_max + 1; ++i) {
        response.add(FieldName::etag, "x");
    }
    response.remove(FieldName::etag);
    EXPECT_TRUE(response.fields().empty());
    response.add(FieldName::vary, "one");
    EXPECT_EQ(text_of(response), "Vary=one;");
}

TEST(Response, KeptTextStaysWhereItIsWhateverIsKeptAfterIt) {
    Response response;
    std::vector<ByteView> kept;
    for (int i = 0; i < 200; ++i) {
        std::string text(static_cast<std::size_t>(i), static_cast<char>('a' + i % 26));
        kept.push_back(response.keep(text));
        text.assign(text.size(), '?');
    }
    for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(kept[static_cast<std::size_t>(i)],
                  std::string(static_cast<std::size_t>(i), static_cast<char>('a' + i % 26)));
    }
}

TEST(Response, KeptTextMayFillItsRoomToTheLastByte) {
    Response response;
    const std::string full(Response::kept_bytes, 'x');
    EXPECT_EQ(response.keep(full), full);
    EXPECT_EQ(response.keep(""), "");
    EXPECT_EQ(response.keep("y"), "y");
}

// Text behind a pointer stays where it is in a move, and a short string does not: each form of
// text, field and body has to be good in the new place, and the old one may be used again.
TEST(Response, AMovedOneHasItsFieldsItsTextsAndItsBody) {
    for (const std::size_t fields : {0U, 1U, 8U, 9U, 30U}) {
        for (const std::size_t bytes : {0U, 1U, 15U, 16U, 5'000U, 70'000U}) {
            auto first = std::make_unique<Response>(201);
            std::string expected = "Content-Type=text/plain; charset=utf-8;";
            first->text(std::string(bytes, 'b'));
            for (std::size_t i = 0; i < fields; ++i) {
                const std::string name = "X-" + std::to_string(i);
                const std::string value = i % 5 == 4 ? std::string(600, 'v') : name + "!";
                first->header(name, value);
                expected += name + "=" + value + ";";
            }
            Response second = std::move(*first);
            first->header("X-Again", "1").text("again");
            EXPECT_EQ(first->header("X-Again"), "1");
            EXPECT_EQ(first->copied_body(), "again");
            first.reset();
            Response third(500);
            third.text("dropped").header("X-Dropped", "1");
            third = std::move(second);
            EXPECT_EQ(third.status(), 201);
            EXPECT_EQ(text_of(third), expected);
            EXPECT_EQ(third.copied_body(), std::string(bytes, 'b'));
            EXPECT_EQ(static_cast<bool>(third.body_owner()), bytes > Response::copied_bytes_max);
        }
    }
}

TEST(Response, AMovedOneHasItsSourceAndItsQueue) {
    int alive = 0;
    core::BlockPool blocks;
    Response first;
    first.body("text/csv", std::make_unique<NoBytes>(alive));
    Response second = std::move(first);
    EXPECT_TRUE(second.has_source());
    EXPECT_EQ(alive, 1);
    core::SendQueue queue;
    queue.append(blocks, "queued");
    second.set_body(std::move(queue));
    EXPECT_EQ(alive, 0);
    Response third = std::move(second);
    ASSERT_NE(third.queued_body(), nullptr);
    EXPECT_EQ(third.body_bytes(), 6U);
    third.drop_body();
    EXPECT_EQ(blocks.taken(), 0U);
}

TEST(Response, AHeaderIsACopyThatAMessageMayHold) {
    Response response;
    std::string value = "one";
    response.header("x-a", value).header("Vary", value);
    value = "two";
    response.header("x-bad", "1\r\nx-injected: 2").header("x bad", "3").header("", "4");
    EXPECT_EQ(text_of(response), "x-a=one;Vary=one;");
    EXPECT_EQ(response.header("X-A"), "one");
    EXPECT_EQ(response.header("vary"), "one");
    EXPECT_EQ(response.header("x-bad"), "");
}

TEST(Response, ThereIsOneContentTypeAndOneLocation) {
    Response response;
    response.text("a").header("content-type", "text/x-own").header("Location", "/old");
    response.header("location", "/a b").header("location", "");
    EXPECT_EQ(text_of(response), "Content-Type=text/x-own;Location=/a%20b;");
    response.html("b");
    EXPECT_EQ(response.header("Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(response.copied_body(), "b");
    EXPECT_EQ(response.fields().size(), 2U);
}

TEST(Response, AHeaderThatIsSetReplacesTheOthersUnlessNoMessageMayHoldIt) {
    Response response;
    response.header("x-a", "1").header("X-A", "2").header("Vary", "3");
    response.set_header("X-a", "4\n").set_header("X-a", "5").set_header("vary", "6");
    EXPECT_EQ(text_of(response), "X-a=5;Vary=6;");
}

TEST(Response, ACookieThatNoClientWouldKeepIsLeftOutAndRemembered) {
    Response response = Response().cookie({.name = "a", .value = "1"});
    EXPECT_EQ(response.cookie_fault(), wire::CookieFault::none);
    response.cookie({.name = "b;", .value = "1"});
    EXPECT_NE(response.cookie_fault(), wire::CookieFault::none);
    EXPECT_EQ(response.fields().size(), 1U);
}

TEST(Response, TakesTheContentOfAnotherThatIsGoneAfterwards) {
    Response response(404);
    response.header("Allow", "GET").text("plain");
    {
        Response page(200);
        page.text("first").html("page").header("X-Page", std::string(3, 'p'));
        response.take_content(std::move(page));
    }
    EXPECT_EQ(response.status(), 404);
    EXPECT_EQ(text_of(response), "Allow=GET;Content-Type=text/html; charset=utf-8;X-Page=ppp;");
    EXPECT_EQ(response.copied_body(), "page");
    response.take_content(Response());
    EXPECT_FALSE(response.has_body());
    EXPECT_EQ(response.header("X-Page"), "ppp");
}

TEST(Response, ABodyIsSharedAboveItsLimit) {
    for (const std::size_t more : {0U, 1U}) {
        Response response;
        response.set_body(std::string(Response::copied_bytes_max + more, 'b'));
        EXPECT_EQ(static_cast<bool>(response.body_owner()), more > 0);
        EXPECT_EQ(response.body_bytes(), Response::copied_bytes_max + more);
    }
}

TEST(Response, ABodyThatIsSharedIsCopiedOnceWhereItHasNoOwner) {
    const std::string text(100, 'b');
    Response response;
    response.share_body();
    EXPECT_FALSE(response.has_body());
    response.set_body(ByteView(text));
    response.share_body();
    EXPECT_TRUE(response.body_owner());
    EXPECT_EQ(response.copied_body(), text);
    EXPECT_NE(response.copied_body().data(), text.data());
    const char* const shared = response.copied_body().data();
    response.share_body();
    EXPECT_EQ(response.copied_body().data(), shared) << "it has an owner";
    response.set_body(ByteView());
    response.share_body();
    EXPECT_FALSE(response.body_owner()) << "there is nothing to own";
}

TEST(Response, ABodyOfAStringIsKept) {
    Response response;
    response.set_body(std::string(1000, 'b'));
    EXPECT_TRUE(response.has_body());
    EXPECT_EQ(response.body_bytes(), 1000U);
    EXPECT_EQ(response.copied_body(), std::string(1000, 'b'));
    EXPECT_EQ(response.queued_body(), nullptr);
    EXPECT_EQ(response.take_source(), nullptr);
}

TEST(Response, ViewsOfAnEarlierBodyStayGood) {
    Response response;
    response.set_body(std::string(1000, 'a'));
    const ByteView before = response.copied_body();
    response.set_body(std::string(1000, 'b'));
    response.set_body(std::string(1000, 'c'));
    EXPECT_EQ(before, std::string(1000, 'a'));
    EXPECT_EQ(response.copied_body(), std::string(1000, 'c'));
}

TEST(Response, TheLastBodyCounts) {
    int alive = 0;
    core::BlockPool blocks;
    {
        Response response;
        response.set_body(std::make_unique<NoBytes>(alive));
        EXPECT_EQ(response.body_bytes(), std::nullopt);
        EXPECT_EQ(alive, 1);
        core::SendQueue queue;
        queue.append(blocks, "queued");
        response.set_body(std::move(queue));
        EXPECT_EQ(alive, 0);
        EXPECT_EQ(response.body_bytes(), 6U);
        EXPECT_EQ(blocks.taken(), 1U);
        response.set_body("text");
        EXPECT_EQ(blocks.taken(), 0U);
        EXPECT_EQ(response.copied_body(), "text");
        response.drop_body();
        EXPECT_FALSE(response.has_body());
        EXPECT_EQ(response.body_bytes(), 0U);
    }
}

TEST(Response, ASourceSaysItsLengthOrNot) {
    int alive = 0;
    Response response;
    response.set_body(std::make_unique<NoBytes>(alive), 7);
    EXPECT_EQ(response.body_bytes(), 7U);
    EXPECT_EQ(response.copied_body(), "");
    const std::unique_ptr<BodySource> source = response.take_source();
    EXPECT_NE(source, nullptr);
    EXPECT_EQ(response.body_bytes(), 7U);  // the length stays when the source was taken
}

TEST(Response, AnUnsentBodyHasALengthAndFailsWhereItIsSentAfterAll) {
    Response response;
    EXPECT_EQ(response.content_length(true), std::nullopt);
    EXPECT_EQ(response.content_length(false), 0U);
    response.set_unsent_body(12);
    EXPECT_TRUE(response.has_body());
    EXPECT_EQ(response.content_length(true), 12U);
    core::BlockPool blocks;
    core::SendQueue out;
    EXPECT_EQ(response.take_source()->pull(blocks, out, 1), BodySource::State::failed);
}

}  // namespace
}  // namespace tiderace::http
