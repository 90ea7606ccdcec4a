#include "server/command_line/help_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/version.h"

namespace tiderace::server {
namespace {

constexpr std::string_view program_golden = R"golden(: serves a folder over HTTP and HTTPS

Usage: tiderace COMMAND [flags]

Commands
  serve [DIR]          serve a folder; the current one when none is named
  run FILE             serve the sites of a configuration file
  check FILE           all that is wrong with a configuration file
  reload [FILE]        have the server of a configuration file read it again
  status [FILE]        what the server of a configuration file serves now
  top [FILE]           the same, each second, with requests per second
  init [FILE]          write a configuration file to begin with, after three
                       questions
  import nginx FILE...
                       print the configuration file that does what nginx does
  fmt FILE             put the spaces and line ends of a configuration file in
                       order
  dump FILE            each value of a configuration, and where it came from
  explain FILE URL...  what answers a request, and each setting that holds for
                       it
  schema               the JSON Schema of these files, for editors
  load URL             put a server of yours under load, and report how it
                       performs
  lab COMMAND          compare ways of building a server: tiderace lab help
  db COMMAND           migrations of a database: tiderace db help
  new DIR              the files of a service on the library, in a new folder
  trust                how to make this machine trust --tls-self-signed
  version [-v]         the version; with -v also how it was built
  help [COMMAND]       this page, or the flags of a command
  man                  the manual page: tiderace man | man -l -
  completions SHELL    completions for bash, zsh or fish

Examples
  tiderace serve                          this folder, at http://localhost:8080
  tiderace serve site --open              a site, and a browser to see it
  tiderace serve --listen :80 --listing   to everybody, folders listed
  tiderace serve --tls-self-signed        over https, for development

tiderace help serve explains every flag.
)golden";

// The page as people see it. When a flag changes, look at the new page before it is put here.
constexpr std::string_view serve_golden = R"golden(Usage: tiderace serve [DIR] [flags]

serve a folder; the current one when none is named

Addresses
  -l, --listen ADDR          HOST:PORT, :PORT for all addresses, or unix:PATH;
                             repeatable (default 127.0.0.1:8080)
  -o, --open                 open a browser on the page
      --http2 MODE           HTTP/2, beside HTTP/1.1 or instead of it: off, on
                             or only (default on)
      --max-connections N    connections open at once; more get a 503 (default
                             as descriptors allow)
      --backlog N            how many may wait to be accepted (default 4096
                             connections)

TLS
      --tls CERT[,KEY]       serve https: PEM files, or one with both;
                             repeatable
      --tls-self-signed      serve https with a certificate made here, for
                             development
      --https-redirect ADDR  listen here in clear text, only to redirect to
                             https; repeatable
      --https-port PORT      where clients find https, behind a forwarded port
                             (default as --listen says)
      --hsts[=TIME]          how long browsers use https only (bare: a year)
                             (default not sent)
      --tls-client-auth MODE
                             ask clients for a certificate: off, optional or
                             required (default off)
      --tls-client-ca FILE   the authorities that sign client certificates (PEM)

Files and folders
      --index NAMES          files that stand for their folder: a.html,b.html;
                             or none (default index.html)
      --listing              list folders without an index file (if unset: on
                             loopback, if DIR has none)
      --no-listing           never list a folder
      --spa[=FILE]           answer with FILE where nothing is found (bare:
                             index.html)
      --clean-urls           find about.html as /about
      --error-page CODE=FILE
                             the page of an error: 404=404.html; repeatable
      --path-error-page PATH=CODE=FILE
                             the same for PATH and all below it:
                             /api=404=404.json; repeatable
      --mime EXT=TYPE        the type of a file extension:
                             glb=model/gltf-binary; repeatable
      --no-precompressed     leave .br, .zst and .gz siblings alone
      --compress CODINGS     compress for clients that accept it: auto, off, or
                             some of br,zstd,gzip (default auto)
      --path-compress PATH=CODINGS
                             --compress for PATH and all below it: /api=off,
                             /docs=br,gzip; repeatable
      --compress-min SIZE    smallest body to compress (default 1KiB)
      --compress-max SIZE    largest file to compress (default 8MiB)
      --compress-cache DIR   keep compressed files in DIR over a restart
      --hidden               serve names that begin with a dot, too
      --symlinks POLICY      which links may lead on: inside, anywhere or never
                             (default inside)
      --cgi PATH=DIR         answer PATH by the programs in DIR:
                             /cgi-bin=/srv/cgi; repeatable
      --fastcgi PATTERN=ADDR
                             answer by a FastCGI peer: '*.php=unix:PATH' or
                             /app=HOST:PORT; repeatable
      --cgi-timeout TIME     longest silence of a program; then 504 (default
                             30s)
      --cgi-max N            programs at a time; more requests wait, too many
                             get a 503 (default 32 programs)
      --cgi-memory SIZE      memory of a program's process (default 512MiB)

Response fields
      --cache-control [PATTERN=]VALUE
                             Cache-Control of matching (or all) paths:
                             '*.css=max-age=3600'; first wins; repeatable
      --header NAME:VALUE    a field for every answer; repeatable
      --cors[=ORIGIN]        let other sites' scripts read (bare: all sites)
      --path-header PATH=NAME:VALUE
                             a field for PATH and all below it, beside --header;
                             repeatable
      --path-cors PATH=ORIGIN|off
                             --cors for PATH and all below it: '/api=*';
                             repeatable
      --path-redirect PATH=TARGET|off
                             308 from PATH and all below it to TARGET and what
                             follows PATH; repeatable
      --no-server-header     leave out the Server field
      --about                show version, engine and loops at
                             /.well-known/tiderace.json

Access
      --basic-auth USER:PASSWORD|FILE
                             ask for a name and password; FILE has htpasswd
                             lines (bcrypt, SHA-2, yescrypt); repeatable
      --path-auth PATH=USER:PASSWORD|FILE|off
                             who may enter PATH and all below it, in place of
                             --basic-auth; repeatable
      --path-rate PATH=N[,BURST]|off
                             requests a minute of one client, BURST (10) at
                             once; more get a 429; repeatable

Logs
      --access-log FILE|-|off
                             a line per request; - is standard output (default
                             off)
      --path-log PATH=FILE|-|off
                             the access log of PATH and all below it:
                             /api=api.log, /healthz=off; repeatable
      --log-format FORMAT    format of these lines: common, combined or json
                             (default combined)
      --log-level LEVEL      how much the server logs: trace, debug, info,
                             warning, error or off (default info)
      --log-flush TIME       longest time until a line is written (default 1s)
      --log-rotate SIZE      begin a new file at this size (default never)
      --log-keep N           rotated files to keep; the oldest one is deleted
                             (default 5)
  -q, --quiet                print nothing at start

Threads, engine and caches
  -t, --threads N            event loops, a thread each (default one per CPU)
      --engine NAME          how a loop asks the kernel: auto, epoll, io_uring,
                             poll or select (default auto)
      --accept MODE          which thread accepts new connections: reuseport,
                             queue or shared (default reuseport)
      --user NAME[:GROUP]    run as this user once ports and files are open;
                             root without it: as nobody
      --cache SIZE           memory for files, per loop; those being sent may
                             take 64 MiB more (default 64MiB)
      --cache-file-max SIZE  largest file that the cache holds (default 32KiB,
                             or 4MiB with TLS)
      --cache-check TIME     how often a cached file is compared with the disk
                             (default 1s)
      --small-copy-max SIZE  largest file sent in one piece with its header
                             (default 16KiB)
      --sendfile-min SIZE    smallest uncached file to go by sendfile (default
                             32KiB, or 128KiB with TLS)

Limits and time-outs
      --header-timeout TIME  for a whole request head (default 10s)
      --body-timeout TIME    while a request body stalls (default 30s)
      --write-timeout TIME   while an answer stalls (default 30s)
      --idle-timeout TIME    between two requests (default 1m)
      --half-closed-timeout TIME
                             while an answer stalls whose client has ended its
                             side; then 503 (default 30s)
      --drain-timeout TIME   for running answers when the server stops (default
                             10s)
      --min-receive-rate RATE
                             a slower sender is cut off (default 256 bytes/s)
      --min-send-rate RATE   a slower reader is cut off (default 256 bytes/s)
      --max-line SIZE        longest request line; longer is 414 (default 8KiB)
      --max-head SIZE        largest request head; larger is 431 (default 32KiB)
      --max-fields N         most fields in a request head; more is 431 (default
                             100 fields)
      --max-body SIZE        largest request body; larger is 413 (default 1MiB)
      --send-buffer-max SIZE
                             unsent answers of a loop; above it, the slowest
                             readers are cut off (default 64MiB)

Other
      --print-config         print the configuration file that does the same,
                             and end
  -h, --help                 this page

TIME is a number with a unit: 500ms, 10s, 2m, 1h; 0 is no limit. SIZE is bytes,
or 64KiB, 1MiB, 1GiB; KB, MB and GB count in thousands.

Signals
  SIGINT, SIGTERM            finish running answers and stop; a second one
                             stops at once (Ctrl-C is SIGINT)
  SIGHUP, SIGUSR1            reopen the log files and check the certificates
)golden";

