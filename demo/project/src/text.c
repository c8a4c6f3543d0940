#include "text.h"

#include <stdlib.h>
#include <string.h>

static bool reserve(tc_text *text, size_t more)
{
    size_t need = text->length + more + 1;
    size_t room = text->room ? text->room : 32;
    char *bytes;

    if (need <= text->room) {
        return true;
    }
    while (room < need) {
        room *= 2;
    }
    bytes = realloc(text->bytes, room);
    if (bytes == NULL) {
        return false;
    }
    text->bytes = bytes;
    text->room = room;
    return true;
}

bool tc_text_add(tc_text *text, const char *bytes, size_t length)
{
    if (!reserve(text, length)) {
        return false;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
    return true;
}

bool tc_text_add_byte(tc_text *text, char byte)
{
    return tc_text_add(text, &byte, 1);
}

/* UTF-8, RFC 3629: one to four bytes. The lexer has checked the range. */
bool tc_text_add_code_point(tc_text *text, unsigned long code_point)
{
    char bytes[4];
    size_t count;

    if (code_point < 0x80) {
        bytes[0] = (char)code_point;
        count = 1;
    } else if (code_point < 0x800) {
        bytes[0] = (char)(0xC0 | (code_point >> 6));
        bytes[1] = (char)(0x80 | (code_point & 0x3F));
        count = 2;
    } else if (code_point < 0x10000) {
        bytes[0] = (char)(0xE0 | (code_point >> 12));
        bytes[1] = (char)(0x80 | ((code_point >> 6) & 0x3F));
        bytes[2] = (char)(0x80 | (code_point & 0x3F));
        count = 3;
    } else {
        bytes[0] = (char)(0xF0 | (code_point >> 18));
        bytes[1] = (char)(0x80 | ((code_point >> 12) & 0x3F));
        bytes[2] = (char)(0x80 | ((code_point >> 6) & 0x3F));
        bytes[3] = (char)(0x80 | (code_point & 0x3F));
        count = 4;
    }
    return tc_text_add(text, bytes, count);
}

void tc_text_release(tc_text *text)
{
    free(text->bytes);
    text->bytes = NULL;
    text->length = 0;
    text->room = 0;
}

char *tc_text_copy(const char *bytes, size_t length)
{
    char *copy = malloc(length + 1);

    if (copy != NULL) {
        memcpy(copy, bytes, length);
        copy[length] = '\0';
    }
    return copy;
}
