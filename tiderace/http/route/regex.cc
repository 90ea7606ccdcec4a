#include "tiderace/http/route/regex.h"

#include <algorithm>
#include <array>
#include <utility>

#if TIDERACE_HAVE_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#endif

namespace tiderace::http::route {
#if TIDERACE_HAVE_PCRE2
namespace {

template <auto free_it>
struct Freed {
    void operator()(auto* what) const { free_it(what); }
};
using Code = std::unique_ptr<pcre2_code, Freed<pcre2_code_free>>;

// In these the safer reading of an access rule is the one that a reader expects: a line's end in a
// path neither hides what follows from '.' nor lets '$' stand before it.
constexpr std::uint32_t compile_options =
    PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP;

PCRE2_SPTR bytes_of(ByteView text) {
    // A null pointer is a fault to the library, also without a length.
    return reinterpret_cast<PCRE2_SPTR>(text.empty() ? "" : text.data());
}

// What a thread matches with. Machine code uses the stack, the interpreter the data.
struct Scratch {
    static constexpr std::size_t stack_bytes_min = 32u << 10;
    static constexpr std::size_t stack_bytes_max = 512u << 10;

    Scratch()
        : data(pcre2_match_data_create(1 + captures_max, nullptr)),
          limits(pcre2_match_context_create(nullptr)),
          stack(pcre2_jit_stack_create(stack_bytes_min, stack_bytes_max, nullptr)) {
        if (limits == nullptr) return;
        pcre2_set_match_limit(limits.get(), Regex::steps_max);
        pcre2_set_depth_limit(limits.get(), Regex::steps_max);
        pcre2_set_heap_limit(limits.get(), Regex::frame_bytes_max / 1'024);
        if (stack != nullptr) pcre2_jit_stack_assign(limits.get(), nullptr, stack.get());
    }

    std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>> data;
    std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context_free>> limits;
    std::unique_ptr<pcre2_jit_stack, Freed<pcre2_jit_stack_free>> stack;
};

class CompiledRegex final : public Regex {
  public:
    explicit CompiledRegex(Code code) : code_(std::move(code)) {
        std::uint32_t groups = 0;
        pcre2_pattern_info(code_.get(), PCRE2_INFO_CAPTURECOUNT, &groups);
        groups_ = groups;
    }

    Answer match(ByteView path, Captures* captures) const noexcept override {
        thread_local const Scratch scratch;
        if (scratch.data == nullptr || scratch.limits == nullptr) return Answer::gave_up;
        const int found = pcre2_match(code_.get(), bytes_of(path), path.size(), 0, 0,
                                      scratch.data.get(), scratch.limits.get());
        if (found == PCRE2_ERROR_NOMATCH) return Answer::no;
        if (found < 0) return Answer::gave_up;
        if (captures != nullptr)
            put_groups(path, pcre2_get_ovector_pointer(scratch.data.get()), *captures);
        return Answer::yes;
    }

    std::optional<std::size_t> group(std::string_view name) const override {
        const std::string text(name);
        const int number = pcre2_substring_number_from_name(code_.get(), bytes_of(text));
        return number > 0 ? std::optional(static_cast<std::size_t>(number)) : std::nullopt;
    }

    std::size_t groups() const noexcept override { return groups_; }

  private:
    void put_groups(ByteView path, const PCRE2_SIZE* offsets, Captures& captures) const noexcept {
        captures.count = std::min(groups_, captures_max);
        for (std::size_t i = 0; i < captures.count; ++i) {
            const PCRE2_SIZE begin = offsets[2 * i + 2];
            const PCRE2_SIZE end = offsets[2 * i + 3];
            const bool took_part = begin <= end && end <= path.size();
            captures.texts[i] = took_part ? path.substr(begin, end - begin) : ByteView();
        }
    }

    Code code_;
    std::size_t groups_ = 0;
};

}  // namespace

bool has_regexes() {
    return true;
}

std::string regex_library_text() {
    std::array<char, 64> version = {};
    pcre2_config(PCRE2_CONFIG_VERSION, version.data());
    const std::string_view whole(version.data());
    return "pcre2 " + std::string(whole.substr(0, whole.find(' ')));
}

std::expected<std::shared_ptr<const Regex>, RegexFault> compile_regex(std::string_view expression) {
    if (expression.size() > Regex::regex_bytes_max) {
        return std::unexpected(RegexFault{"it is longer than 4,096 bytes", 0});
    }
    int fault = 0;
    PCRE2_SIZE at = 0;
    Code code(pcre2_compile(bytes_of(expression), expression.size(), compile_options, &fault, &at,
                            nullptr));
    if (code == nullptr) {
        std::array<PCRE2_UCHAR, 256> text = {};
        pcre2_get_error_message(fault, text.data(), text.size());
        return std::unexpected(RegexFault{reinterpret_cast<const char*>(text.data()),
                                          std::min<std::size_t>(at, expression.size())});
    }
    // A system may refuse memory for machine code (MemoryDenyWriteExecute of systemd): matching is
    // slower then, and its limits are the same.
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
    return std::make_shared<const CompiledRegex>(std::move(code));
}
#else
bool has_regexes() {
    return false;
}

std::string regex_library_text() {
    return {};
}

std::expected<std::shared_ptr<const Regex>, RegexFault> compile_regex(std::string_view) {
    return std::unexpected(RegexFault{"this program was built without PCRE2"});
}
#endif

}  // namespace tiderace::http::route
