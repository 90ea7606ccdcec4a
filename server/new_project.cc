#include "server/new_project.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "tiderace/base/ascii.h"

namespace tiderace::server {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t name_bytes_max = 40;
// Targets of CMake, and of the library.
constexpr std::array<std::string_view, 10> taken_names{
    "all", "clean", "help", "install", "package", "tiderace", "test", "app", "build", "edit_cache"};

struct ProjectFile {
    std::string_view path;
    std::string_view text;  // "@name@" stands for the project's name
};

constexpr std::string_view cmake_lists = R"(cmake_minimum_required(VERSION 3.25)
project(@name@ LANGUAGES CXX)
find_package(tiderace 0.1 CONFIG REQUIRED COMPONENTS app testing)
find_package(GTest REQUIRED)
include(GNUInstallDirs)
enable_testing()

add_library(@name@_app STATIC app.cc)
target_link_libraries(@name@_app PUBLIC tiderace::app)
target_compile_options(@name@_app PRIVATE -Wall -Wextra)

add_executable(@name@ main.cc)
target_link_libraries(@name@ PRIVATE @name@_app)

add_executable(@name@_test app_test.cc)
target_compile_definitions(@name@_test PRIVATE TEMPLATES="${CMAKE_CURRENT_SOURCE_DIR}/templates")
target_link_libraries(@name@_test PRIVATE @name@_app tiderace::testing GTest::gtest_main)
add_test(NAME @name@_test COMMAND @name@_test)

install(TARGETS @name@)
install(DIRECTORY templates DESTINATION ${CMAKE_INSTALL_DATADIR}/@name@)
)";

constexpr std::string_view presets = R"({
  "version": 6,
  "configurePresets": [
    {
      "name": "dev",
      "binaryDir": "${sourceDir}/build",
      "cacheVariables": {"CMAKE_BUILD_TYPE": "RelWithDebInfo"}
    }
  ],
  "buildPresets": [{"name": "dev", "configurePreset": "dev", "jobs": 4}],
  "testPresets": [
    {"name": "dev", "configurePreset": "dev", "output": {"outputOnFailure": true}}
  ],
  "workflowPresets": [
    {
      "name": "dev",
      "steps": [
        {"type": "configure", "name": "dev"},
        {"type": "build", "name": "dev"},
        {"type": "test", "name": "dev"}
      ]
    }
  ]
}
)";

constexpr std::string_view app_header = R"(// The routes of @name@.
#pragma once

#include <tiderace/app.h>

#include <string>

// `templates` is the folder of its pages.
tiderace::http::App make_app(const std::string& templates);
)";

constexpr std::string_view app_source =
    "#include \"app.h\"\n"
    R"(
#include <utility>

using namespace tiderace::http;

namespace {

struct Greeting {
    std::string name;
};

}  // namespace

App make_app(const std::string& templates) {
    App app;
    app.templates(templates);
    app.health("/healthz");
    app.get<"/">([] { return page<"home.html">(Greeting{"world"}); });
    app.get<"/hello/{name}">(
        [](std::string name) { return page<"home.html">(Greeting{std::move(name)}); });
    app.get<"/api/hello/{name}">([](std::string name) { return Greeting{std::move(name)}; });
    app.openapi("/openapi.json", {.title = "@name@", .version = "0.1"});
    return app;
}
)";

constexpr std::string_view main_source = R"(// @name@: serves until SIGTERM, which drains.
//
//   LISTEN     where to listen, ":8080" if unset; "unix:/run/@name@/socket" is one, too
//   TEMPLATES  the folder of the pages, "templates" if unset
#include <cstdlib>
#include <string>
)"
                                         "\n#include \"app.h\"\n"
                                         R"(
namespace {

std::string setting(const char* name, const char* otherwise) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : otherwise;
}

}  // namespace

int main() {
    auto app = make_app(setting("TEMPLATES", "templates"));
    return app.serve({.listen = setting("LISTEN", ":8080")});
}
)";

constexpr std::string_view test_source =
    "#include \"app.h\"\n"
    R"cc(
#include <gtest/gtest.h>
#include <tiderace/testing.h>

    namespace {

    TEST(App, ShowsAPage) {
        auto app = make_app(TEMPLATES);
        tiderace::testing::Client client(app);
        EXPECT_EQ(client.get("/").status, 200);
        const auto page = client.get(
            "/hello/"
            "a%20%3Cb%3E");
        EXPECT_NE(page.text().find("Hello, a &lt;b&gt;"), std::string::npos) << page.text();
    }

    TEST(App, AnswersWithJson) {
        auto app = make_app(TEMPLATES);
        tiderace::testing::Client client(app);
        EXPECT_EQ(client.get("/api/hello/ann").text(), R"({"name":"ann"})");
        EXPECT_EQ(client.get("/nothing").status, 404);
    }

    }  // namespace
    )cc";

constexpr std::string_view home = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>@name@</title>
<style>
body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: auto; padding: 1rem; }
</style>
</head>
<body>
<h1>Hello, {{ name }}</h1>
<p>This page is <code>templates/home.html</code>; its route is in <code>app.cc</code>.</p>
</body>
</html>
)";

constexpr std::string_view container =
    R"(# @name@ as an image. Beside this file lies an archive of Tiderace's source, made in its
# repository:
#
#   git archive -o tiderace.tar HEAD
#   podman build -t @name@ .
FROM debian:12 AS build
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    g++ cmake ninja-build pkg-config libgtest-dev \
    libssl-dev zlib1g-dev libbrotli-dev libzstd-dev liburing-dev libmd4c-dev libsimdjson-dev
