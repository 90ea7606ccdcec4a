// Templates: HTML, mail and other text with values in it, compiled while the program runs, with
// every value escaped for the place where it stands.
//
//     #include "tiderace/template.h"
//
//     #include <cstdio>
//     #include <string>
//     #include <vector>
//
//     namespace text = tiderace::text;
//
//     struct Post {
//         std::string title;
//         std::string link;
//         std::vector<std::string> tags;
//     };
//     struct Page {
//         std::string name;
//         std::vector<Post> posts;
//     };
//
//     int main() {
//         text::Templates pages;
//         const auto layout = pages.add("page.html", R"(<h1>{% block title %}{% endblock %}</h1>
//     {% block body %}{% endblock %}
//     )");
//         const auto list = pages.add("list.html", R"({% extends "page.html" %}
//     {% block title %}{{ name | upper }}{% endblock %}
//     {% block body -%}
//     {% for post in posts -%}
//     <a href="{{ post.link }}" title="{{ post.title }}">{{ post.title | truncate: 20 }}</a>
//     {%- if post.tags %} ({{ post.tags | join: ", " }}){% endif %}
//     {%- else %}Nothing yet.{% endfor %}
//     {%- endblock %}
//     )");
//         if (!layout || !list || !pages.check<Page>("list.html")) return 1;
//
//         const Page page = {"tides", {{"<i>Ebb", "javascript:alert(1)", {"sea", "moon"}}}};
//         std::string out;
//         if (!pages.render(out, "list.html", page)) return 1;
//         std::fputs(out.c_str(), stdout);
//         // <h1>TIDES</h1>
//         // <a href="#blocked" title="&lt;i&gt;Ebb">&lt;i&gt;Ebb</a> (sea, moon)
//
//         const auto broken = pages.add("list.html", "<a id={{ name }}>");
//         std::puts(broken.error()[0].message().c_str());
//         // list.html:1:7: a value that is not in quotes has no safe escaping; write id="{{ … }}"
//         //   <a id={{ name }}>
//         //         ^
//         return pages.render(out, "list.html", page) ? 0 : 1;  // by the version before
//     }
//
// Statements
//   {{ value }}  {{ post.author.name }}  {{ text | truncate: 80 | upper }}      text/filter.h
//   {% if n > 1 and not hidden %} … {% elif x == "a" or y %} … {% else %} … {% endif %}
//   {% for item in items %} … {% else %} … {% endfor %}         loop.index, first, last, length
//   {% for key, value in map %} … {% endfor %}
//   {% include "card.html" %}       sees the variables that are known where it stands
//   {% extends "layout.html" %}     first; then only blocks: {% block name %} … {% endblock %}
//   {# comment #}   {% raw %} {{ as it is }} {% endraw %}   {{- x -}} {%- … -%} trim white space
// Literals are "text", 'text', 12, -1.5, true, false, nothing. False are false, 0, "", an empty
// list or map, and nothing (an empty optional), which is shown as "". A name that is not
// there is a fault, unless `default` follows: {{ map.key | default: "none" }}.
//
// Values   text/type_of.h lists the C++ types: plain structs, without macros. text::Map,
//          List and Value hold data without a struct (text/value.h). Nothing is copied to render.
// Escaping Where each value stands is decided by the compiler: text, a quoted
//          attribute, a URL (http, https, mailto or relative; others become "#blocked"), a string
//          or a value of JavaScript. Where no escaping is safe it refuses the template and names
//          what to write instead: values without quotes, names of tags and attributes, CSS,
//          comments, template literals, event handlers outside a string, URLs of scripts. HTML that
//          is shown as it is has the type text::SafeHtml, and is written {{ x | safe }}.
//          Mode::plain, for mail and text files, escapes nothing.
//          A template and all that it includes are one HTML text: each has to end where it began,
//          between tags, and branches of {% if %} have to end in the same place.
// Thread   add, check, load and reload: one at a time, without a concurrent render. render: any.
// Errors   A Fault: file, line, column, what is wrong, the line and a caret. A broken template
//          leaves its last good version in place. A rendering that fails leaves `out` unchanged.
// Limits   text::Limits: bytes, depth, rounds of loops, output; a template that includes or extends
//          itself is refused.
// Memory   A template is compiled once; rendering allocates nothing but `out`, unless a filter
//          makes a text.
#pragma once

#include "tiderace/text/templates.h"  // IWYU pragma: export
#include "tiderace/text/value.h"      // IWYU pragma: export
