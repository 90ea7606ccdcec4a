// safe_name: a file name that a client sent, made safe for a folder of ours and for people's eyes.
//
//   "../../etc/passwd"      passwd
//   "C:\\Users\\a\\b.txt"   b.txt
//   ".bashrc"               bashrc               no hidden files
//   "a<b>:c?.txt"           a_b__c_.txt          not all systems can have these
//   "txt.\u202Eexe"         txt.exe              nothing that turns the rest of a line around
//
// The name is not empty, valid UTF-8, at most name_bytes_max long, and keeps its extension.
//
// Thread   Any: a pure function.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

inline constexpr std::size_t name_bytes_max = 200;  // a file system takes 255

std::string safe_name(std::string_view wanted);

// "photo.jpg", 2: "photo (2).jpg".
std::string numbered_name(std::string_view name, unsigned number);