ADD tiderace.tar /tiderace
RUN cmake -G Ninja -S /tiderace -B /tiderace/build -DCMAKE_BUILD_TYPE=Release \
      -DTIDERACE_TESTS=OFF -DTIDERACE_PROGRAMS=OFF \
      -DTIDERACE_SQLITE=OFF -DTIDERACE_POSTGRES=OFF -DTIDERACE_MARIADB=OFF && \
    cmake --build /tiderace/build --target tiderace_library && \
    cmake --install /tiderace/build --component library --prefix /usr/local
COPY . /source
RUN cd /source && rm -rf build && cmake --workflow --preset dev && \
    cmake --install build --prefix /usr --strip

FROM debian:12-slim
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    ca-certificates tzdata libssl3 zlib1g libbrotli1 libzstd1 liburing2 libmd4c0 libsimdjson14 && \
    rm -rf /var/lib/apt/lists/* && \
    useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin @name@
COPY --from=build /usr/bin/@name@ /usr/bin/@name@
COPY --from=build /usr/share/@name@ /usr/share/@name@
ENV LISTEN=0.0.0.0:8080 TEMPLATES=/usr/share/@name@/templates
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/@name@"]
)";

constexpr std::string_view service =
    R"(# @name@ as a service of systemd, after `cmake --install build --prefix /usr`.
# What differs on a machine goes into a drop-in: systemctl edit @name@.
[Unit]
Description=@name@
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=/usr/bin/@name@
Environment=LISTEN=:8080 TEMPLATES=/usr/share/@name@/templates
Restart=on-failure
RestartSec=1s
TimeoutStopSec=30s
LimitNOFILE=65536
DynamicUser=yes
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
)";

constexpr std::string_view readme = R"(# @name@

    cmake --workflow --preset dev    # configures, builds and tests
    build/@name@                     # serves http://localhost:8080

CMake finds an installed Tiderace; if it is in a folder of its own:
`export CMAKE_PREFIX_PATH=/opt/tiderace`. `LISTEN` and `TEMPLATES` in the environment say where to
listen, and where the pages are.

| file | |
|---|---|
| `app.cc` | the routes; `/openapi.json` describes them |
| `templates/` | the pages |
| `app_test.cc` | tests, in memory: no port, no clock |
| `Containerfile`, `@name@.service` | an image; a service of systemd |
)";

constexpr std::array<ProjectFile, project_files> all_files{{
    {"CMakeLists.txt", cmake_lists},
    {"CMakePresets.json", presets},
    {"app.h", app_header},
    {"app.cc", app_source},
    {"main.cc", main_source},
    {"app_test.cc", test_source},
    {"templates/home.html", home},
    {"Containerfile", container},
    {"@name@.service", service},
    {"README.md", readme},
    {".gitignore", "/build/\n/tiderace.tar\n"},
}};

std::string filled(std::string_view text, std::string_view name) {
    constexpr std::string_view mark = "@name@";
    std::string all;
    for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark)) {
        all.append(text.substr(0, at)).append(name);
        text.remove_prefix(at + mark.size());
    }
    return all.append(text);
}

Result<> write_file(const fs::path& path, const std::string& text) {
    std::error_code fault;
    fs::create_directories(path.parent_path(), fault);
    if (fault) return fail(Error(fault.value(), "create", path.parent_path().string()));
    // "x": never over a file that came meanwhile.
    std::FILE* const file = std::fopen(path.c_str(), "wbx");
    if (file == nullptr) return fail(Error::last("create", path.string()));
    const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) != 0 || !is_written) return fail(Error::last("write", path.string()));
    return {};
}

// It is missing, or a folder without a file in it.
Result<> check_empty(const fs::path& folder) {
    std::error_code fault;
    const fs::file_status status = fs::status(folder, fault);
    if (status.type() == fs::file_type::not_found) return {};
    if (!fs::is_directory(status)) {
        return fail(Error(ENOTDIR, "make a project in", folder.string()));
    }
    const bool is_empty = fs::is_empty(folder, fault);
    if (fault) return fail(Error(fault.value(), "read", folder.string()));
    if (is_empty) return {};
    return fail(Error(0, "make a project in", folder.string(), "it is not empty"));
}

}  // namespace

std::string project_name_fault(std::string_view name) {
    const auto may_stand = [](char c) {
        return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
    };
    if (name.empty() || name.front() < 'a' || name.front() > 'z' ||
        !std::ranges::all_of(name, may_stand)) {
        return "a project's name is a small letter, then small letters, digits, '-' and '_'";
    }
    if (name.size() > name_bytes_max) {
        return "a project's name has at most " + std::to_string(name_bytes_max) + " characters";
    }
    if (std::ranges::find(taken_names, name) != taken_names.end() || name.ends_with("_test")) {
        return "CMake or the project needs that name; choose another";
    }
    return "";
}

Result<std::string> make_project(const std::string& folder) {
    std::error_code fault;
    // "." and "boats/" have a name, too.
    fs::path path = fs::absolute(folder, fault).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    const std::string name = path.filename().string();
    if (const std::string why = project_name_fault(name); !why.empty()) {
        return fail(Error(EINVAL, "make a project named", name, why));
    }
    if (auto empty = check_empty(path); !empty) return fail(empty.error());
    for (const ProjectFile& file : all_files) {
        auto written = write_file(path / filled(file.path, name), filled(file.text, name));
        if (!written) return fail(written.error());
    }
    return "made " + folder + ". Next:\n  cd " + folder +
           "\n  cmake --workflow --preset dev    # configures, builds and tests\n  build/" + name +
           "    # serves http://localhost:8080\n";
}

}  // namespace tiderace::server
