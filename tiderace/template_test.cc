#include "tiderace/template.h"

// The example of the header, which includes what it needs.
#define main template_example_main
#include "template_example.h"
#undef main

#include <gtest/gtest.h>

namespace tiderace::text {
namespace {

TEST(Template, RunsTheExampleOfItsHeader) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(template_example_main(), 0);
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              "<h1>TIDES</h1>\n"
              "<a href=\"#blocked\" title=\"&lt;i&gt;Ebb\">&lt;i&gt;Ebb</a> (sea, moon)\n"
              "list.html:1:7: a value that is not in quotes has no safe escaping; write "
              "id=\"{{ … }}\"\n"
              "  <a id={{ name }}>\n"
              "        ^\n");
}

}  // namespace
}  // namespace tiderace::text
