/* Bytes to tokens. A token's text is owned by the lexer until the next call. */
#ifndef TINYCONF_LEXER_H
#define TINYCONF_LEXER_H

#include "text.h"
#include "tinyconf.h"

typedef enum tc_token {
    TC_TOKEN_END,
    TC_TOKEN_NEWLINE,
    TC_TOKEN_OPEN,
    TC_TOKEN_CLOSE,
    TC_TOKEN_EQUALS,
    TC_TOKEN_WORD,
    TC_TOKEN_STRING,
    TC_TOKEN_BAD
} tc_token;

typedef struct tc_lexer {
    const char *at;
    const char *end;
    unsigned line;
    unsigned column;
    tc_text text;
    const char *why;
} tc_lexer;

void tc_lexer_start(tc_lexer *lexer, const char *bytes, size_t length);
void tc_lexer_stop(tc_lexer *lexer);

/* The next token of a key or a heading. */
tc_token tc_lexer_next(tc_lexer *lexer);

/* The value after `=`: a quoted string, or the bare rest of the line. */
tc_token tc_lexer_value(tc_lexer *lexer);

#endif
