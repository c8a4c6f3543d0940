#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lexer.h"
#include "store.h"

typedef struct parser {
    tc_lexer lexer;
    tc_conf *conf;
    tc_text section;
    tc_text key;
    tc_error error;
} parser;

static tc_status fail(parser *p, tc_status status, const char *why)
{
    p->error.status = status;
    p->error.line = p->lexer.line;
    p->error.column = p->lexer.column;
    snprintf(p->error.text, sizeof p->error.text, "%s", why);
    return status;
}

static tc_status end_of_line(parser *p)
{
    unsigned line = p->lexer.line;
    tc_token token = tc_lexer_next(&p->lexer);

    if (token == TC_TOKEN_NEWLINE || token == TC_TOKEN_END) {
        return TC_OK;
    }
    fail(p, TC_SYNTAX, "expected the end of the line");
    p->error.line = line;
    return TC_SYNTAX;
}

static tc_status heading(parser *p)
{
    if (tc_lexer_next(&p->lexer) != TC_TOKEN_WORD) {
        return fail(p, TC_SYNTAX, "expected a section name");
    }
    p->section.length = 0;
    if (!tc_text_add(&p->section, p->lexer.text.bytes, p->lexer.text.length)
        || !tc_text_add_byte(&p->section, '.')) {
        return fail(p, TC_NO_MEMORY, "out of memory");
    }
    if (tc_lexer_next(&p->lexer) != TC_TOKEN_CLOSE) {
        return fail(p, TC_SYNTAX, "expected ']'");
    }
    return end_of_line(p);
}

static tc_status entry(parser *p)
{
    tc_status status;

    p->key.length = 0;
    if (!tc_text_add(&p->key, p->section.bytes ? p->section.bytes : "", p->section.length)
        || !tc_text_add(&p->key, p->lexer.text.bytes, p->lexer.text.length)) {
        return fail(p, TC_NO_MEMORY, "out of memory");
    }
    if (tc_lexer_next(&p->lexer) != TC_TOKEN_EQUALS) {
        return fail(p, TC_SYNTAX, "expected '=' after the key");
    }
    if (tc_lexer_value(&p->lexer) != TC_TOKEN_STRING) {
        return fail(p, TC_SYNTAX, p->lexer.why);
    }
    status = tc_store_add(p->conf, p->key.bytes, p->lexer.text.bytes ? p->lexer.text.bytes : "",
                          p->lexer.text.length);
    if (status != TC_OK) {
        return fail(p, status, status == TC_DUPLICATE ? "this key is there already" : "out of memory");
    }
    return end_of_line(p);
}

static tc_status lines(parser *p)
{
    tc_status status = TC_OK;

    while (status == TC_OK) {
        switch (tc_lexer_next(&p->lexer)) {
        case TC_TOKEN_END:
            return TC_OK;
        case TC_TOKEN_NEWLINE:
            break;
        case TC_TOKEN_OPEN:
            status = heading(p);
            break;
        case TC_TOKEN_WORD:
            status = entry(p);
            break;
        case TC_TOKEN_BAD:
            status = fail(p, TC_SYNTAX, p->lexer.why);
            break;
        default:
            status = fail(p, TC_SYNTAX, "expected a key or a section");
            break;
        }
    }
    return status;
}

tc_status tc_parse(const char *text, size_t length, tc_conf **out, tc_error *error)
{
    parser p;
    tc_status status;

    memset(&p, 0, sizeof p);
    *out = NULL;
    tc_lexer_start(&p.lexer, text, length);
    p.conf = tc_store_new();
    status = p.conf ? lines(&p) : fail(&p, TC_NO_MEMORY, "out of memory");
    tc_lexer_stop(&p.lexer);
    tc_text_release(&p.section);
    tc_text_release(&p.key);
    if (error != NULL) {
        *error = p.error;
    }
    if (status == TC_OK) {
        *out = p.conf;
    } else {
        tc_free(p.conf);
    }
    return status;
}

static tc_status unreadable(const char *path, tc_error *error)
{
    if (error != NULL) {
        memset(error, 0, sizeof *error);
        error->status = TC_IO;
        snprintf(error->text, sizeof error->text, "cannot read %.120s", path);
    }
    return TC_IO;
}

tc_status tc_load(const char *path, tc_conf **out, tc_error *error)
{
    FILE *file = fopen(path, "rb");
    tc_text text = {NULL, 0, 0};
    tc_status status = TC_OK;
    char block[4096];
    size_t got;

    *out = NULL;
    if (file == NULL) {
        return unreadable(path, error);
    }
    while (status == TC_OK && (got = fread(block, 1, sizeof block, file)) > 0) {
        status = tc_text_add(&text, block, got) ? TC_OK : TC_NO_MEMORY;
    }
    if (ferror(file)) {
        status = unreadable(path, error);
    }
    fclose(file);
    if (status == TC_OK) {
        status = tc_parse(text.bytes ? text.bytes : "", text.length, out, error);
    }
    tc_text_release(&text);
    return status;
}
