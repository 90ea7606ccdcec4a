// Completions for three shells, rendered from the tables of flags.h. Install as
//   bash  share/bash-completion/completions/tiderace
//   zsh   share/zsh/site-functions/_tiderace
//   fish  share/fish/vendor_completions.d/tiderace.fish
#pragma once

#include <string>

namespace tiderace::server {

std::string bash_completions();
std::string zsh_completions();
std::string fish_completions();

}  // namespace tiderace::server
