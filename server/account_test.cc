#include "server/account.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <utility>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

constexpr uid_t nobody = 65'534;
constexpr uid_t unknown = 54'321;  // to the system

TEST(Account, IsFoundByNameAndByNumber) {
    for (const std::string_view text : {"root", "0"}) {
        const auto account = find_account(text);
        ASSERT_TRUE(account.has_value()) << text;
        EXPECT_EQ(account->name, "root");
        EXPECT_EQ(account->user, 0U);
        EXPECT_TRUE(account->known);
    }
    const auto number = find_account(std::to_string(unknown));
    ASSERT_TRUE(number.has_value());
    EXPECT_EQ(number->user, unknown);
    EXPECT_EQ(number->group, unknown);
    EXPECT_FALSE(number->known);
}

TEST(Account, HasTheGroupThatIsGiven) {
    const auto by_number = find_account("root:12345");
    ASSERT_TRUE(by_number.has_value());
    EXPECT_EQ(by_number->group, 12'345U);
    const auto by_name = find_account("54321:root");
    ASSERT_TRUE(by_name.has_value());
    EXPECT_EQ(by_name->user, unknown);
    EXPECT_EQ(by_name->group, 0U);
}

TEST(Account, OfNoSuchNameIsAnErrorThatNamesIt) {
    const auto user = find_account("no-such-user");
    ASSERT_FALSE(user.has_value());
    EXPECT_THAT(user.error().message(), ::testing::HasSubstr("find user no-such-user"));
    const auto group = find_account("root:no-such-group");
    ASSERT_FALSE(group.has_value());
    EXPECT_THAT(group.error().message(), ::testing::HasSubstr("find group no-such-group"));
    EXPECT_FALSE(find_account("12:x:y").has_value());
}

TEST(AccountToBecome, IsNobodyForRootThatNamesNoOther) {
    const auto account = account_to_become("", 0, 0);
    ASSERT_TRUE(account.has_value());
    ASSERT_TRUE(account->has_value());
    EXPECT_EQ((*account)->name, "nobody");
    EXPECT_NE((*account)->user, 0U);
}

TEST(AccountToBecome, IsNoneForRootThatStaysAndForAnybodyElse) {
    EXPECT_FALSE(account_to_become("root", 0, 0)->has_value());
    EXPECT_FALSE(account_to_become("root", 0, unknown)->has_value());
    EXPECT_FALSE(account_to_become("0", 0, 0)->has_value());
    EXPECT_FALSE(account_to_become("", unknown, unknown)->has_value());
    EXPECT_FALSE(account_to_become(std::to_string(unknown), unknown, unknown)->has_value());
}

// A user that does not change keeps its group, and must not believe that it has another.
TEST(AccountToBecome, AnotherGroupForTheSameUserIsAnError) {
    EXPECT_FALSE(account_to_become("root:12345", 0, 12'345)->has_value()) << "it has this one";
    for (const uid_t user : {uid_t{0}, unknown}) {
        const std::string flag = std::to_string(user) + ":12345";
        const auto account = account_to_become(flag, user, user);
        ASSERT_FALSE(account.has_value());
        EXPECT_EQ(account.error().message(),
                  "become user " + flag +
                      ": the server runs as this user already and keeps its group; leave the group "
                      "out, or choose another user");
    }
}

TEST(AccountToBecome, OnlyRootCanBecomeAnother) {
    const auto account = account_to_become("root", unknown, unknown);
    ASSERT_FALSE(account.has_value());
    EXPECT_THAT(account.error().message(), ::testing::HasSubstr("become user root"));
}

class BecomingTest : public ::testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "only root can";
    }
    // In a process of its own.
    static void expect(const std::function<bool()>& holds) {
        EXPECT_EXIT(
            {
                const bool became =
                    become({.name = "x", .user = unknown, .group = nobody}).has_value();
                std::_Exit(became && holds() ? 0 : 1);
            },
            ::testing::ExitedWithCode(0), "");
    }

    testing::TemporaryFolder folder_;
};

TEST_F(BecomingTest, IsForGoodAndForUserAndGroup) {
    expect([] {
        gid_t groups[8];
        const int count = ::getgroups(8, groups);
        return ::getuid() == unknown && ::geteuid() == unknown && ::getgid() == nobody &&
               ::getegid() == nobody && count == 1 && groups[0] == nobody && ::seteuid(0) != 0 &&
               ::setgid(0) != 0;
    });
}

// As in a container of the program alone: no list of users.
TEST_F(BecomingTest, NobodyIsFoundWithoutAListOfUsersWithOrWithoutAGroup) {
    // In a program of its own: this one's C library may have read the list before.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            bool found = ::chroot(folder_.path().c_str()) == 0 && !find_account("daemon");
            for (const auto& [text, group] :
                 {std::pair("nobody", nobody), std::pair("nobody:12345", gid_t{12'345})}) {
                const auto account = find_account(text);
                found = found && account && account->user == nobody && account->group == group &&
                        !account->known;
            }
            std::_Exit(found ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(BecomingTest, AnUnreadableFolderIsReportedWithTheUsersName) {
    expect([this] {
        const Account account{.name = "tide"};
        const auto checked = check_readable_folder(folder_.path(), account);
        return !checked && checked.error().code() == EACCES &&
               checked.error().message().find("user tide, which may not read") !=
                   std::string::npos &&
               checked.error().message().find(folder_.path()) != std::string::npos;
    });
}

TEST_F(BecomingTest, AFolderOfTheUsersOwnIsMadeOnce) {
    const Account account{.name = "tide", .user = unknown, .group = nobody};
    const std::string path = folder_.path_of("own");
    ASSERT_TRUE(make_folder(path, account).has_value());
    ASSERT_TRUE(make_folder(path, {.name = "root"}).has_value()) << "it stays the first one's";
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, unknown);
    EXPECT_EQ(status.st_gid, nobody);
    EXPECT_EQ(status.st_mode & 07777, 0700U);
    EXPECT_FALSE(make_folder(folder_.path_of("none/own"), account).has_value());
}

// Between mkdir(2) and chown(2) the owner of the folder above may put a link there.
TEST_F(BecomingTest, RootGivesNoFolderThatALinkLeadsTo) {
    const std::string target = folder_.path_of("target");
    ASSERT_EQ(::mkdir(target.c_str(), 0700), 0);
    folder_.link("own", "target");
    EXPECT_FALSE(give_folder(folder_.path_of("own"), {.name = "tide", .user = unknown}));
    struct stat status{};
    ASSERT_EQ(::stat(target.c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, 0U);
}

TEST_F(BecomingTest, ActingAsAUserIsForAWhile) {
    {
        const auto acting = ActingAs::begin({.name = "tide", .user = unknown, .group = nobody});
        ASSERT_TRUE(acting) << acting.error().message();
        EXPECT_EQ(::geteuid(), unknown);
        EXPECT_EQ(::getegid(), nobody);
        EXPECT_LT(::open(folder_.path().c_str(), O_RDONLY), 0);
    }
    EXPECT_EQ(::geteuid(), 0U);
    EXPECT_EQ(::getegid(), ::getgid());
}

// No user and no group has the number -1. Without CAP_SETUID, as in a container, all are refused.
TEST(ActingAs, IsAnErrorWhereTheSystemRefuses) {
    const uid_t user = ::geteuid();
    const gid_t group = ::getegid();
    for (const Account& account :
         {Account{.name = "a", .user = static_cast<uid_t>(-1), .group = group},
          Account{.name = "a", .user = user, .group = static_cast<gid_t>(-1)}}) {
        const auto acting = ActingAs::begin(account);
        ASSERT_FALSE(acting);
        EXPECT_EQ(acting.error().message(),
                  "act as user a: invalid argument; " + std::string("--user root stays root"));
        EXPECT_EQ(::geteuid(), user);
        EXPECT_EQ(::getegid(), group);
    }
}

// getcwd(2) fails in a folder that was removed.
TEST(CheckLogFolder, IsAnErrorThatSaysWhatToDoWhereTheCurrentFolderWasRemoved) {
    testing::TemporaryFolder folder;
    const std::string removed = folder.path_of("removed");
    ASSERT_EQ(::mkdir(removed.c_str(), 0700), 0);
    EXPECT_EXIT(
        {
            bool holds = ::chdir(removed.c_str()) == 0 && ::rmdir(removed.c_str()) == 0;
            const auto checked = check_log_folder("access.log", {.name = "tide"});
            holds = holds && !checked &&
                    checked.error().message() ==
                        "find the folder of access.log: no such file or directory; give the log "
                        "file a path that begins with /";
            holds = holds && check_log_folder(folder.path_of("access.log"), {}).has_value();
            std::_Exit(holds ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(BecomingTest, ReadableIsNotWritable) {
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
    expect([this] {
        return check_readable_folder(folder_.path(), {}) &&
               !check_writable_folder(folder_.path(), {});
    });
}

}  // namespace
}  // namespace tiderace::server
