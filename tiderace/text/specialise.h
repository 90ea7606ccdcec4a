// specialise(): code of a Program for values that lead to one of the constants
// (Options::constants): what it shows of the constant is its own text, read and escaped once.
//
//     <p>{{ frame.words.post.like }} {{ post.likes }}</p>      frame.words -> english
//
//     0 text "<p>Like "   1 value post.likes, html   2 text "</p>"
//
// Conditions and loops stay instructions, also where they ask a constant.
//
// Thread   Any; read only once made.
// Memory   The code once more for each constant.
#pragma once

#include <span>
#include <vector>

#include "tiderace/text/program.h"
#include "tiderace/text/type_of.h"

namespace tiderace::text {

// For values of one type.
class Variants {
  public:
    // nullptr: the value leads to none of the constants.
    const Code* of(Ref root) const;

  private:
    struct Variant {
        const void* constant;
        Code code;
    };

    friend Variants specialise(const Program& program, const Ways& ways,
                               std::span<const Constant> constants);

    std::vector<Way::Hop> place_;  // of the pointer to a constant, from the root
    std::vector<Variant> all_;
};

// `ways`: of the program, for the type of the values.
Variants specialise(const Program& program, const Ways& ways, std::span<const Constant> constants);

}  // namespace tiderace::text
