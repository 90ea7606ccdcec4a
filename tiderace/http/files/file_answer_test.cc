// Encoding x method x range x condition, over real files.
#include "tiderace/http/files/file_answer.h"

#include <fcntl.h>

#include <cerrno>

#include "tiderace/http/stages.h"
#include "tiderace/testing/static_site.h"

namespace tiderace::http::files {
namespace {

constexpr ByteView plain = "The tide comes in, the tide goes out.";
constexpr ByteView packed_gz = "gz: tide in, tide out";
constexpr ByteView packed_br = "br: in, out";

class FileAnswerTest : public testing::StaticSite {
  protected:
    FileAnswerTest() {
        folder_.write("a.txt", plain);
        folder_.write("a.txt.gz", packed_gz);
        folder_.write("a.txt.br", packed_br);
        folder_.set_time("a.txt", 784'111'777);
        folder_.set_time("a.txt.gz", 784'111'778);
        folder_.set_time("a.txt.br", 784'111'779);
        folder_.write("plain.txt", plain);
        folder_.set_time("plain.txt", 784'111'777);
    }
};

struct CodingCase {
    const char* accept;
    const char* coding;
};
constexpr CodingCase coding_cases[] = {
    {"", ""},
    {"gzip", "gzip"},
    {"br", "br"},
    {"gzip, br", "br"},
    {"gzip, br;q=0.5", "gzip"},
    {"gzip;q=0, br;q=0", ""},
    {"zstd", ""},
    {"*", "br"},
    {"identity;q=1, *;q=0.1", ""},
    {"deflate", ""},
};
struct RangeCase {
    const char* value;
    int status;
};
constexpr RangeCase range_cases[] = {
    {"", 200}, {"bytes=0-3", 206}, {"bytes=-4", 206}, {"bytes=900-", 416}, {"bytes=3-1", 200},
};
struct ConditionCase {
    const char* field;
    const char* value;  // "" for the current tag
    int status;         // 0: as without it
};
constexpr ConditionCase condition_cases[] = {
    {"", "", 0},         {"If-None-Match", "", 304},     {"If-None-Match", "\"other\"", 0},
    {"If-Match", "", 0}, {"If-Match", "\"other\"", 412},
};

class FileAnswerMatrix : public FileAnswerTest {
  protected:
    void check(ByteView method, const CodingCase& coding, const RangeCase& range,
               const ConditionCase& condition) {
        const Fields accept =
            *coding.accept == '\0' ? Fields{} : Fields{{"Accept-Encoding", coding.accept}};
        const std::string etag = get("/a.txt", accept).header("ETag");
        Fields fields = accept;
        if (*range.value != '\0') fields.emplace_back("Range", range.value);
        if (*condition.field != '\0') {
            fields.emplace_back(condition.field, *condition.value == '\0' ? etag : condition.value);
        }
        const bool is_get = method == "GET";
        const int status = condition.status != 0 ? condition.status : is_get ? range.status : 200;
        auto& answer = ask(method, "/a.txt", fields);
        answer.finish();
        ASSERT_EQ(answer.status(), status);
        if (status == 412) return;
        EXPECT_EQ(answer.header("Vary"), "Accept-Encoding");
        if (status != 416) {
            EXPECT_EQ(answer.header("ETag"), etag);
            EXPECT_EQ(answer.count("ETag"), 1U);
        }
        check_body(answer, is_get, coding.coding, range.value);
    }