constexpr std::string_view version_golden = R"golden(Usage: tiderace version [flags]

the version; with -v also how it was built

Flags
  -v, --verbose              also how it was built
  -h, --help                 this page
)golden";

TEST(HelpText, OfTheProgram) {
    EXPECT_EQ(program_help(), "tiderace " + std::string(version()) + std::string(program_golden));
}

TEST(HelpText, OfServe) {
    EXPECT_EQ(command_help(*find_command("serve")), serve_golden);
}

TEST(HelpText, OfVersion) {
    EXPECT_EQ(command_help(*find_command("version")), version_golden);
}

TEST(HelpText, FitsEightyColumns) {
    std::string all = program_help();
    for (const CommandSpec& command : commands()) all += command_help(command);
    while (!all.empty()) {
        const std::string line = all.substr(0, all.find('\n'));
        all.erase(0, line.size() + 1);
        EXPECT_LE(line.size(), 80U) << line;
        EXPECT_FALSE(line.ends_with(' ')) << line;
    }
}

TEST(HelpText, HasEveryFlagOfEveryCommand) {
    for (const CommandSpec& command : commands()) {
        EXPECT_THAT(program_help(), ::testing::HasSubstr("  " + std::string(command.name)));
        for (const FlagHelp& flag : command.flags) {
            EXPECT_THAT(command_help(command), ::testing::HasSubstr(flag_usage(flag, true)));
        }
    }
}

