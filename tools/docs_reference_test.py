"""The reference shows what a header declares for its users, and no more."""

import re

import docs_reference
import pytest

HEADER = """// Buoy: marks a place.
//
//   Buoy buoy(7);
//
// Owner    Its creator, until
//          it sinks.
// Thread   Any.
#pragma once

#include "tiderace/app.h"

namespace tiderace::sea_parts {
void hidden();
}  // namespace tiderace::sea_parts

namespace tiderace::sea {

class Ship;  // elsewhere

// How deep it is.
enum class Depth { shallow, deep };

// A mark, `Buoy<T>` or *any*.
template <typename T>
    requires(sizeof(T) > 1)
class Buoy final : public Mark {
  public:
    explicit Buoy(int number) : number_(number), text_{"{"} {}
    Buoy(const Buoy&) = delete;
    ~Buoy();

    // Its number.
    int number() const { return number_; }
    T operator()(T value) const {
        if (value) return {};
        return value;
    }
    struct Options {
        int chain = 7;  // metres; counted
                        // from the bottom
    } options;

  private:
    int number_;
    const char* text_;
};

template <typename T>
Buoy<T>::~Buoy() {}

inline constexpr int most[] = {1,
                               2};
auto anchor(const std::vector<int>& at = {}) -> std::optional<int>;
constexpr bool afloat() {
    return true;
}

}  // namespace tiderace::sea
"""


@pytest.fixture(name="items")
def fixture_items():
    return {item.name: item for item in docs_reference.items_of(HEADER)}


def test_a_header_shows_what_its_public_namespaces_define(items):
    assert list(items) == ["Depth", "Buoy", "most", "anchor", "afloat"]


def test_a_class_shows_what_is_public_without_bodies(items):
    assert items["Buoy"].code == """template <typename T>
    requires(sizeof(T) > 1)
class Buoy final : public Mark {
    explicit Buoy(int number);
    ~Buoy();

    // Its number.
    int number() const;
    T operator()(T value) const;
    struct Options {
        int chain = 7;  // metres; counted
                        // from the bottom
    } options;
};"""
    assert items["Buoy"].comment == ["A mark, `Buoy<T>` or *any*."]


def test_functions_and_constants_keep_what_their_callers_need(items):
    assert items["anchor"].code.endswith("at = {}) -> std::optional<int>;")
    assert items["afloat"].code == "constexpr bool afloat();"
    assert re.sub(r"\s+", " ", items["most"].code).endswith("= {1, 2};")


def test_a_comment_becomes_markdown():
    text = docs_reference.prose_of(docs_reference.first_comment(HEADER))
    assert "```cpp\nBuoy buoy(7);\n```" in text
    assert "- **Owner**: Its creator, until\n    it sinks.\n- **Thread**: Any." in text
    assert docs_reference.prose("`a<b>_c` and a<b>_c") == "`a<b>_c` and a&lt;b>\\_c"


@pytest.mark.parametrize("header", docs_reference.public())
def test_every_class_of_a_public_header_has_its_place(header):
    page, anchors = docs_reference.page_of(header)
    text = (docs_reference.ROOT / header).read_text()
    text = re.sub(r"^namespace [\w:]*_parts \{.*?^\}  // namespace", "", text, flags=re.S | re.M)
    kinds = r"^(?:class|struct|enum class) (?:\[\[.*?\]\] )?"
    defined = re.findall(kinds + r"(\w+)[^;\n]* \{", text, re.M)
    assert {name for name in defined if name not in "".join(anchors)} == set()
    about = docs_reference.first_comment(text)
    assert about and docs_reference.prose(about[0]) in page
    assert "private:" not in page and "_parts {" not in page
