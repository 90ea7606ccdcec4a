// Whatever a configuration file holds: reading it ends. It is taken, or a problem says why not, and
// the text of the problems has no control character but its line ends.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/config/config.h"
#include "server/config/config_fixture.h"
#include "server/config/format.h"
#include "tiderace/base/check.h"

namespace tiderace::server::config {
namespace {

void read(std::string_view bytes) {
    Memory memory;
    memory.variables["ROOT"] = "/srv/www";
    memory.files["other.toml"] = "[[site]]\nhosts = [\"other.example\"]\nroot = \"/srv/a\"\n";
    memory.files["a.pem"] = "";
    memory.files["site.toml"] = bytes;
    Sources sources;
    Problems problems;
    const DocumentWorld world = memory.world();
    const auto config = read_config("site.toml", sources, problems, world);
    TR_CHECK(config.has_value() == (problems.errors() == 0), "taken, or told why not");
    if (problems.errors() == 0) {
        const std::string once = format_toml(bytes).text;
        TR_CHECK(format_toml(once).text == once, "fmt changes nothing a second time");
    }
    for (const char c : problems.text(sources)) {
        TR_CHECK(c == '\n' || static_cast<unsigned char>(c) >= 0x20, "what a terminal may show");
    }
}

}  // namespace
}  // namespace tiderace::server::config

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tiderace::server::config::read({reinterpret_cast<const char*>(data), size});
    return 0;
}
