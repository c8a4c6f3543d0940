#include "check.h"
#include "lexer.h"

static void headings(void)
{
    tc_lexer lexer;
    const char text[] = "[net.eth0] # the first port\n";

    tc_lexer_start(&lexer, text, sizeof text - 1);
    CHECK(tc_lexer_next(&lexer) == TC_TOKEN_OPEN);
    CHECK(tc_lexer_next(&lexer) == TC_TOKEN_WORD);
    CHECK_TEXT(lexer.text.bytes, "net.eth0");
    CHECK(tc_lexer_next(&lexer) == TC_TOKEN_CLOSE);
    CHECK(tc_lexer_next(&lexer) == TC_TOKEN_NEWLINE);
    CHECK(lexer.line == 2 && lexer.column == 1);
    CHECK(tc_lexer_next(&lexer) == TC_TOKEN_END);
    tc_lexer_stop(&lexer);
}

static void value_is(const char *text, const char *wanted)
{
    tc_lexer lexer;

    tc_lexer_start(&lexer, text, strlen(text));
    CHECK(tc_lexer_value(&lexer) == TC_TOKEN_STRING);
    CHECK(lexer.text.length == strlen(wanted));
    CHECK(memcmp(lexer.text.bytes, wanted, lexer.text.length) == 0);
    tc_lexer_stop(&lexer);
}

static void value_fails(const char *text, const char *why)
{
    tc_lexer lexer;

    tc_lexer_start(&lexer, text, strlen(text));
    CHECK(tc_lexer_value(&lexer) == TC_TOKEN_BAD);
    CHECK_TEXT(lexer.why ? lexer.why : "", why);
    tc_lexer_stop(&lexer);
}

int main(void)
{
    headings();
    value_is("  115200  # baud\n", "115200");
    value_is("\n", "");
    value_is("\"a # b\"", "a # b");
    value_is("\"tab\\tquote\\\"\"", "tab\tquote\"");
    value_is("\"\\u{4f60}\\u{1F30F}\"", "\xE4\xBD\xA0\xF0\x9F\x8C\x8F");
    value_fails("\"open", "string without an end");
    value_fails("\"\\q\"", "unknown escape");
    value_fails("\"\\u{D800}\"", "not a code point");
    value_fails("\"\\u41\"", "expected '{' after \\u");
    return report();
}