TEST(Wrap, BreaksAtSpacesAndIndentsWhatFollows) {
    EXPECT_EQ(wrap("", 10, 2), "");
    EXPECT_EQ(wrap("one two", 10, 2), "one two");
    EXPECT_EQ(wrap("one two three", 7, 2), "one two\n  three");
    EXPECT_EQ(wrap("one two three", 8, 0), "one two\nthree");
    EXPECT_EQ(wrap("incomprehensible word", 5, 1), "incomprehensible\n word");
    EXPECT_EQ(wrap("exactly ten", 11, 0), "exactly ten");
}

TEST(FlagUsage, ShowsLetterValueAndWhetherItMayBeLeftOut) {
    const FlagHelp plain{{.name = "listing"}};
    const FlagHelp letter{{.name = "listen", .letter = 'l', .value = "ADDR"}};
    const FlagHelp optional{{.name = "spa", .value = "FILE", .value_if_bare = "index.html"}};
    EXPECT_EQ(flag_usage(plain, true), "    --listing");
    EXPECT_EQ(flag_usage(plain, false), "--listing");
    EXPECT_EQ(flag_usage(letter, true), "-l, --listen ADDR");
    EXPECT_EQ(flag_usage(optional, false), "--spa[=FILE]");
}

}  // namespace
}  // namespace tiderace::server
