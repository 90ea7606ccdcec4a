"""Which header of the standard library gives a name: for tidy.py's rule on includes.

Several sources are compiled as one, with precompiled headers, so a file that lacks an include is
not told so by the build, until another file stands before it.
"""

import re

NAMES = {
    "algorithm": "sort min max clamp find_if any_of all_of none_of copy fill lower_bound"
    " ranges::sort ranges::find ranges::find_if ranges::any_of ranges::all_of ranges::none_of"
    " ranges::max_element ranges::min_element ranges::lower_bound ranges::copy ranges::equal",
    "array": "array",
    "atomic": "atomic atomic_thread_fence memory_order_relaxed",
    "bit": "bit_cast bit_ceil bit_width countl_zero countr_zero has_single_bit popcount rotl",
    "charconv": "from_chars to_chars",
    "chrono": "chrono",
    "cmath": "ceil floor log lround pow round sqrt",
    "condition_variable": "condition_variable",
    "cstdint": "int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t",
    "cstdio": "fprintf fwrite printf puts snprintf",
    "cstdlib": "_Exit abort exit free getenv malloc",
    "cstring": "memchr memcmp memcpy memmove memset strcmp strlen",
    "deque": "deque",
    "expected": "expected unexpected",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream",
    "functional": "function hash less",
    "iostream": "cerr cout",
    "iterator": "back_inserter distance next prev",
    "limits": "numeric_limits",
    "map": "map",
    "memory": "make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "mutex": "lock_guard mutex scoped_lock unique_lock",
    "new": "align_val_t bad_alloc launder",
    "numeric": "accumulate iota",
    "optional": "nullopt optional",
    "random": "mt19937 mt19937_64",
    "ranges": "views",
    "set": "set",
    "span": "span",
    "sstream": "istringstream ostringstream stringstream",
    "string": "getline stoi string to_string",
    "string_view": "string_view",
    "system_error": "errc error_code generic_category",
    "thread": "jthread this_thread thread",
    "tuple": "tie tuple",
    "type_traits": "conditional_t decay_t invoke_result_t is_same_v is_trivially_copyable_v",
    "unordered_map": "unordered_map",
    "utility": "exchange forward move pair swap to_underlying unreachable",
    "variant": "get_if holds_alternative monostate variant visit",
    "vector": "vector",
}
HEADER_OF = {name: header for header, names in NAMES.items() for name in names.split()}
# Headers that must include the key's names, or that do in every library.
ALSO_IN = {
    "string_view": {"string"},
    "system_error": {"charconv", "filesystem"},
    "utility": set("algorithm functional map memory optional tuple unordered_map variant".split())
    | {"vector"},
}
# GoogleTest's own interface is made of these.
OF_GTEST = set(
    "algorithm atomic cstdint functional iterator limits map memory set string tuple utility vector"
    " string_view".split()
)
USE = re.compile(r"(?<!\w)std::((?:ranges::)?\w+)")


def lacking(code, headers):
    """(name, header, offset) of each first use of a name that none of `headers` gives."""
    told = set()
    if headers & {"gtest/gtest.h", "gmock/gmock.h"}:
        headers = headers | OF_GTEST
    for found in USE.finditer(code):
        header = HEADER_OF.get(found.group(1))
        if header is None or header in told:
            continue
        told.add(header)
        if not headers & ({header} | ALSO_IN.get(header, set())):
            yield found.group(1), header, found.start()
