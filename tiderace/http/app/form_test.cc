#include "tiderace/http/app/form.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tiderace/http/app/app_fixture.h"

namespace tiderace::http {
namespace {

// One word of a text, in lower case.
struct OneWord {
    std::string text;
};

}  // namespace
}  // namespace tiderace::http

template <>
struct tiderace::json::Convert<tiderace::http::OneWord> {
    static std::string write(const http::OneWord& word) { return word.text; }
    static std::optional<http::OneWord> read(const std::string& text) {
        if (text.find(' ') != text.npos) return std::nullopt;
        return http::OneWord{text};
    }
    static std::string expected() { return "one word"; }
};

namespace tiderace::http {
namespace {

class FormTest : public AppTest {
  protected:
    std::string post(std::string_view body,
                     std::string_view type = "application/x-www-form-urlencoded") {
        return ask("POST", "/form", "Content-Type: " + std::string(type) + "\r\n", body);
    }
};

enum class Order { newest, oldest };

struct Search {
    std::string q;
    json::Default<json::Range<int, 1, 100>> page = 1;
    std::vector<std::string> tag;
    std::optional<double> price;
    std::optional<Order> order;
    bool exact = false;
    std::optional<std::string> note;
};

std::string shown(const Search& search) {
    std::string text = search.q + "|" + std::to_string(search.page.value) + "|";
    for (const std::string& tag : search.tag) text += tag + ",";
    text += "|" + (search.price ? std::to_string(*search.price) : "none");
    text += search.order ? (*search.order == Order::oldest ? "|oldest" : "|newest") : "|";
    return text + (search.exact ? "|exact|" : "||") + search.note.value_or("none");
}

struct SignUp {
    json::Length<std::string, 1, 8> name;
    std::uint8_t age;
    std::vector<std::uint16_t> ports;
    std::optional<std::chrono::sys_seconds> when;

    std::optional<std::string> validate() const {
        if (*name == "root") return "the name is taken";
        return std::nullopt;
    }
};

TEST_F(FormTest, AQueryIsReadIntoAStruct) {
    app.get<"/s">([](Query<Search> search) { return shown(*search); });
    EXPECT_EQ(body_of(get("/s?q=a+b%26c")), "a b&c|1||none|||none");
    EXPECT_EQ(body_of(get("/s?tag=x&q=&tag=y&page=100&price=2.5&order=oldest&exact=on&note=&z=1")),
              "|100|x,y,|2.500000|oldest|exact|");
    EXPECT_EQ(body_of(get("/s?q=1&price=&order=")), "1|1||none|||none") << "empty is as if missing";
}

struct WordFilter {
    std::optional<OneWord> first_word;
    OneWord second_word;

    static constexpr json::Case json_case = json::Case::kebab;
};

TEST_F(FormTest, AMemberHasTheNameAndTheFormThatItHasInJson) {
    app.get<"/s">([](Query<WordFilter> filter) {
        return (filter->first_word ? filter->first_word->text : "none") + "," +
               filter->second_word.text;
    });
    EXPECT_EQ(body_of(get("/s?first-word=a&second-word=b&first_word=c")), "a,b");
    EXPECT_EQ(body_of(get("/s?first-word=&second-word=b")), "none,b");
    const std::string refused = get("/s?first-word=a&second-word=b+c");
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 400 ")) << refused;
    EXPECT_NE(refused.find(R"({"name":"second-word","detail":"expected one word, found \"b c\""})"),
              refused.npos)
        << refused;
    EXPECT_NE(get("/s").find(R"({"name":"second-word","detail":"is required"})"),
              std::string::npos);
}

TEST_F(FormTest, ABodyAndAResultMayBeAnyValue) {
    app.post<"/echo">([](Json<json::Value> value) { return json::Object{{"got", *value}}; });
    EXPECT_EQ(
        body_of(ask("POST", "/echo", "Content-Type: application/json\r\n", R"([1,{"a":null}])")),
        R"({"got":[1,{"a":null}]})");
    const std::string twice =
        ask("POST", "/echo", "Content-Type: application/json\r\n", R"({"a":1,"a":2})");
    EXPECT_TRUE(twice.starts_with("HTTP/1.1 422 ")) << twice;
}

struct Letter : json::Checked<std::string> {
    static bool holds(const std::string& value) { return value == "g"; }
    static std::string expected() { return "the letter g"; }
};
// A browser sends each field of a form, whether it was filled in or not.
struct Link {
    std::string url;
    std::optional<json::Length<std::string, 1, 20>> slug;
    std::optional<Letter> group;
    std::optional<json::Length<std::string, 0, 5>> note;
    json::Default<json::Range<int, 1, 365>> days = 30;
    json::Default<json::Length<std::string, 1, 9>> kind = "plain";
    json::Default<std::string> title = "untitled";
};

TEST_F(FormTest, AFieldThatWasLeftEmptyIsMissingWhereItsTypeHoldsNoEmptyText) {
    app.post<"/form">([](Form<Link> link) {
        return link->url + "|" + (link->slug ? "slug" : "no slug") + "|" +
               (link->group ? "group" : "no group") + "|" + (link->note ? "note" : "no note") +
               "|" + std::to_string(*link->days) + "|" + **link->kind + "|" + *link->title;
    });
    EXPECT_EQ(body_of(post("url=x&slug=&group=&note=&days=&kind=&title=")),
              "x|no slug|no group|note|30|plain|");
    EXPECT_EQ(body_of(post("url=x&slug=s&group=g&days=7&kind=k&title=t")),
              "x|slug|group|no note|7|k|t");
    for (const char* bad :
         {"slug=s", "url=x&group=G", "url=x&note=123456", "url=x&days=0", "url=x&slug=&slug="}) {
        EXPECT_EQ(status_of(post(bad)), "422") << bad;
    }
}

TEST_F(FormTest, AListThatMayBeMissingHasItsLengthOnceItIsThere) {
    struct Vote {
        json::Default<json::Length<std::vector<std::string>, 2, 3>> choice;
    };
    app.get<"/v">([](Query<Vote> vote) { return std::to_string((*vote->choice)->size()); });
    EXPECT_EQ(body_of(get("/v")), "0");
    EXPECT_EQ(body_of(get("/v?choice=a&choice=b")), "2");
    EXPECT_EQ(status_of(get("/v?choice=a")), "400");
    EXPECT_EQ(status_of(get("/v?choice=a&choice=b&choice=c&choice=d")), "400");
}

TEST_F(FormTest, EachFaultOfAQueryIsNamed) {
    app.get<"/s">([](Query<Search> search) { return shown(*search); });
    EXPECT_EQ(
        body_of(get("/s?page=101&price=x&price=y&order=up&exact=maybe")),
        R"({"title":"Bad Request","status":400,"detail":"the query cannot be read","errors":[)"
        R"({"name":"page","detail":"expected an integer from 1 to 100, found \"101\""},)"
        R"({"name":"price","detail":"expected a number, found \"x\""},)"
        R"({"name":"price","detail":"appears twice"},)"
        R"({"name":"order","detail":"expected one of \"newest\", \"oldest\", found \"up\""},)"
        R"({"name":"exact","detail":"expected true or false, found \"maybe\""},)"
        R"({"name":"q","detail":"is required"}]})");
    for (const char* bad : {"/s?q=%FF", "/s?q=1&page=1x", "/s?q=1&page=+1", "/s?q=1&price=nan",
                            "/s?q=1&price=inf", "/s?q=1&price=1e999", "/s?q=1&page=99999999999"}) {
        EXPECT_EQ(status_of(get(bad)), "400") << bad;
    }
}

