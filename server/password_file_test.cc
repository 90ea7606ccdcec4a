#include "server/password_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

// Hashes of "open sesame", at the lowest cost that each method has.
constexpr std::string_view lines =
    "# people\n"
    "bcrypt:$2y$04$mfUEoxLkZ3bzr1.EvdZY/Otd/E3DVYxPGdmvOl9s1CvatLfYZNueS\n"
    "\n"
    "sha256:$5$rounds=1000$JzBPZLWQx4CxnQtB$RpP8qAJ5k.X9B/9TQgS/eo78rMBOgubwuTo8ifNGN8/\r\n"
    "sha512:$6$rounds=1000$F9n7cLH8JM4u1X7c$wneOloBPEzv1mR73jSGPKEC9lX.0ASN/"
    "h0BbTa2DuJ88JyVLekWgS9Jp5I4LsZP2pYaAAPoMoXTKFaSLRRK/P.\n"
    "yescrypt:$y$j75$eXON7akWG4QMc1KN.UIWS/"
    "$SxfwKuu2W0MX5JXjTFMXYSR8jrTz94IGeZhoyqJ3e4B:further:fields";

PasswordFile parsed(std::string_view text) {
    auto file = PasswordFile::parse(text, "users");
    EXPECT_TRUE(file) << file.error().message();
    return std::move(*file);
}

TEST(PasswordFile, VerifiesEveryAcceptedHash) {
    const PasswordFile file = parsed(lines);
    EXPECT_EQ(file.size(), 4U);
    for (const std::string_view user : {"bcrypt", "sha256", "sha512", "yescrypt"}) {
        EXPECT_TRUE(file.verify(user, "open sesame")) << user;
        EXPECT_FALSE(file.verify(user, "open sesam")) << user;
        EXPECT_FALSE(file.verify(user, "open sesame ")) << user;
        EXPECT_FALSE(file.verify(user, "")) << user;
    }
}

TEST(PasswordFile, ReadsWhatEditorsMakeOfALine) {
    const std::string hash = "$2y$04$mfUEoxLkZ3bzr1.EvdZY/Otd/E3DVYxPGdmvOl9s1CvatLfYZNueS";
    for (const std::string& text :
         {" alice:" + hash, "\talice:" + hash, "alice:" + hash + "  ", "alice : " + hash,
          "alice:" + hash + " :more",
          "\xEF\xBB\xBF"
          "alice:" +
              hash + "\r\n",
          "\xEF\xBB\xBF# people\r\n \r\n  # more\r\n\t\n alice:" + hash + " \r\n\r\n"}) {
        const PasswordFile file = parsed(text);
        EXPECT_EQ(file.size(), 1U) << text;
        EXPECT_TRUE(file.verify("alice", "open sesame")) << text;
    }
    EXPECT_TRUE(parsed("alice b:" + hash).verify("alice b", "open sesame"));
}

TEST(PasswordFile, RefusesEverybodyElse) {
    const PasswordFile file = parsed(lines);
    for (const std::string_view user : {"", "Bcrypt", "bcrypt ", "nobody", "# people", "bcryp"}) {
        EXPECT_FALSE(file.verify(user, "open sesame")) << user;
    }
}

TEST(PasswordFile, AUserIsNotLetInByTheDecoysPassword) {
    // With one entry the decoy of every unknown name is that entry.
    const auto file = PasswordFile::load(std::vector<std::string>{"alice:open sesame"});
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_TRUE(file->verify("alice", "open sesame"));
    EXPECT_FALSE(file->verify("mallory", "open sesame"));
}

