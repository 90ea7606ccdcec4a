#include "tiderace/tls/self_signed.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#include "tiderace/testing/environment_variable.h"
#include "tiderace/testing/scarce_memory.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::tls {
namespace {

constexpr UnixSeconds made_at = 1'795'000'000;

std::string content(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

mode_t mode(const std::string& path) {
    struct stat facts{};
    EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
    return facts.st_mode & 0777;
}

class SelfSignedTest : public ::testing::Test {
  protected:
    SelfSigned made(UnixSeconds now = made_at, std::vector<std::string> addresses = {"10.0.0.1"}) {
        auto result = self_signed(path_, "box", addresses, now, 10min);
        EXPECT_TRUE(result.has_value()) << result.error().message();
        return result.has_value() ? *result : SelfSigned{};
    }

    testing::TemporaryFolder folder_;
    std::string path_ = folder_.path_of("data/tiderace");
};

TEST_F(SelfSignedTest, LeavesNothingOfItsKeysInFreedMemory) {
    if (!testing::FreedMemory::works) GTEST_SKIP() << testing::FreedMemory::why_not;
    {
        const testing::FreedMemory freed("-----BEGIN PRIVATE KEY-----\n");
        made();
        EXPECT_EQ(freed.found(), 0);
    }
    for (const char* name : {"/localhost-key.pem", "/authority-key.pem"}) {
        const std::string key = content(path_ + name);
        const std::string line = key.substr(key.find('\n') + 1, 40);
        const testing::FreedMemory freed(line);
        made();
        EXPECT_EQ(freed.found(), 0) << name;
    }
}

TEST_F(SelfSignedTest, IsMadeOnceAndThenFound) {
    const SelfSigned first = made();
    EXPECT_TRUE(first.authority_is_new);
    EXPECT_TRUE(first.certificate_is_new);
    EXPECT_GT(first.ends, made_at + 300 * seconds_per_day);
    EXPECT_EQ(first.names.addresses.back(), "10.0.0.1");
    EXPECT_EQ(first.private_ranges, private_range_texts());
    const SelfSigned second = made(made_at + seconds_per_day);
    EXPECT_FALSE(second.authority_is_new);
    EXPECT_FALSE(second.certificate_is_new);
    EXPECT_EQ(second.fingerprint, first.fingerprint);
    EXPECT_EQ(second.authority_fingerprint, first.authority_fingerprint);
    EXPECT_NE(first.fingerprint, first.authority_fingerprint);
}

TEST_F(SelfSignedTest, IsTheOwnersAlone) {
    const SelfSigned it = made();
    EXPECT_EQ(mode(path_), 0700);
    for (const std::string& file : {it.certificate_file, it.key_file, it.authority_file}) {
        EXPECT_EQ(mode(file), 0600) << file;
    }
    EXPECT_EQ(mode(path_ + "/authority-key.pem"), 0600);
    ::chmod(path_.c_str(), 0755);
    made();
    EXPECT_EQ(mode(path_), 0700);
}

TEST_F(SelfSignedTest, ANewAddressMakesANewCertificateOfTheSameAuthority) {
    const SelfSigned first = made();
    const SelfSigned second = made(made_at, {"10.0.0.2"});
    EXPECT_FALSE(second.authority_is_new);
    EXPECT_TRUE(second.certificate_is_new);
    EXPECT_EQ(second.authority_fingerprint, first.authority_fingerprint);
    EXPECT_NE(second.fingerprint, first.fingerprint);
}

TEST_F(SelfSignedTest, IsMadeAnewNearItsEnd) {
    const SelfSigned first = made();
    EXPECT_FALSE(made(first.ends - (leaf_spare_days + 1) * seconds_per_day).certificate_is_new);
    EXPECT_TRUE(made(first.ends - (leaf_spare_days - 1) * seconds_per_day).certificate_is_new);
    EXPECT_TRUE(made(made_at + authority_days * seconds_per_day).authority_is_new);
}

TEST_F(SelfSignedTest, WhatIsBrokenIsMadeAnew) {
    for (const char* file :
         {"localhost.pem", "localhost-key.pem", "authority.pem", "authority-key.pem"}) {
        const std::string before = made().fingerprint;
        folder_.write("data/tiderace/" + std::string(file), "-----BEGIN nonsense");
        const SelfSigned after = made();
        EXPECT_TRUE(after.certificate_is_new) << file;
        EXPECT_EQ(after.authority_is_new, std::string_view(file).starts_with("authority")) << file;
        EXPECT_NE(after.fingerprint, before) << file;
    }
}

TEST_F(SelfSignedTest, AKeyThatOthersCouldReadIsNotTrusted) {
    const SelfSigned first = made();
    ::chmod((path_ + "/authority-key.pem").c_str(), 0644);
    const SelfSigned second = made();
    EXPECT_TRUE(second.authority_is_new);
    EXPECT_EQ(mode(path_ + "/authority-key.pem"), 0600);
    EXPECT_NE(second.authority_fingerprint, first.authority_fingerprint);
}

TEST_F(SelfSignedTest, AKeyOfAnotherUserIsNotTrusted) {
    const SelfSigned first = made();
    if (::chown((path_ + "/authority-key.pem").c_str(), 54'321, 54'321) != 0) {
        GTEST_SKIP() << "only root can give a file away";
    }
    const SelfSigned second = made();
    EXPECT_TRUE(second.authority_is_new);
    EXPECT_NE(second.authority_fingerprint, first.authority_fingerprint);
}

TEST_F(SelfSignedTest, ALinkInThePlaceOfAKeyIsNotFollowed) {
    made();
    folder_.write("elsewhere", "precious");
    ::unlink((path_ + "/localhost-key.pem").c_str());
    ASSERT_EQ(
        ::symlink(folder_.path_of("elsewhere").c_str(), (path_ + "/localhost-key.pem").c_str()), 0);
    EXPECT_TRUE(made().certificate_is_new);
    EXPECT_EQ(content(folder_.path_of("elsewhere")), "precious");
    EXPECT_FALSE(made().certificate_is_new);
}

TEST_F(SelfSignedTest, TwoAtOnceAgree) {
    SelfSigned one;
    SelfSigned other;
    std::thread thread([&] { one = made(); });
    other = made();
    thread.join();
    EXPECT_EQ(one.fingerprint, other.fingerprint);
    EXPECT_NE(one.authority_is_new, other.authority_is_new);
}

TEST_F(SelfSignedTest, AFolderThatStaysLockedIsAnErrorThatNamesIt) {
    const SelfSigned first = made();
    const int other = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_EQ(net::lock_folder(other, 10min), net::FolderLock::taken);
    const auto refused = self_signed(path_, "box", {"10.0.0.1"}, made_at, 20ms);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().message(),
              "lock " + path_ +
                  ": device or resource busy; another program keeps its lock; end it (lslocks "
                  "lists it)");
    ::close(other);
    EXPECT_EQ(made().fingerprint, first.fingerprint);
}

// A full disk, as a limit for files makes one.
TEST_F(SelfSignedTest, WhatTheDiskHasNoRoomForIsAnErrorAndLeavesTheOldOne) {
    const SelfSigned first = made();
    const std::string certificate = content(first.certificate_file);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
    for (const rlim_t room : {rlim_t{0}, rlim_t{100}}) {  // nothing, and a part
        rlimit full = before;
        full.rlim_cur = room;
        ::setrlimit(RLIMIT_FSIZE, &full);
        const auto result = self_signed(path_, "box", {"10.0.0.2"}, made_at);
        ::setrlimit(RLIMIT_FSIZE, &before);
        EXPECT_FALSE(result.has_value()) << room;
        EXPECT_EQ(content(first.certificate_file), certificate) << room;
    }
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(made().fingerprint, first.fingerprint);
}

// As in a server that was started without a standard input.
TEST_F(SelfSignedTest, ItsFolderMayHaveTheNumberZero) {
    const int input = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    ::close(STDIN_FILENO);
    const SelfSigned first = made();
    EXPECT_EQ(::fcntl(STDIN_FILENO, F_GETFD), -1) << "it is open still";
    EXPECT_EQ(made().fingerprint, first.fingerprint);
    if (input < 0) return;
    EXPECT_EQ(::dup2(input, STDIN_FILENO), STDIN_FILENO);
    ::close(input);
}

// Words behind the certificate are allowed in PEM.
TEST_F(SelfSignedTest, AFileMayBe64KiBLong) {
    constexpr std::size_t bytes_max = 65'536;
    const std::string certificate = content(made().certificate_file);
    const auto padded = [&](std::size_t bytes) {
        return certificate + std::string(bytes - certificate.size(), '\n');
    };
    folder_.write("data/tiderace/localhost.pem", padded(bytes_max));
    ::chmod((path_ + "/localhost.pem").c_str(), 0600);
    EXPECT_FALSE(made().certificate_is_new);
    folder_.write("data/tiderace/localhost.pem", padded(bytes_max + 1));
    EXPECT_TRUE(made().certificate_is_new);
}

TEST_F(SelfSignedTest, IsOfThisMachineNow) {
    const testing::EnvironmentVariable data("XDG_DATA_HOME", folder_.path());
    const UnixSeconds before = std::time(nullptr);
    const auto it = self_signed();
    const UnixSeconds after = std::time(nullptr);
    ASSERT_TRUE(it.has_value()) << it.error().message();
    EXPECT_EQ(it->certificate_file, folder_.path_of("tiderace/localhost.pem"));
    EXPECT_GE(it->ends, before + (leaf_days - 1) * seconds_per_day);
    EXPECT_LE(it->ends, after + (leaf_days - 1) * seconds_per_day);
    char host[256] = "";
    ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
    EXPECT_EQ(it->names.hosts, local_names(host, {}).hosts);
}

TEST_F(SelfSignedTest, AFolderThatCannotBeMadeIsNamed) {
    folder_.write("data", "a file");
    const auto result = self_signed(path_, "box", {}, made_at);
    ASSERT_FALSE(result.has_value());
    EXPECT_THAT(result.error().message(), ::testing::HasSubstr(path_));
    EXPECT_THAT(result.error().message(), ::testing::HasSubstr("XDG_DATA_HOME"));
}

TEST(SelfSignedFolder, FollowsTheUsersEnvironment) {
    struct Case {
        std::optional<std::string> data, home;
        const char* expected;  // nullptr: an error
    };
    const std::vector<Case> cases{
        {"/data", "/u/ada", "/data/tiderace"},
        {{}, "/u/ada", "/u/ada/.local/share/tiderace"},
        {"", "/u/ada", "/u/ada/.local/share/tiderace"},
        {"relative", "/u/ada", "/u/ada/.local/share/tiderace"},
        {{}, {}, nullptr},
        {{}, "relative", nullptr},
    };
    for (const Case& one : cases) {
        const testing::EnvironmentVariable data("XDG_DATA_HOME", one.data);
        const testing::EnvironmentVariable home("HOME", one.home);
        const auto folder = self_signed_folder();
        ASSERT_EQ(folder.has_value(), one.expected != nullptr);
        if (folder.has_value()) {
            EXPECT_EQ(*folder, one.expected);
        } else {
            EXPECT_THAT(folder.error().message(), ::testing::HasSubstr("--tls"));
        }
    }
}

}  // namespace
}  // namespace tiderace::tls