TEST_F(FormTest, AFoundTextIsCutBetweenCharacters) {
    app.get<"/s">([](Query<Search> search) { return shown(*search); });
    for (int before = 36; before < 41; ++before) {
        const std::string answer =
            get("/s?q=1&page=" + std::string(before, '1') + "%F0%9F%8C%8A%F0%9F%8C%8A");
        EXPECT_EQ(status_of(answer), "400");
        EXPECT_EQ(body_of(answer).find("\uFFFD"), std::string::npos) << body_of(answer);
        EXPECT_NE(body_of(answer).find("…"), std::string::npos) << body_of(answer);
    }
}

TEST_F(FormTest, AFormIsReadIntoAStruct) {
    app.post<"/form">([](Form<SignUp> form) {
        std::string text = *form->name + " " + std::to_string(form->age);
        for (const std::uint16_t port : form->ports) text += " " + std::to_string(port);
        return text + (form->when ? " dated" : "");
    });
    EXPECT_EQ(body_of(post("name=%C3%A9a&age=255&ports=1&ports=65535")),
              "\xC3\xA9"
              "a 255 1 65535");
    EXPECT_EQ(body_of(post("name=a&age=0&when=2026-11-22T10:30:00Z")), "a 0 dated");
    EXPECT_EQ(status_of(post("name=a&age=1", "application/x-www-form-urlencoded; charset=utf-8")),
              "200");
    EXPECT_EQ(status_of(post("name=a&age=1", "text/plain")), "415");
    EXPECT_EQ(status_of(post("{}", "application/json")), "415");
    EXPECT_EQ(status_of(post("name=root&age=1")), "422");
    const std::string wrong = post("name=&age=256&ports=1&ports=x");
    EXPECT_EQ(status_of(wrong), "422");
    for (const char* name : {R"("name":"name")", R"("name":"age")", R"("name":"ports[1]")"}) {
        EXPECT_NE(wrong.find(name), std::string::npos) << name << wrong;
    }
    EXPECT_EQ(status_of(post("name=a&age=-1")), "422");
}

TEST_F(FormTest, AHundredThousandFieldsAreRefusedAtOnce) {
    app.post<"/form">([](Form<SignUp> form) { return *form->name; });
    std::string fields = "name=a&age=1";
    for (int i = 0; i < 100'000; ++i) fields += "&ports=1";
    const std::string answer = post(fields);
    EXPECT_EQ(status_of(answer), "422");
    EXPECT_NE(answer.find("more than 1000 values"), std::string::npos);
    EXPECT_LT(answer.size(), 2'000u);
    // At the limit.
    fields = "name=a&age=1";
    for (std::size_t i = 2; i < app_parts::pairs_max; ++i) fields += "&ports=1";
    EXPECT_EQ(status_of(post(fields)), "200");
    EXPECT_EQ(status_of(post(fields + "&ports=1")), "422");
}

TEST_F(FormTest, AFormAboveTheBodysLimitIs413) {
    app = App({.body_bytes_max = 12});
    app.post<"/form">([](Form<SignUp> form) { return *form->name; });
    EXPECT_EQ(status_of(post("name=a&age=1")), "200");
    EXPECT_EQ(status_of(post("name=a&age=11")), "413");
}

// When two arguments cannot be read, the answer names the first, and there is no second answer.
TEST_F(FormTest, TheFirstBadArgumentIsNamed) {
    app.get<"/{a}/{b}">([](int, int, Query<Search>) { return "never"; });
    const std::string answer = get("/x/y");
    EXPECT_EQ(status_of(answer), "400");
    EXPECT_NE(answer.find(R"("name":"a")"), std::string::npos);
}

}  // namespace
}  // namespace tiderace::http
