#include "server/config/tools.h"

#include "server/config/format_file.h"
#include "server/config/schema.h"
#include "server/terminal.h"

namespace tiderace::server::config {

int use_tool(const FileTool& tool) {
    if (tool.name == "fmt") return format_file(tool.words.operands[0], tool.words.has("check"));
    return print("tiderace", schema());
}

}  // namespace tiderace::server::config
