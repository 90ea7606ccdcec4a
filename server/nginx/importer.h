// `tiderace import nginx FILE…`: the configuration file that does what nginx does, as far as this
// server can.
//
//   server { listen 80; root /srv/www; proxy_buffering off; }
//
//   [[listen]]                                 [[site]]
//   address = ":80"                            # nginx.conf:1: proxy_buffering off
//                                              default = true
//                                              root = "/srv/www"
//
// Each directive that is not carried is a comment with its place.
//
// Thread   Main; blocks on the disk.
// Errors   Of the files, one sentence.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <vector>

#include "server/config/document.h"
#include "server/nginx/reader.h"

namespace tiderace::server::nginx {

struct Imported {
    std::string text;
    bool has_dropped = false;  // a directive that has an effect in nginx is only a comment
    std::vector<std::string> opened = {};  // of these, with their places, what refused requests
};

std::expected<Imported, Fault> import_files(std::span<const std::string> files,
                                            const config::DocumentWorld& world);

// Prints it. The exit status: 0; 3 where something was dropped; 1 for a fault of the files.
int import_and_print(std::span<const std::string> files);

}  // namespace tiderace::server::nginx
