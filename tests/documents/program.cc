#include "tests/documents/program.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tiderace/task.h"

namespace core = tiderace::core;
namespace http = tiderace::http;
using tiderace::Duration;
using tiderace::Task;

namespace documents {

namespace {

using AnyMain = std::function<int(int, char**)>;

std::map<std::string, AnyMain>& registry() {
    static std::map<std::string, AnyMain> all;
    return all;
}
std::set<std::string>& starts() {
    static std::set<std::string> all;
    return all;
}

Task<http::ClientResult<http::ClientResponse>> ask_once(http::ClientRequest request) {
    http::Client client({.redirects_max = 0, .proxy_from_environment = false});
    co_return co_await client.request(std::move(request));
}

}  // namespace

Registered::Registered(const char* name, void (*main)()) {
    registry()[name] = [main](int, char**) { return main(), 0; };
}
Registered::Registered(const char* name, int (*main)()) {
    registry()[name] = [main](int, char**) { return main(); };
}
Registered::Registered(const char* name, Main main) {
    registry()[name] = main;
}

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& [name, main] : registry()) all.push_back(name);
    return all;
}
std::vector<std::string> started() {
    return {starts().begin(), starts().end()};
}

int call_main(const std::string& name, int argc, char** argv) {
    if (const char* folder = std::getenv("DOCUMENT_FOLDER")) std::filesystem::current_path(folder);
    return registry().at(name)(argc, argv);
}

std::string server() {
    const char* url = std::getenv("DOCUMENT_SERVER");
    return url != nullptr ? url : "";
}

Program::Program(const tiderace::testing::TemporaryFolder& folder, const std::string& name,
                 std::vector<std::string> words, const std::string& server) {
    starts().insert(name);
    pipe_ = core::Pipe::open().value();
    core::ChildOptions options;
    options.arguments = {std::filesystem::read_symlink("/proc/self/exe"), "--program", name};
    options.arguments.insert(options.arguments.end(), words.begin(), words.end());
    options.environment = {{"DOCUMENT_SERVER", server}, {"DOCUMENT_FOLDER", folder.path()}};
    options.output = options.errors = pipe_.writing.get();
    process_.emplace(core::ChildProcess::start(options).value());
    pipe_.writing.reset();
}

bool Program::read_some() {
    char bytes[4096];
    const auto count = ::read(pipe_.reading.get(), bytes, sizeof bytes);
    if (count > 0) output_.append(bytes, static_cast<std::size_t>(count));
    return count > 0;
}

void Program::wait_for(const std::string& text) {
    while (output_.find(text) == std::string::npos) {
        if (!read_some()) {
            ADD_FAILURE() << "it ended before it printed " << text << ":\n" << output_;
            return;
        }
    }
}

std::string Program::place(const std::string& scheme) {
    const std::regex wanted(scheme + "(127\\.0\\.0\\.1:[0-9]+)[/\n]");
    std::smatch found;
    while (!std::regex_search(output_, found, wanted)) {
        if (!read_some()) {
            ADD_FAILURE() << "it ended before it printed where it listens:\n" << output_;
            return "127.0.0.1:1";
        }
    }
    return found.str(1);
}

std::string Program::url(const std::string& path) {
    return "http://" + place() + path;
}

int Program::end() {
    process_->signal(SIGTERM);
    return wait();
}

int Program::wait() {
    while (read_some()) {  // to the end: a full pipe would hold it up
    }
    const auto exit = process_->wait(Duration(-1));
    return exit && !exit->by_signal ? exit->number : -1;
}

http::ClientResponse ask(const std::string& method, const std::string& url, const std::string& body,
                         const std::string& type, Headers fields) {
    http::ClientRequest request(method, url);
    if (!body.empty() || !type.empty()) request.content(http::Content(type, body));
    for (const auto& [name, value] : fields) request.header(name, value);
    auto answer = tiderace::run(ask_once(std::move(request)));
    if (answer) return std::move(*answer);
    ADD_FAILURE() << answer.error().message;
    return {};
}

std::string block_after(const std::string& document, const std::string& mark) {
    std::ifstream file(std::string(DOCUMENTS_FOLDER "/") + document);
    std::stringstream whole;
    whole << file.rdbuf();
    const std::string text = whole.str();
    const auto begin = text.find('\n', text.find("```", text.find(mark))) + 1;
    return text.substr(begin, text.find("```", begin) - begin);
}

}  // namespace documents
