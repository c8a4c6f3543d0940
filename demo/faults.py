"""Name every way in which a file of the story differs from the finished project in `project/`.

A fault is written once and used in both directions: putting the broken text in place of the good one makes
the file as the story has it before, and mending it is the agent's `edit_file` call.
"""

from typing import NamedTuple


class Fault(NamedTuple):
    """Hold one difference: `good` stands in the finished file, `broken` before it is mended."""

    path: str
    good: str
    broken: str

    def spoil(self, text: str) -> str:
        """Return the text with the broken version in every place; a fault that fits nowhere is an error."""
        if self.good not in text:
            raise LookupError(f"{self.path}: the finished file does not hold {self.good!r}")
        return text.replace(self.good, self.broken)


# The project before the first turn: these files are not there yet,
ABSENT = (
    "CHANGES.md",
    "cmake/armv7.cmake",
    "src/writer.c",
    "tests/data/unicode.conf",
    "tests/test_soak.c",
    "tests/test_write.c",
)

# this one is another file altogether,
OLD_FILES = {
    "tests/check.h": """\
/* The words our tests use, over cmocka. */
#ifndef TINYCONF_CHECK_H
#define TINYCONF_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CHECK(condition) assert_true(condition)
#define CHECK_TEXT(actual, wanted) assert_string_equal(actual, wanted)

static int report(void)
{
    return 0;
}

#endif
""",
}

