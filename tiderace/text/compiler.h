// Internal. compile(): puts a template's layout, blocks and includes in their places and decides
// for each value how it is escaped.
//
// Thread   Any.
// Errors   A Fault for: templates that are missing, include or extend themselves, values that no
//          escaping makes safe where they stand, branches that end in different places of the HTML.
// Limits   Limits::include_depth_max, nodes_max.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "tiderace/text/program.h"

namespace tiderace::text {

enum class Mode : std::uint8_t { html, plain };  // plain: nothing is escaped (mail, text files)

// The tree of a template that another names; a Fault where it has one; nullptr: there is none.
using FindTree = std::function<std::expected<const Tree*, Fault>(std::string_view name)>;

std::expected<Program, Fault> compile(const Tree& tree, Mode mode, const FindTree& find,
                                      std::shared_ptr<const std::vector<Filter>> filters,
                                      const Limits& limits);

}  // namespace tiderace::text
