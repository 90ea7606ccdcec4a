// Built without CMake.
#include <tiderace/json.h>

#include <cstdio>

struct Drop {
    int number;
};

int main() {
    const auto drop = tiderace::json::read<Drop>(R"({"number": 42})");
    std::puts(tiderace::json::write(drop.value()).c_str());
}
