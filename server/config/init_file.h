// `tiderace init [FILE]`: a commented configuration to begin with, after three questions or by
// flags.
//
// Thread   Main; blocks on the disk and the terminal.
// Errors   On standard error. What `tiderace check` would refuse is not left behind.
// Keywords: wizard, first use, template
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/command_line/command_words.h"

namespace tiderace::server::config {

struct Beginning {
    enum class Kind : std::uint8_t { folder, php, hosts };

    Kind kind = Kind::folder;
    std::string folder = ".";        // as the file names it
    std::string php;                 // the address of php-fpm
    std::vector<std::string> hosts;  // each has a folder of its name
    std::string listen = "127.0.0.1:8080";
};

std::string beginning_text(const Beginning& beginning);

// The exit status.
int init_file(const CommandWords& words);

}  // namespace tiderace::server::config
