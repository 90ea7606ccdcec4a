// A folder with a layout, a page and a mail, and an App that is served with them.
#pragma once

#include <string>
#include <vector>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/pages/page.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http {

struct Feed {
    std::string name;
    std::vector<std::string> posts;
};

class PagesTest : public AppTest {
  protected:
    PagesTest() {
        folder.write("layout.html", "<h1>{% block title %}{% endblock %}</h1>");
        folder.write(
            "feed.html",
            "{% extends \"layout.html\" %}{% block title %}{{ name }}{% for post in posts %}"
            " <a href=\"{{ post }}\">{{ post }}</a>{% endfor %}{% endblock %}");
        folder.write("mail/feed.txt", "{{ name }}: {{ posts | length }}\n");
    }

    testing::TemporaryFolder folder;
};

}  // namespace tiderace::http
