// Terminal: the two things that the programs of this room write there, and how; words that a shell
// reads back; and that there is something at the other end of the standard streams.
//
// Errors   An output that cannot be written is reported on standard error.
// Thread   Any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tiderace::server {

// `text` with "?" in the place of control characters: words of a command line, and names of files,
// may hold what moves the cursor or changes the title.
std::string printable(std::string_view text);

// A word that a shell reads back as `text`: in quotes where it needs them.
std::string shell_word(std::string_view text);
std::string shell_quoted(std::string_view text);

// "1 error", "3 sites".
std::string counted(std::size_t count, std::string_view noun);

// A text on standard output. Returns the exit status of `program`: 0 also where the reader, such as
// `head`, has seen enough.
int print(std::string_view program, std::string_view text);

// A sentence on standard error, in one line after the name of the program.
void complain(std::string_view program, std::string_view sentence);

// Called before anything else is opened: opens standard streams that our parent had closed on
// /dev/null. Otherwise the next socket would get such a number, and text for the stream, such as a
// line of the log, would reach a client.
void occupy_standard_streams();

}  // namespace tiderace::server