# and these places differ.
FAULTS = {
    "cmocka": Fault(
        "tests/CMakeLists.txt",
        "foreach(name convert lexer parse write soak)",
        "find_package(cmocka REQUIRED)\n\nforeach(name convert lexer parse)",
    ),
    "cmocka linked": Fault(
        "tests/CMakeLists.txt",
        "PRIVATE tinyconf)\n    add_test",
        "PRIVATE tinyconf cmocka::cmocka)\n    add_test",
    ),
    "strdup": Fault(
        "src/store.c",
        "    entry.key = tc_text_copy(key, strlen(key));\n    entry.value = tc_text_copy(value, length);\n",
        "    entry.key = strdup(key);\n    entry.value = strndup(value, length);\n",
    ),
    "store includes": Fault(
        "src/store.c",
        '#include <string.h>\n\n#include "text.h"\n',
        "#include <string.h>\n",
    ),
    "copy declared": Fault(
        "src/text.h",
        "void tc_text_release(tc_text *text);\n\n"
        "/* A copy that ends in a zero byte, or NULL when memory ran out. */\n"
        "char *tc_text_copy(const char *bytes, size_t length);\n",
        "void tc_text_release(tc_text *text);\n",
    ),
    "copy defined": Fault(
        "src/text.c",
        """\
    text->room = 0;
}

char *tc_text_copy(const char *bytes, size_t length)
{
    char *copy = malloc(length + 1);

    if (copy != NULL) {
        memcpy(copy, bytes, length);
        copy[length] = '\\0';
    }
    return copy;
}
""",
        "    text->room = 0;\n}\n",
    ),
    "base": Fault("src/convert.c", "strtoimax(text, &end, base_of(text))", "strtoimax(text, &end, 10)"),
    "base_of": Fault(
        "src/convert.c",
        """\
/* Base 10, or base 16 after 0x: never base 8, a leading zero is only a zero. */
static int base_of(const char *text)
{
    const char *digits = text + (*text == '-' || *text == '+');

    return digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') ? 16 : 10;
}

tc_status tc_get_int(""",
        "tc_status tc_get_int(",
    ),
    "write declared": Fault(
        "include/tinyconf.h",
        "tc_get_millis(const tc_conf *conf, const char *key, int64_t *out);\n\n"
        "/* Write every entry so that tc_parse reads the same keys and values back. */\n"
        "tc_status tc_write(const tc_conf *conf, FILE *stream);\n",
        "tc_get_millis(const tc_conf *conf, const char *key, int64_t *out);\n",
    ),
    "writer built": Fault("CMakeLists.txt", "    src/text.c\n    src/writer.c\n", "    src/text.c\n"),
    "format usage": Fault(
        "cli/main.c",
        'millis FILE KEY\\n"\n          "       tinyconf format FILE\\n", stderr);',
        'millis FILE KEY\\n", stderr);',
    ),
    "format verb": Fault(
        "cli/main.c",
        """\
    if (argc == 3 && strcmp(verb, "format") == 0) {
        tc_status status = tc_write(conf, stdout);
        return status == TC_OK ? 0 : refused("format", status);
    }
    if (argc == 4 && strcmp(verb, "get") == 0) {""",
        '    if (argc == 4 && strcmp(verb, "get") == 0) {',
    ),
    "unicode tested": Fault(
        "tests/test_parse.c",
        """\
static void unicode(void)
{
    tc_conf *conf;
    tc_error error;
    const char *value = "";

    CHECK(tc_load(DATA "/unicode.conf", &conf, &error) == TC_OK);
    if (conf == NULL) {
        printf("unicode.conf:%u:%u: %s\\n", error.line, error.column, error.text);
        return;
    }
    CHECK(tc_get(conf, "显示.标题", &value) == TC_OK);
    CHECK_TEXT(value, "你好，世界 🌏");
    CHECK(tc_get(conf, "显示.größe", &value) == TC_OK);
    CHECK_TEXT(value, "12k");
    tc_free(conf);
}

static void fails(""",
        "static void fails(",
    ),
    "unicode called": Fault("tests/test_parse.c", "    board();\n    unicode();\n", "    board();\n"),
    "unicode words": Fault(
        "src/lexer.c",
        "|| byte == '_' || byte == '-' || byte == '.' || byte >= 0x80;",
        "|| byte == '_' || byte == '-' || byte == '.';",
    ),
    "unicode said": Fault(
        "src/lexer.c",
        "/* Bytes from 0x80 up are parts of UTF-8 sequences: letters, as far as a key goes. */\n"
        "static bool is_word",
        "static bool is_word",
    ),
    "conversion": Fault("CMakeLists.txt", "-Wpedantic -Wconversion)", "-Wpedantic)"),
    "narrowed text": Fault("src/text.c", "] = (char)", "] = "),
    "narrowed take": Fault("src/lexer.c", "(char)take(lexer)", "take(lexer)"),
    "narrowed byte": Fault("src/lexer.c", "(char)byte", "byte"),
    "widened digit": Fault("src/lexer.c", "(unsigned long)hex_digit", "hex_digit"),
    "sanitizer option": Fault(
        "CMakeLists.txt",
        'errors" ON)\noption(TINYCONF_UBSAN "Build with the undefined behaviour sanitizer" OFF)\n',
        'errors" ON)\n',
    ),
    "sanitizer flags": Fault(
        "CMakeLists.txt",
        """\
if(TINYCONF_UBSAN)
    target_compile_options(tinyconf PUBLIC -fsanitize=undefined -fno-sanitize-recover=all)
    target_link_options(tinyconf PUBLIC -fsanitize=undefined)
endif()

add_executable(""",
        "\nadd_executable(",
    ),
    "null section": Fault(
        "src/parser.c",
        'p->section.bytes ? p->section.bytes : "", p->section.length',
        "p->section.bytes, p->section.length",
    ),
    "overflow": Fault(
        "src/convert.c",
        "errno == ERANGE || number > most / units->factor) {",
        "errno == ERANGE || number > most) {",
    ),
    "overflowing sizes": Fault(
        "tests/test_convert.c",
        '18446744073709551615\\n"\n    "over = 18446744073709551615k\\n"\n',
        '18446744073709551615\\n"\n',
    ),
    "overflowing times": Fault(
        "tests/test_convert.c",
        '3min\\n"\n    "over = 9223372036854775807h\\n"\n',
        '3min\\n"\n',
    ),
    "overflowing size checked": Fault(
        "tests/test_convert.c",
        'UINT64_MAX);\n    CHECK(tc_get_size(conf, "size.over", &bytes) == TC_RANGE);\n',
        "UINT64_MAX);\n",
    ),
    "overflowing time checked": Fault(
        "tests/test_convert.c",
        'millis == 180000);\n    CHECK(tc_get_millis(conf, "time.over", &millis) == TC_RANGE);\n',
        "millis == 180000);\n",
    ),
    "board in readme": Fault(
        "README.md",
        "--output-on-failure\n\n"
        "For the board: `cmake -S . -B build-arm -DCMAKE_TOOLCHAIN_FILE=cmake/armv7.cmake`.\n",
        "--output-on-failure\n",
    ),
}

# What is missing or wrong in a file when the agent writes it.
SLIPS = {
    "unicode written": Fault(
        "tests/test_write.c",
        'two\\"\\n");\n    survives("[显示]\\n标题 = 你好，世界 🌏\\n");\n',
        'two\\"\\n");\n',
    ),
    "writer without string.h": Fault(
        "src/writer.c",
        '#include <string.h>\n\n#include "tinyconf.h"\n',
        '#include "tinyconf.h"\n',
    ),
    "writer without escapes": Fault(
        "src/writer.c",
        """\
    static const char bytes[] = "\\n\\r\\t\\"\\\\";
    static const char names[] = "nrt\\"\\\\";

    fputc('"', stream);
    for (; *value != '\\0'; value++) {
        const char *special = strchr(bytes, *value);
        if (special != NULL) {
            fputc('\\\\', stream);
            fputc(names[special - bytes], stream);
        } else {
            fputc(*value, stream);
        }
    }
    fputc('"', stream);
""",
        '    fprintf(stream, "\\"%s\\"", value);\n',
    ),
}
