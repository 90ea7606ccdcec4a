// Whatever a file of nginx holds: reading it ends, and what is made of it is TOML.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/config/config_fixture.h"
#include "server/config/toml.h"
#include "server/nginx/importer.h"
#include "tiderace/base/check.h"

namespace tiderace::server::nginx {
namespace {

void import(std::string_view bytes) {
    config::Memory memory;
    memory.files["n.conf"] = bytes;
    memory.files["/srv/www/404.html"] = "";
    const config::DocumentWorld world = memory.world();
    const std::vector<std::string> files{"n.conf"};
    const auto imported = import_files(files, world);
    if (!imported) return;
    config::Sources sources;
    config::Problems problems;
    config::parse_toml(sources, sources.add({"t.toml", imported->text}), problems);
    TR_CHECK(problems.errors() == 0, "what is printed is TOML");
}

}  // namespace
}  // namespace tiderace::server::nginx

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tiderace::server::nginx::import({reinterpret_cast<const char*>(data), size});
    return 0;
}
