/* Growing text and copies of text: all the library needs of strings. */
#ifndef TINYCONF_TEXT_H
#define TINYCONF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tc_text {
    char *bytes;
    size_t length;
    size_t room;
} tc_text;

/* Every function that returns bool is false when memory ran out. */
bool tc_text_add(tc_text *text, const char *bytes, size_t length);
bool tc_text_add_byte(tc_text *text, char byte);
bool tc_text_add_code_point(tc_text *text, unsigned long code_point);
void tc_text_release(tc_text *text);

/* A copy that ends in a zero byte, or NULL when memory ran out. */
char *tc_text_copy(const char *bytes, size_t length);

#endif
