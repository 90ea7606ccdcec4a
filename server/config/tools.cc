#include "server/config/tools.h"

#include <span>

#include "server/config/dump.h"
#include "server/config/explain.h"
#include "server/config/format_file.h"
#include "server/config/init_file.h"
#include "server/config/schema.h"
#include "server/live/admin_client.h"
#include "server/live/top.h"
#include "server/nginx/importer.h"
#include "server/terminal.h"

namespace tiderace::server::config {

int use_tool(const FileTool& tool) {
    if (tool.name == "fmt") return format_file(tool.words.operands[0], tool.words.has("check"));
    if (tool.name == "dump") {
        return dump_file(tool.words.operands[0], {.is_effective = tool.words.has("effective"),
                                                  .is_json = tool.words.has("json")});
    }
    if (tool.name == "reload" || tool.name == "status") return ask_server(tool);
    if (tool.name == "top") return show_top(tool.words);
    if (tool.name == "explain") return explain_request(tool.words);
    if (tool.name == "init") return init_file(tool.words);
    if (tool.name == "import")
        return nginx::import_and_print(std::span(tool.words.operands).subspan(1));
    return print("tiderace", schema());
}

}  // namespace tiderace::server::config