    void check_body(testing::RecordedExchange& answer, bool is_get, ByteView coding,
                    ByteView range) {
        const ByteView whole = coding == "br" ? packed_br : coding == "gzip" ? packed_gz : plain;
        const std::string size = std::to_string(whole.size());
        if (answer.status() == 416 || answer.status() == 304) {
            EXPECT_EQ(answer.body(), "");
            EXPECT_FALSE(answer.has("Content-Type"));
            EXPECT_FALSE(answer.has("Content-Encoding"));
            EXPECT_EQ(answer.header("Content-Range"),
                      answer.status() == 416 ? "bytes */" + size : std::string());
            return;
        }
        EXPECT_EQ(answer.header("Content-Encoding"), coding);
        EXPECT_EQ(answer.header("Content-Type"), "text/plain; charset=utf-8");
        const ByteView part = answer.status() == 200 ? whole
                              : range == "bytes=-4"  ? whole.substr(whole.size() - 4)
                                                     : whole.substr(0, 4);
        EXPECT_EQ(answer.body(), is_get ? part : "");
        EXPECT_EQ(answer.content_length(), static_cast<std::int64_t>(part.size()));
    }
};

TEST_F(FileAnswerMatrix, EveryCombinationOfCodingMethodRangeAndConditionHolds) {
    for (const CodingCase& coding : coding_cases) {
        for (const char* method : {"GET", "HEAD"}) {
            for (const RangeCase& range : range_cases) {
                for (const ConditionCase& condition : condition_cases) {
                    SCOPED_TRACE(std::string(method) + " coding " + coding.accept + " range " +
                                 range.value + ' ' + condition.field + ' ' + condition.value);
                    check(method, coding, range, condition);
                }
            }
        }
    }
}

TEST_F(FileAnswerTest, VariantsHaveTagsOfTheirOwn) {
    const std::string plain_tag = get("/a.txt").header("ETag");
    const std::string gzip_tag = get("/a.txt", {{"Accept-Encoding", "gzip"}}).header("ETag");
    EXPECT_NE(plain_tag, gzip_tag);
    EXPECT_EQ(get("/a.txt", {{"If-None-Match", gzip_tag}}).status(), 200);
    EXPECT_EQ(get("/a.txt", {{"If-None-Match", plain_tag + ", " + gzip_tag}}).status(), 304);
}

TEST_F(FileAnswerTest, ListsMayComeInSeveralLines) {
    const std::string tag = get("/plain.txt").header("ETag");
    EXPECT_EQ(get("/plain.txt", {{"If-None-Match", "\"x\""}, {"If-None-Match", tag}}).status(),
              304);
    EXPECT_EQ(get("/a.txt", {{"Accept-Encoding", "deflate"}, {"Accept-Encoding", "gzip"}})
                  .header("Content-Encoding"),
              "gzip");
}

TEST_F(FileAnswerTest, DatesDecideWhereThereIsNoTag) {
    const char* same = "Sun, 06 Nov 1994 08:49:37 GMT";
    const char* before = "Sun, 06 Nov 1994 08:49:36 GMT";
    EXPECT_EQ(get("/plain.txt", {{"If-Modified-Since", same}}).status(), 304);
    EXPECT_EQ(get("/plain.txt", {{"If-Modified-Since", before}}).status(), 200);
    EXPECT_EQ(get("/plain.txt", {{"If-Modified-Since", "yesterday"}}).status(), 200);
    EXPECT_EQ(get("/plain.txt", {{"If-Unmodified-Since", before}}).status(), 412);
    EXPECT_EQ(get("/plain.txt", {{"If-Unmodified-Since", same}}).status(), 200);
    EXPECT_EQ(get("/plain.txt", {{"If-Modified-Since", same}, {"If-None-Match", "\"x\""}}).status(),
              200);
}

TEST_F(FileAnswerTest, IfRangeKeepsPartsOfDifferentFilesApart) {
    const std::string tag = get("/plain.txt").header("ETag");
    const auto part = [&](const std::string& if_range) {
        return get("/plain.txt", {{"Range", "bytes=0-3"}, {"If-Range", if_range}}).status();
    };
    EXPECT_EQ(part(tag), 206);
    EXPECT_EQ(part("\"other\""), 200);
    EXPECT_EQ(part("W/" + tag), 200);
    EXPECT_EQ(part("Sun, 06 Nov 1994 08:49:37 GMT"), 206);
    EXPECT_EQ(part("Sun, 06 Nov 1994 08:49:38 GMT"), 200);
    // If-Range also makes an unsatisfiable range harmless.
    EXPECT_EQ(get("/plain.txt", {{"Range", "bytes=900-"}, {"If-Range", "\"other\""}}).status(),
              200);
}

TEST_F(FileAnswerTest, SeveralRangesComeAsMultipart) {
    for (const std::uint64_t eager : {0, 65536}) {  // from the descriptor, and from memory
        server_.reset();
        options_.cache.sendfile_bytes_min = eager;
        auto& answer = get("/plain.txt", {{"Range", "bytes=0-2,8-9,-4"}});
        ASSERT_EQ(answer.status(), 206);
        const std::string type = answer.header("Content-Type");
        ASSERT_TRUE(type.starts_with("multipart/byteranges; boundary="));
        const std::string boundary = type.substr(type.find('=') + 1);
        const std::string expected =
            "\r\n--" + boundary + "\r\nContent-Type: text/plain; charset=utf-8\r\n" +
            "Content-Range: bytes 0-2/37\r\n\r\nThe\r\n--" + boundary +
            "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes 8-9/37\r\n\r\n c" +
            "\r\n--" + boundary +
            "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes 33-36/37\r\n\r\n" +
            "out.\r\n--" + boundary + "--\r\n";
        // RFC 2046 lets the first line break belong to the boundary or to nothing.
        const std::string body = answer.body();
        EXPECT_EQ(body.starts_with("\r\n") ? body : "\r\n" + body, expected);
        EXPECT_EQ(answer.content_length(), static_cast<std::int64_t>(body.size()));
        EXPECT_FALSE(answer.has("Content-Range"));
    }
}

TEST_F(FileAnswerTest, AbsurdRangeSetsGetTheWhole) {
    std::string many = "bytes=0-0";
    for (int i = 1; i < 1000; ++i) many += ",0-0";
    for (const std::string& range :
         {many, std::string("bytes=0-,0-,0-"), std::string("bytes=0-18446744073709551616"),
          std::string("chapters=1-2"), std::string("bytes=")}) {
        auto& answer = get("/plain.txt", {{"Range", range}});
        EXPECT_LE(answer.body().size(), 4096U) << range.substr(0, 40);
        EXPECT_THAT(answer.status(), ::testing::AnyOf(200, 206, 416)) << range.substr(0, 40);
        if (answer.status() != 200) continue;
        EXPECT_EQ(answer.body(), plain);
    }
    // Sent twice is not understood.
    EXPECT_EQ(get("/plain.txt", {{"Range", "bytes=0-1"}, {"Range", "bytes=2-3"}}).status(), 200);
}

TEST_F(FileAnswerTest, RangesOfFarPlacesInASparseFile) {
    folder_.write("sparse.bin", "");
    folder_.truncate("sparse.bin", 8'000'000'000);
    auto& answer = get("/sparse.bin", {{"Range", "bytes=7999999998-"}});
    EXPECT_EQ(answer.status(), 206);
    EXPECT_EQ(answer.header("Content-Range"), "bytes 7999999998-7999999999/8000000000");
    EXPECT_EQ(answer.body(), std::string(2, '\0'));
    EXPECT_EQ(ask("HEAD", "/sparse.bin").content_length(), 8'000'000'000);
}

TEST_F(FileAnswerTest, AFileFromTheFutureHasNoLastModified) {
    folder_.write("future.txt", "x");
    folder_.set_time("future.txt", 3'000'000'000);
    EXPECT_FALSE(get("/future.txt").has("Last-Modified"));
    EXPECT_FALSE(get("/future.txt", {{"Range", "bytes=0-0"}}).has("Last-Modified"));
    // A second ahead is the future, the present is not: in whole answers and in parts.
    const auto now = static_cast<long>(loop_->unix_now());
    for (const long ahead : {0, 1}) {
        const std::string name = "ahead" + std::to_string(ahead);
        folder_.write(name, "x");
        folder_.set_time(name, now + ahead);
        EXPECT_EQ(get("/" + name).has("Last-Modified"), ahead == 0);
        EXPECT_EQ(get("/" + name, {{"Range", "bytes=0-0"}}).has("Last-Modified"), ahead == 0);
    }
}

// Whatever the file system makes of the last one, it is in the future.
TEST_F(FileAnswerTest, ATimeAtTheEdgeIsTrueOrNotSaid) {
    struct Case {
        long time;
        const char* last_modified;
        int status;  // to a client that has what there was in 1980
    };
    constexpr Case cases[] = {{-86'400, "", 304},
                              {-1, "", 304},
                              {0, "Thu, 01 Jan 1970 00:00:00 GMT", 304},
                              {2'147'483'648, "Tue, 19 Jan 2038 03:14:08 GMT", 200},
                              {4'294'967'296, "", 200},     // 2106
                              {10'413'792'000, "", 200},    // 2300
                              {253'402'300'800, "", 200}};  // 10000
    ASSERT_GT(loop_->unix_now(), 2'147'483'648);
    for (const Case& c : cases) {
        const std::string name = "edge" + std::to_string(c.time);
        for (const std::string& file : {name, name + ".gz"}) {
            folder_.write(file, file);
            folder_.set_time(file, c.time);
        }
        for (const char* coding : {"gzip", "identity"}) {
            const Fields plain = {{"Accept-Encoding", coding}};
            EXPECT_EQ(get("/" + name, plain).header("Last-Modified"), c.last_modified) << c.time;
            const Fields since = {{"Accept-Encoding", coding},
                                  {"If-Modified-Since", "Tue, 01 Jan 1980 00:00:00 GMT"}};
            EXPECT_EQ(get("/" + name, since).status(), c.status) << c.time;
        }
    }
}

TEST_F(FileAnswerTest, WithoutSiblingsThereIsNothingToVaryBy) {
    EXPECT_FALSE(get("/plain.txt", {{"Accept-Encoding", "gzip"}}).has("Vary"));
    options_.paths.precompressed = false;
    server_.reset();
    EXPECT_FALSE(get("/a.txt", {{"Accept-Encoding", "gzip"}}).has("Vary"));
    EXPECT_EQ(exchange_->body(), plain);
}

TEST_F(FileAnswerTest, AnSvgzIsSentAsTheGzipThatItIs) {
    for (const char* name : {"logo.svgz", "LOGO.SVGZ"}) {
        folder_.write(name, "packed");
        folder_.write(std::string(name) + ".gz", "packed twice");
        for (const char* coding : {"gzip, br", "identity", ""}) {
            const Fields fields = *coding == '\0' ? Fields{} : Fields{{"Accept-Encoding", coding}};
            auto& answer = get("/" + std::string(name), fields);
            EXPECT_EQ(answer.body(), "packed") << coding;
            EXPECT_EQ(answer.header("Content-Type"), "image/svg+xml");
            EXPECT_EQ(answer.header("Content-Encoding"), "gzip");
            EXPECT_FALSE(answer.has("Vary"));
        }
        EXPECT_EQ(get("/" + std::string(name), {{"Range", "bytes=0-1"}}).header("Content-Encoding"),
                  "gzip");
    }
}

TEST_F(FileAnswerTest, ASiblingThatIsNoFileIsNone) {
    folder_.make_folder("plain.txt.gz");
    folder_.link("plain.txt.br", "/etc/passwd");
    folder_.make_fifo("plain.txt.zst");
    auto& answer = get("/plain.txt", {{"Accept-Encoding", "gzip, br, zstd"}});
    EXPECT_EQ(answer.status(), 200);
    EXPECT_EQ(answer.body(), plain);
    EXPECT_FALSE(answer.has("Vary"));
}

TEST_F(FileAnswerTest, EveryAnswerAboutAFileHasItsCacheControl) {
    options_.paths.cache_control = {{"*.txt", "max-age=60"}};
    folder_.write("b.css", "b");
    EXPECT_EQ(get("/plain.txt").header("Cache-Control"), "max-age=60");
    const std::string tag = exchange_->header("ETag");
    EXPECT_EQ(get("/plain.txt", {{"If-None-Match", tag}}).header("Cache-Control"), "max-age=60");
    EXPECT_EQ(exchange_->status(), 304);
    EXPECT_EQ(get("/plain.txt", {{"Range", "bytes=0-1"}}).header("Cache-Control"), "max-age=60");
    EXPECT_EQ(exchange_->status(), 206);
    EXPECT_EQ(get("/a.txt", {{"Accept-Encoding", "gzip"}}).header("Cache-Control"), "max-age=60");
    EXPECT_FALSE(get("/b.css").has("Cache-Control"));
}

std::string names_of(const testing::RecordedExchange& answer) {
    std::string names;
    for (const auto& [name, value] : answer.fields()) names += name + ' ';
    return names;
}

TEST_F(FileAnswerTest, EveryKindOfAnswerHasTheFieldsThatItNeedsAndNoMore) {
    options_.paths.cache_control = {{"*.txt", "max-age=60"}};
    const Fields gzip = {{"Accept-Encoding", "gzip"}};
    const std::string about = "ETag Cache-Control Vary Last-Modified ";
    EXPECT_EQ(names_of(get("/a.txt")),
              about + "Accept-Ranges X-Content-Type-Options Content-Type ");
    EXPECT_EQ(exchange_->header("Accept-Ranges"), "bytes");
    EXPECT_EQ(exchange_->header("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(exchange_->header("Last-Modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(names_of(get("/a.txt", gzip)),
              about + "Content-Encoding Accept-Ranges X-Content-Type-Options Content-Type ");
    EXPECT_EQ(exchange_->header("Last-Modified"), "Sun, 06 Nov 1994 08:49:38 GMT");
    EXPECT_EQ(names_of(get("/a.txt", {{"Range", "bytes=0-1"}})),
              about + "Accept-Ranges X-Content-Type-Options Content-Range Content-Type ");
    EXPECT_EQ(exchange_->header("Accept-Ranges"), "bytes");
    EXPECT_EQ(names_of(get("/a.txt", {{"Range", "bytes=900-"}})),
              "Content-Range Accept-Ranges Vary ");
    EXPECT_EQ(exchange_->header("Accept-Ranges"), "bytes");
    const std::string tag = get("/a.txt").header("ETag");
    EXPECT_EQ(names_of(get("/a.txt", {{"If-None-Match", tag}})), "ETag Cache-Control Vary ");
}

// A fault that passes is worth another try; one of the disk is not.
TEST_F(FileAnswerTest, AFaultOfTheMachineIs503WhereItPassesAnd500WhereItDoesNot) {
    for (const int error : {EMFILE, ENFILE, ENOMEM, EAGAIN, EINTR, EIO, EACCES, ENOSPC}) {
        const auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, "GET", "/");
        answer_fault(*exchange, error);
        const bool passes = error != EIO && error != EACCES && error != ENOSPC;
        EXPECT_EQ(exchange->status(), passes ? 503 : 500) << error;
        EXPECT_EQ(exchange->header("Retry-After"), passes ? "1" : "") << error;
    }
}

// The form of an answer, which its bytes do not show.
struct Form final : ResponseFilter {
    void filter(Exchange&, Response& response) override {
        copied = !response.copied_body().empty();
        from_descriptor = response.queued_body() != nullptr &&
                          response.queued_body()->front_file().descriptor >= 0;
        rendered = response.block() != nullptr;
        as_is = response.as_is();
    }
    bool copied = false;
    bool from_descriptor = false;
    bool rendered = false;  // the fields, beforehand
    bool as_is = false;
};

class FileAnswerForm : public FileAnswerTest {
  protected:
    const Form& form_of(std::string_view target, Fields fields = {}) {
        exchange_ = core::make_ref<testing::RecordedExchange>(*loop_, "GET", target, fields);
        exchange_->filter_with(form_);
        server().handle(*exchange_);
        return form_;
    }

    Form form_;
};

TEST_F(FileAnswerForm, ASmallFileIsCopiedUpToItsLimitAndALargeOneIsSentFromItsDescriptor) {
    options_.small_copy_bytes_max = 100;
    options_.cache.sendfile_bytes_min = 200;
    for (const std::size_t bytes : {100, 101, 199, 200}) {
        folder_.write("f", std::string(bytes, 'f'));
        server_.reset();
        const Form& form = form_of("/f");
        EXPECT_EQ(form.copied, bytes <= 100) << bytes;
        EXPECT_EQ(form.from_descriptor, bytes >= 200) << bytes;
        EXPECT_EQ(exchange_->body(), std::string(bytes, 'f'));
    }
}

TEST_F(FileAnswerForm, NoFilterMayChangeTheBytesOfAFile) {
    const std::string tag = get("/plain.txt").header("ETag");
    EXPECT_TRUE(form_of("/plain.txt").as_is);
    EXPECT_TRUE(form_of("/plain.txt", {{"Range", "bytes=0-1"}}).as_is);
    EXPECT_TRUE(form_of("/plain.txt", {{"Range", "bytes=900-"}}).as_is);
    EXPECT_TRUE(form_of("/plain.txt", {{"If-None-Match", tag}}).as_is);
}

TEST_F(FileAnswerForm, TheFieldsAreRenderedBeforehandUnlessTheFileIsOfTheFuture) {
    const auto now = static_cast<long>(loop_->unix_now());
    for (const long ahead : {-1, 0, 1}) {
        const std::string name = "f" + std::to_string(ahead);
        folder_.write(name, "x");
        folder_.set_time(name, now + ahead);
        EXPECT_EQ(form_of("/" + name).rendered, ahead <= 0) << ahead;
    }
    for (const char* coding : {"gzip", "br"}) {
        EXPECT_TRUE(form_of("/a.txt", {{"Accept-Encoding", coding}}).rendered) << coding;
    }
}

// --- a file that is in no cache --------------------------------------------------------------

class OneFileAnswer : public FileAnswerForm {
  protected:
    testing::RecordedExchange& answer(const char* path, const OneFile& how, Fields fields = {},
                                      std::string_view method = "GET") {
        exchange_ = core::make_ref<testing::RecordedExchange>(*loop_, method, path, fields);
        exchange_->filter_with(form_);
        answer_opened(*exchange_, loader_, loader_.open(path), how, disk_);
        return *exchange_;
    }

    core::Descriptor root_{kernel_, ::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY)};
    FileLoader loader_{kernel_, root_.get()};
    DiskReads disk_{*loop_, nullptr};
};

TEST_F(OneFileAnswer, HasTheTypeThePolicyAndTheNameThatItIsGiven) {
    answer("/plain.txt", {.content_type = "text/x-own",
                          .cache_control = "no-store",
                          .disposition = "attachment; filename=\"a\""});
    EXPECT_EQ(exchange_->status(), 200);
    EXPECT_EQ(exchange_->header("Content-Type"), "text/x-own");
    EXPECT_EQ(exchange_->header("Cache-Control"), "no-store");
    EXPECT_EQ(exchange_->header("Content-Disposition"), "attachment; filename=\"a\"");
    EXPECT_EQ(exchange_->body(), plain);
    const std::string tag = exchange_->header("ETag");
    answer("/plain.txt", {.content_type = "text/x-own", .disposition = "attachment"},
           {{"Range", "bytes=4-7"}});
    EXPECT_EQ(exchange_->status(), 206);
    EXPECT_EQ(exchange_->body(), "tide");
    EXPECT_EQ(exchange_->header("Content-Disposition"), "attachment");
    answer("/plain.txt", {.content_type = "text/x-own"});
    EXPECT_FALSE(exchange_->has("Content-Disposition"));
    EXPECT_FALSE(exchange_->has("Cache-Control"));
    EXPECT_FALSE(exchange_->has("Vary"));
    EXPECT_EQ(answer("/plain.txt", {}, {{"If-None-Match", tag}}).status(), 304);
}

TEST_F(OneFileAnswer, OfAnSvgzHasItsCodingUnlessItIsGivenAnotherType) {
    folder_.write("a.svgz", "packed");
    EXPECT_EQ(answer("/a.svgz", {.name = "a.svgz", .content_type = "image/svg+xml"})
                  .header("Content-Encoding"),
              "gzip");
    EXPECT_FALSE(answer("/a.svgz", {.name = "a.svgz", .content_type = "application/gzip"})
                     .has("Content-Encoding"));
}

TEST_F(OneFileAnswer, IsReadIntoMemoryBelowItsLimit) {
    const std::uint64_t bytes = plain.size();
    for (const std::uint64_t sendfile_bytes_min : {bytes, bytes + 1}) {
        answer("/plain.txt",
               {.content_type = "text/plain", .sendfile_bytes_min = sendfile_bytes_min});
        EXPECT_EQ(form_.from_descriptor, sendfile_bytes_min == bytes);
        EXPECT_FALSE(form_.copied);
        EXPECT_EQ(exchange_->body(), plain);
        answer("/plain.txt", {.content_type = "text/plain",
                              .sendfile_bytes_min = sendfile_bytes_min,
                              .small_copy_bytes_max = plain.size()});
        EXPECT_EQ(form_.copied, sendfile_bytes_min > bytes);
    }
}

TEST_F(OneFileAnswer, AConditionOfAMethodThatDidItsWorkIsNotJudgedAgain) {
    answer("/plain.txt", {}, {{"If-Match", "\"other\""}, {"Range", "bytes=0-1"}}, "POST");
    EXPECT_EQ(exchange_->status(), 200);
    EXPECT_EQ(exchange_->body(), plain);
    EXPECT_EQ(answer("/plain.txt", {}, {{"If-Match", "\"other\""}}).status(), 412);
    const std::string tag = answer("/plain.txt", {}).header("ETag");
    EXPECT_EQ(answer("/plain.txt", {}, {{"If-None-Match", tag}}, "POST").status(), 200);
}

TEST_F(OneFileAnswer, AFaultWhileItIsReadIsAnswered) {
    const auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, "GET", "/plain.txt");
    FileLoader::Opened opened = loader_.open("/plain.txt");
    kernel_.fail_at(1, EIO);
    answer_opened(*exchange, loader_, std::move(opened), {.sendfile_bytes_min = 1'000}, disk_);
    EXPECT_EQ(exchange->status(), 500);
}

}  // namespace
}  // namespace tiderace::http::files
