#include "server/command_line/command_line.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "server/command_line/flags.h"
#include "server/version.h"

namespace tiderace::server {
namespace {

using Words = std::vector<std::string_view>;

std::string joined(const Words& words) {
    std::string text;
    for (const std::string_view word : words) text.append(text.empty() ? "" : " ").append(word);
    return text;
}

ServeOptions serve_options(const Words& words) {
    const auto command = parse_command_line(words);
    EXPECT_TRUE(command) << joined(words) << ": " << command.error().sentence;
    if (!command || !std::holds_alternative<ServeOptions>(*command)) return {};
    return std::get<ServeOptions>(*command);
}

std::string printout(const Words& words) {
    const auto command = parse_command_line(words);
    EXPECT_TRUE(command) << joined(words) << ": " << command.error().sentence;
    if (!command || !std::holds_alternative<Printout>(*command)) return "(not a printout)";
    return std::get<Printout>(*command).text;
}

TEST(CommandLine, ServeAloneIsThisFolderForThisMachine) {
    const ServeOptions options = serve_options({"serve"});
    EXPECT_EQ(options.root, ".");
    EXPECT_EQ(options.listen, std::vector<std::string>{"127.0.0.1:8080"});
    EXPECT_TRUE(options.listen_is_default);
}

TEST(CommandLine, FlagsAndFolderComeInAnyOrder) {
    for (const Words& words :
         {Words{"serve", "site", "--listing", "-l", ":80", "-t", "2"},
          Words{"serve", "--listen=:80", "-t2", "site", "--listing"},
          Words{"serve", "-l:80", "--threads", "2", "--listing", "--", "site"}}) {
        const ServeOptions options = serve_options(words);
        EXPECT_EQ(options.root, "site") << joined(words);
        EXPECT_TRUE(options.listing) << joined(words);
        EXPECT_EQ(options.listen, std::vector<std::string>{":80"}) << joined(words);
        EXPECT_FALSE(options.listen_is_default) << joined(words);
        EXPECT_EQ(options.threads, 2U) << joined(words);
    }
}

TEST(CommandLine, TheDefaultAddressGivesWayToTheFirstThatIsGiven) {
    const ServeOptions options =
        serve_options({"serve", "-l", ":80", "--listen", "unix:/run/site"});
    EXPECT_EQ(options.listen, (std::vector<std::string>{":80", "unix:/run/site"}));
}

TEST(CommandLine, AValueThatMayBeLeftOutIsGivenWithAnEqualsSignOnly) {
    EXPECT_EQ(serve_options({"serve", "--spa", "site"}).spa_file, "index.html");
    EXPECT_EQ(serve_options({"serve", "--spa", "site"}).root, "site");
    EXPECT_EQ(serve_options({"serve", "--spa=app.html"}).spa_file, "app.html");
    EXPECT_EQ(serve_options({"serve", "--cors"}).cors_origin, "*");
    EXPECT_EQ(serve_options({"serve", "--cors=https://a.example"}).cors_origin,
              "https://a.example");
}

TEST(CommandLine, AfterTwoDashesEverythingIsAFolder) {
    EXPECT_EQ(serve_options({"serve", "--", "--listing"}).root, "--listing");
    EXPECT_FALSE(serve_options({"serve", "--", "--listing"}).listing);
}

TEST(CommandLine, AFolderMayBeCalledLikeACommand) {
    for (const std::string_view name : {"serve", "version", "help", "man"}) {
        EXPECT_EQ(serve_options({"serve", name}).root, name);
    }
}

TEST(CommandLine, TellsWhatItIs) {
    EXPECT_TRUE(printout({}).starts_with("tiderace "));
    EXPECT_EQ(printout({"help"}), printout({}));
    EXPECT_EQ(printout({"--help"}), printout({}));
    EXPECT_EQ(printout({"-h"}), printout({}));
    EXPECT_TRUE(printout({"help", "serve"}).starts_with("Usage: tiderace serve [DIR]"));
    EXPECT_EQ(printout({"serve", "--help"}), printout({"help", "serve"}));
    EXPECT_EQ(printout({"serve", "-h"}), printout({"help", "serve"}));
    EXPECT_EQ(printout({"--version"}), printout({"version"}));
    EXPECT_TRUE(printout({"version", "-v"}).starts_with(printout({"version"})));
    EXPECT_GT(printout({"version", "--verbose"}).size(), printout({"version"}).size());
    EXPECT_TRUE(printout({"man"}).starts_with(".TH TIDERACE 1"));
    EXPECT_TRUE(printout({"completions", "bash"}).starts_with("# bash"));
    EXPECT_TRUE(printout({"completions", "zsh"}).starts_with("#compdef"));
    EXPECT_TRUE(printout({"completions", "fish"}).starts_with("# fish"));
}

struct Mistake {
    Words words;
    std::string_view sentence;
};

void expect_sentences(std::span<const Mistake> mistakes) {
    for (const Mistake& mistake : mistakes) {
        const auto command = parse_command_line(mistake.words);
        ASSERT_FALSE(command) << joined(mistake.words);
        EXPECT_EQ(command.error().sentence, mistake.sentence);
        EXPECT_EQ(command.error().exit_status, 2) << joined(mistake.words);
    }
}

TEST(CommandLine, NamesTheCommandThatWasMeant) {
    const Mistake mistakes[] = {
        {{"sevre"}, "unknown command sevre; did you mean serve?"},
        {{"./site"}, "unknown command ./site; did you mean tiderace serve ./site?"},
        {{"frobnicate"}, "unknown command frobnicate; tiderace help lists them"},
        {{"--listing"}, "--listing comes after a command: tiderace serve --listing"},
        {{"-l", ":80"}, "-l comes after a command: tiderace serve -l"},
        {{"--frob"}, "unknown flag --frob; the first word is a command, as in tiderace serve"},
        {{"help", "srve"}, "unknown command srve; did you mean serve?"},
        {{"man", "serve"}, "man does not take the word serve"},
        {{"help", "serve", "man"}, "help does not take the word man"},
        {{"completions"}, "completions expects bash, zsh or fish"},
        {{"completions", "bahs"},
         "completions bahs: expects bash, zsh or fish; did you mean bash?"},
    };
    expect_sentences(mistakes);
}

TEST(CommandLine, NamesTheFlagThatWasMeant) {
    const Mistake mistakes[] = {
        {{"serve", "--lisen", ":80"}, "unknown flag --lisen; did you mean --listen?"},
        {{"serve", "--lisen=:80"}, "unknown flag --lisen; did you mean --listen?"},
        {{"serve", "--idel-timeout", "10s"},
         "unknown flag --idel-timeout; did you mean --idle-timeout?"},
        {{"serve", "--port", "80"}, "unknown flag --port; did you mean --listen :PORT?"},
        {{"serve", "-p", "80"}, "unknown flag -p; did you mean --listen :PORT?"},
        {{"serve", "--tls-cert", "a.pem"}, "unknown flag --tls-cert; did you mean --tls CERT,KEY?"},
        {{"serve", "--gzip"}, "unknown flag --gzip; did you mean --compress gzip?"},
        {{"serve", "--workers=4"}, "unknown flag --workers; did you mean --threads N?"},
        {{"serve", "-listen", ":80"}, "unknown flag -listen; did you mean --listen?"},
        {{"serve", "--frobnicate"}, "unknown flag --frobnicate; tiderace help serve lists them"},
        {{"serve", "-z"}, "unknown flag -z; tiderace help serve lists them"},
        {{"version", "--vebose"}, "unknown flag --vebose; did you mean --verbose?"},
    };
    expect_sentences(mistakes);
}

TEST(CommandLine, WhatAnotherProgramDoesIsPassedOnWithItsHelp) {
    struct {
        Words words;
        std::string_view program;
        std::string passed;
    } const all[] = {
        {{"db"}, "tiderace-db", ""},
        {{"db", "migrate", "sqlite:a", "b"}, "tiderace-db", "migrate sqlite:a b"},
        {{"help", "db"}, "tiderace-db", "help"},
        {{"help", "db", "status"}, "tiderace-db", "help status"},
        {{"load", "http://127.0.0.1/", "-c", "5"}, "tiderace-load", "http://127.0.0.1/ -c 5"},
        {{"help", "load"}, "tiderace-load", "help"},
        {{"lab", "run", "--quick"}, "tiderace-lab", "run --quick"},
        {{"help", "lab"}, "tiderace-lab", "help"},
    };
    for (const auto& each : all) {
        const auto command = parse_command_line(each.words);
        ASSERT_TRUE(command && std::holds_alternative<ToProgram>(*command)) << joined(each.words);
        EXPECT_EQ(std::get<ToProgram>(*command).name, each.program);
        EXPECT_EQ(joined(std::get<ToProgram>(*command).words), each.passed);
    }
}

TEST(CommandLine, SaysWhichValueIsMissingOrOneTooMany) {
    const Mistake mistakes[] = {
        {{"serve", "--listen"}, "--listen needs a value: ADDR"},
        {{"serve", "-t"}, "--threads needs a value: N"},
        {{"serve", "--index="}, "--index needs a value: NAMES"},
        {{"serve", "--index", ""}, "--index needs a value: NAMES"},
        {{"serve", "--listen", "--threads", "2"}, "--listen needs a value: ADDR"},
        {{"serve", "--listing=no"}, "--listing takes no value, but got no"},
        {{"serve", "--listing="}, "--listing takes no value"},
        {{"serve", "--threads", "2", "-t", "3"}, "--threads is given twice: 2 and 3"},
        {{"serve", "a", "b"}, "one folder is served, but two are named: a and b"},
        {{"serve", ""}, "the folder to serve has an empty name"},
    };
    expect_sentences(mistakes);
}

TEST(CommandLine, SaysWhatAValueShouldLookLike) {
    const Mistake mistakes[] = {
        {{"serve", "--listen", "8080"},
         "--listen 8080: did you mean :8080 (all addresses) or 127.0.0.1:8080?"},
        {{"serve", "--listen", "localhost"},
         "--listen localhost: expects HOST:PORT, :PORT for all addresses, or unix:PATH"},
        {{"serve", "-l", ":80", "-l", ":80"}, "--listen :80: this address is given twice"},
        {{"serve", "--path-redirect", "/a=/b", "--path-redirect", "/b=/a"},
         "--path-redirect leads in a circle: /a -> /b -> /a -> /b and so on"},
        {{"serve", "--threads", "many"}, "--threads many: expects a whole number from 0 to 1024"},
        {{"serve", "--threads", "-1"}, "--threads -1: expects a whole number from 0 to 1024"},
        {{"serve", "--backlog", "0"}, "--backlog 0: expects a whole number from 1 to 65535"},
        {{"serve", "--idle-timeout", "10"},
         "--idle-timeout 10: a time needs a unit, for example 10s, 500ms or 2m"},
        {{"serve", "--idle-timeout", "soon"},
         "--idle-timeout soon: expects a time such as 10s, 500ms or 2m"},
        {{"serve", "--cache", "big"}, "--cache big: expects a size such as 4096, 64KiB or 1MiB"},
        {{"serve", "--max-line", "1"}, "--max-line 1: expects a size from 64 to 1MiB"},
        {{"serve", "--accept", "que"},
         "--accept que: expects reuseport, queue or shared; did you mean queue?"},
        {{"serve", "--log-format", "xml"}, "--log-format xml: expects common, combined or json"},
        {{"serve", "--error-page", "404.html"},
         "--error-page 404.html: expects CODE=FILE with a code from 400 to 599, for example "
         "404=404.html"},
        {{"serve", "--header", "X-Frame-Options"},
         "--header X-Frame-Options: expects NAME:VALUE, for example X-Frame-Options:DENY"},
        {{"serve", "--header", "Date:today"},
         "--header Date:today: Date is decided by the server for each answer"},
        {{"serve", "--cache-control", "*.css"},
         "--cache-control *.css: expects PATTERN=VALUE, for example '*.css=max-age=3600', or a "
         "VALUE for every path, for example no-cache"},
        {{"serve", "--listen", "[::1]:99999"},
         "--listen [::1]:99999: a port is a number from 0 to 65535"},
        {{"serve", "--mime", "glb"},
         "--mime glb: expects EXT=TYPE, for example glb=model/gltf-binary"},
        {{"serve", "--cors=example.com"},
         "--cors example.com: expects an origin such as https://example.com, or nothing for all"},
    };
    expect_sentences(mistakes);
}

TEST(CommandLine, AnEngineOfAnotherSystemSaysWhereItIs) {
    for (const std::string_view engine : {"kqueue", "epoll", "io_uring"}) {
        const std::string_view systems = systems_of_engine(engine);
        if (systems.empty()) continue;
        const auto command = parse_command_line(Words{"serve", "--engine", engine});
        ASSERT_FALSE(command);
        EXPECT_EQ(command.error().sentence, "--engine " + std::string(engine) + ": only for " +
                                                std::string(systems) + "; this machine has " +
                                                join_choices(engine_choices));
    }
}

TEST(CommandLine, HowToWriteRequestsDownNeedsWhere) {
    const Mistake mistakes[] = {
        {{"serve", "--log-format", "json"},
         "--log-format needs --access-log FILE, or - for this terminal"},
        {{"serve", "--log-rotate", "1MiB"},
         "--log-rotate needs --access-log FILE, or - for this terminal"},
    };
    expect_sentences(mistakes);
    const auto options = serve_options({"serve", "--log-format", "json", "--access-log", "-"});
    EXPECT_EQ(options.log_format, LogFormat::json);
}

TEST(CommandLine, AFlagThatWouldDoNothingIsRefused) {
    const Mistake mistakes[] = {
        {{"serve", "--cgi-max", "2"}, "--cgi-max needs --cgi PATH=DIR: it is about these programs"},
        {{"serve", "--cgi-memory", "1GiB", "--fastcgi", "/a=unix:/b"},
         "--cgi-memory needs --cgi PATH=DIR: it is about these programs"},
        {{"serve", "--cgi-timeout", "1s"},
         "--cgi-timeout needs --cgi PATH=DIR or --fastcgi PATTERN=ADDR"},
        {{"serve", "--compress", "off", "--compress-cache", "a"},
         "--compress-cache does nothing with --compress off; leave one of the two out"},
        {{"serve", "--compress", "off", "--compress-min", "1"},
         "--compress-min does nothing with --compress off; leave one of the two out"},
        {{"serve", "--cache", "off", "--compress-cache", "a"},
         "--compress-cache does nothing with --cache off, which keeps no compressed file"},
    };
    expect_sentences(mistakes);
    serve_options({"serve", "--fastcgi", "/a=unix:/b", "--cgi-timeout", "1s"});
    serve_options(
        {"serve", "--compress", "off", "--path-compress", "/a=br", "--compress-min", "1"});
}

// For these flags 0 is the opposite of what "off" promises.
TEST(CommandLine, OffIsNoSizeWhereItWouldMeanTheOpposite) {
    for (const std::string_view flag : {"--max-body", "--sendfile-min", "--compress-min"}) {
        const auto command = parse_command_line(Words{"serve", flag, "off"});
        ASSERT_FALSE(command) << flag;
        EXPECT_EQ(command.error().sentence,
                  std::string(flag) + " off: expects a size such as 4096, 64KiB or 1MiB");
        serve_options({"serve", flag, "0"});
    }
}

TEST(CommandLine, AWrongPasswordFlagDoesNotRepeatThePassword) {
    const auto command = parse_command_line(Words{"serve", "--basic-auth", ":secret"});
    ASSERT_FALSE(command);
    EXPECT_EQ(command.error().sentence.find("secret"), std::string::npos)
        << command.error().sentence;
}

}  // namespace
}  // namespace tiderace::server
