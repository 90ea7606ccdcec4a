"""The tests of redis-py that concern strings, lists, hashes, sets, sorted sets and scans.

tools/suite_needs.py fetches its source distribution, at the version of requirements.txt, into
build/tools. Sections of its tests/test_commands.py are chosen by their headings.
"""

import re

SECTIONS = ("BASIC KEY COMMANDS", "LIST COMMANDS", "SCAN COMMANDS", "SET COMMANDS",
            "SORTED SET COMMANDS", "HASH COMMANDS")


def names(source):
    """The tests of the sections."""
    found, chosen = [], False
    for line in source.splitlines():
        if heading := re.fullmatch(r"    # ([A-Z]+(?: [A-Z]+)*)", line):
            chosen = heading[1] in SECTIONS
        if chosen and (test := re.match(r"    def (test_\w+)\(", line)):
            found.append(test[1])
    return found


# Tests of commands that kv does not have: bitmaps, further databases, DUMP, LCS.
ABSENT = {
    *("test_bitcount", "test_bitcount_mode", "test_bitop_not_empty_string", "test_bitop_not"),
    *("test_bitop_not_in_place", "test_bitop_single_string", "test_bitop_string_operands"),
    *("test_bitpos", "test_bitpos_mode", "test_get_set_bit", "test_copy_to_another_database"),
    *("test_lcs", "test_dump_and_restore", "test_dump_and_restore_and_replace"),
    "test_dump_and_restore_absttl",
}


def is_absent(name, message):
    """Whether a failure is for lack of a command."""
    return name in ABSENT and ("unknown command" in message or "DB index" in message)