TEST(PasswordFile, ANulOrAVeryLongPasswordIsWrong) {
    const auto file = PasswordFile::load(std::vector<std::string>{"alice:open"});
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->verify("alice", "open"));
    EXPECT_FALSE(file->verify("alice", std::string_view("open\0x", 6)));
    EXPECT_FALSE(file->verify("alice", std::string_view("open\0", 5)));
    EXPECT_FALSE(file->verify("alice", std::string(100'000, 'x')));
}

TEST(PasswordFile, APasswordMayHoldColonsAndUtf8) {
    const auto file = PasswordFile::load(std::vector<std::string>{"alice:a:b:ü"});
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->verify("alice", "a:b:ü"));
    EXPECT_FALSE(file->verify("alice", "a"));
}

TEST(PasswordFile, NamesTheLineThatCannotBeUsed) {
    struct Case {
        std::string_view text, message;
    };
    const Case cases[] = {
        {"alice", "read passwords from users:1: a line is NAME:HASH"},
        {"# x\n\n:hash", "read passwords from users:3: a line is NAME:HASH"},
        {"alice:secret",
         "read passwords from users:1: the hash of alice is not of a safe kind; make one with "
         "htpasswd -nB alice"},
        {"alice:$apr1$abcdefgh$xxxxxxxxxxxxxxxxxxxxxx",
         "read passwords from users:1: the hash of alice is not of a safe kind; make one with "
         "htpasswd -nB alice"},
        {"alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=",
         "read passwords from users:1: the hash of alice is not of a safe kind; make one with "
         "htpasswd -nB alice"},
        {"alice:$2y$05$short",
         "read passwords from users:1: the hash of alice is not of a safe kind; make one with "
         "htpasswd -nB alice"},
        {" : x", "read passwords from users:1: a line is NAME:HASH"},
        {"ali\vce:hash",
         "read passwords from users:1: the name has a control character; is the file UTF-8?"},
        {"alice:",
         "read passwords from users:1: the hash of alice is not of a safe kind; make one with "
         "htpasswd -nB alice"},
    };
    for (const Case& c : cases) {
        const auto file = PasswordFile::parse(c.text, "users");
        ASSERT_FALSE(file) << c.text;
        EXPECT_EQ(file.error().message(), c.message);
    }
}

// crypt(3) makes no such hash: its user would be refused for ever, without a word.
TEST(PasswordFile, RefusesAHashThatNoPasswordHas) {
    const std::string good = "$2y$04$mfUEoxLkZ3bzr1.EvdZY/Otd/E3DVYxPGdmvOl9s1CvatLfYZNueS";
    const std::string hash(43, 'A');
    ASSERT_TRUE(PasswordFile::parse("alice:" + good, "users"));
    const auto with = [&](std::size_t at, std::string_view part) {
        return std::string(good).replace(at, part.size(), part);
    };
    for (const std::string& broken :
         {with(4, "99"), with(4, "03"), with(4, "32"), with(4, "1x"), with(6, "x"), with(20, " "),
          "$5$rounds=x$abc$" + hash, "$5$rounds=$abc$" + hash, "$y$j75$abc$" + hash + "!"}) {
        EXPECT_FALSE(PasswordFile::parse("alice:" + broken, "users")) << broken;
    }
}

TEST(PasswordFile, IsReadFromAPipe) {
    const testing::TemporaryFolder folder;
    folder.make_fifo("pipe");
    const std::vector<std::string> sources{folder.path_of("pipe")};
    const auto nobody = PasswordFile::load(sources, 1ms);
    ASSERT_FALSE(nobody);
    EXPECT_EQ(nobody.error().message(), "read passwords from " + sources[0] +
                                            ": it is a pipe into which "
                                            "nothing was written for 1ms");
    std::thread writer([&] { std::ofstream(sources[0]) << lines; });
    const auto file = PasswordFile::load(sources, 100s);
    writer.join();
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->size(), 4U);
}

TEST(PasswordFile, RefusesOneNameTwice) {
    const auto file = PasswordFile::load(std::vector<std::string>{"alice:a", "alice:b"});
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().message(), "read passwords from the command line: alice is there twice");
}

TEST(PasswordFile, ReadsAFileFromDisk) {
    std::string path = ::testing::TempDir() + "tiderace-users-XXXXXX";
    close(mkstemp(path.data()));
    std::ofstream(path) << lines;
    const auto file = PasswordFile::load(std::vector<std::string>{path, "alice:wonder"});
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->size(), 5U);
    EXPECT_TRUE(file->verify("sha512", "open sesame"));
    EXPECT_TRUE(file->verify("alice", "wonder"));

    std::ofstream(path) << "# nobody\n";
    const auto empty = PasswordFile::load(std::vector<std::string>{path});
    ASSERT_FALSE(empty);
    EXPECT_EQ(empty.error().message(),
              "read passwords: there are no users, so no one could sign in");

    std::ofstream(path) << std::string(password_file_bytes_max + 1, '#');
    const auto large = PasswordFile::load(std::vector<std::string>{path});
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().message(), "read passwords from " + path + ": larger than 1MiB");
    std::filesystem::remove(path);

    const auto absent = PasswordFile::load(std::vector<std::string>{path});
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().message(),
              "read passwords from " + path + ": no such file or directory");
}

}  // namespace
}  // namespace tiderace::server
