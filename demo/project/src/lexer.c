#include "lexer.h"

#include <string.h>

void tc_lexer_start(tc_lexer *lexer, const char *bytes, size_t length)
{
    memset(lexer, 0, sizeof *lexer);
    lexer->at = bytes;
    lexer->end = bytes + length;
    lexer->line = 1;
    lexer->column = 1;
}

void tc_lexer_stop(tc_lexer *lexer)
{
    tc_text_release(&lexer->text);
}

static int peek(const tc_lexer *lexer)
{
    return lexer->at < lexer->end ? (unsigned char)*lexer->at : -1;
}

static int take(tc_lexer *lexer)
{
    int byte = peek(lexer);

    if (byte < 0) {
        return byte;
    }
    lexer->at++;
    if (byte == '\n') {
        lexer->line++;
        lexer->column = 1;
    } else {
        lexer->column++;
    }
    return byte;
}

static tc_token bad(tc_lexer *lexer, const char *why)
{
    lexer->why = why;
    return TC_TOKEN_BAD;
}

/* Bytes from 0x80 up are parts of UTF-8 sequences: letters, as far as a key goes. */
static bool is_word(int byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9')
        || byte == '_' || byte == '-' || byte == '.' || byte >= 0x80;
}

static void skip_blanks(tc_lexer *lexer)
{
    while (peek(lexer) == ' ' || peek(lexer) == '\t' || peek(lexer) == '\r') {
        take(lexer);
    }
}

static void skip_comment(tc_lexer *lexer)
{
    if (peek(lexer) == '#') {
        while (peek(lexer) >= 0 && peek(lexer) != '\n') {
            take(lexer);
        }
    }
}

static int hex_digit(int byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    if (byte >= 'a' && byte <= 'f') {
        return byte - 'a' + 10;
    }
    if (byte >= 'A' && byte <= 'F') {
        return byte - 'A' + 10;
    }
    return -1;
}

/* The part of an escape after `\u`: `{` one to six hex digits `}`. */
static const char *unicode_escape(tc_lexer *lexer)
{
    unsigned long code_point = 0;
    int digits = 0;

    if (take(lexer) != '{') {
        return "expected '{' after \\u";
    }
    while (hex_digit(peek(lexer)) >= 0 && digits < 6) {
        code_point = code_point * 16 + (unsigned long)hex_digit(take(lexer));
        digits++;
    }
    if (digits == 0 || take(lexer) != '}') {
        return "expected one to six hex digits and '}'";
    }
    if (code_point == 0 || code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF)) {
        return "not a code point";
    }
    return tc_text_add_code_point(&lexer->text, code_point) ? NULL : "out of memory";
}

static const char *escape(tc_lexer *lexer)
{
    static const char names[] = "nrt\"\\";
    static const char bytes[] = "\n\r\t\"\\";
    int name = take(lexer);
    const char *found;

    if (name == 'u') {
        return unicode_escape(lexer);
    }
    found = name > 0 ? strchr(names, name) : NULL;
    if (found == NULL) {
        return "unknown escape";
    }
    return tc_text_add_byte(&lexer->text, bytes[found - names]) ? NULL : "out of memory";
}

static tc_token quoted(tc_lexer *lexer)
{
    take(lexer);
    for (;;) {
        int byte = take(lexer);

        if (byte < 0 || byte == '\n') {
            return bad(lexer, "string without an end");
        }
        if (byte == '"') {
            return TC_TOKEN_STRING;
        }
        if (byte == '\\') {
            const char *why = escape(lexer);
            if (why != NULL) {
                return bad(lexer, why);
            }
        } else if (!tc_text_add_byte(&lexer->text, (char)byte)) {
            return bad(lexer, "out of memory");
        }
    }
}

static void begin(tc_lexer *lexer)
{
    lexer->text.length = 0;
    skip_blanks(lexer);
    skip_comment(lexer);
}

tc_token tc_lexer_next(tc_lexer *lexer)
{
    begin(lexer);
    switch (peek(lexer)) {
    case -1:
        return TC_TOKEN_END;
    case '\n':
        take(lexer);
        return TC_TOKEN_NEWLINE;
    case '[':
        take(lexer);
        return TC_TOKEN_OPEN;
    case ']':
        take(lexer);
        return TC_TOKEN_CLOSE;
    case '=':
        take(lexer);
        return TC_TOKEN_EQUALS;
    default:
        break;
    }
    if (!is_word(peek(lexer))) {
        return bad(lexer, "unexpected character");
    }
    while (is_word(peek(lexer))) {
        if (!tc_text_add_byte(&lexer->text, (char)take(lexer))) {
            return bad(lexer, "out of memory");
        }
    }
    return TC_TOKEN_WORD;
}

tc_token tc_lexer_value(tc_lexer *lexer)
{
    begin(lexer);
    if (peek(lexer) == '"') {
        return quoted(lexer);
    }
    if (!tc_text_add(&lexer->text, "", 0)) {
        return bad(lexer, "out of memory");
    }
    while (peek(lexer) >= 0 && peek(lexer) != '\n' && peek(lexer) != '#') {
        if (!tc_text_add_byte(&lexer->text, (char)take(lexer))) {
            return bad(lexer, "out of memory");
        }
    }
    while (lexer->text.length > 0 && strchr(" \t\r", lexer->text.bytes[lexer->text.length - 1]) != NULL) {
        lexer->text.length--;
    }
    return TC_TOKEN_STRING;
}
