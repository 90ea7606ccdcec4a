#include "examples/files/file_name.h"

#include <gtest/gtest.h>

TEST(FileName, WhatIsWantedBecomesSafe) {
    const struct {
        std::string_view wanted, safe;
    } cases[] = {
        {"photo.jpg", "photo.jpg"},
        {"Übersicht 潮.txt", "Übersicht 潮.txt"},
        {"../../etc/passwd", "passwd"},
        {"/etc/passwd", "passwd"},
        {R"(C:\Users\a\b.txt)", "b.txt"},
        {"..", "file"},
        {".", "file"},
        {"", "file"},
        {"/", "file"},
        {"   ", "file"},
        {".bashrc", "bashrc"},
        {"...hidden", "hidden"},
        {"a<b>:c?.txt", "a_b__c_.txt"},
        {"trailing. . ", "trailing"},
        {"txt.\u202Eexe", "txt.exe"},
        {"zero\u200Bwidth\uFEFF", "zerowidth"},
        {"a\u061Cb\u200Ec\u2066d\u2069e", "abcde"},  // all marks of direction
        {"soft\u00ADhyphen\u180E\u034F\uFFF9.txt", "softhyphen.txt"},
        {"tag\U000E0041\U000E007F.txt", "tag.txt"},
        {"\u115F\u3164\uFFA0", "file"},  // letters that show nothing
        {"\u061C.bashrc", "bashrc"},
        {"\u00A0\u3000 .bashrc", "bashrc"},  // spaces that are no " "
        {"trailing.\u2003\u00A0", "trailing"},
        {std::string_view("nul\0and\nline", 12), "nulandline"},
        {"bad\xFFutf\xC0\x80", "bad_utf__"},
        {"\xED\xA0\x80", "___"},  // a surrogate
        {"cut\xE6\xBD", "cut__"},
    };
    for (const auto& one : cases) EXPECT_EQ(safe_name(one.wanted), one.safe) << one.wanted;
}

TEST(FileName, ALongOneKeepsItsExtensionAndWholeCharacters) {
    const std::string name = safe_name(std::string(300, 'x') + ".tar");
    EXPECT_EQ(name.size(), name_bytes_max);
    EXPECT_TRUE(name.ends_with("x.tar"));
    std::string wide;
    for (int i = 0; i < 100; ++i) wide += "潮";
    EXPECT_EQ(safe_name(wide).size(), 198u);
    EXPECT_EQ(safe_name("a." + std::string(300, 'e')).size(), name_bytes_max) << "no extension";
    const std::string cut(name_bytes_max - 2, 'x');
    EXPECT_EQ(safe_name(cut + ". " + std::string(30, 'y')), cut) << "what is cut off ends so, too";
}

TEST(FileName, NumbersStandBeforeTheExtension) {
    EXPECT_EQ(numbered_name("photo.jpg", 2), "photo (2).jpg");
    EXPECT_EQ(numbered_name("README", 13), "README (13)");
    EXPECT_EQ(numbered_name(std::string(200, 'x'), 2).size(), name_bytes_max);
}
