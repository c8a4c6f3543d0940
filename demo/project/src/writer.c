#include <string.h>

#include "tinyconf.h"

/* Up to the last dot of a full key: the section it belongs to. */
static size_t section_length(const char *key)
{
    const char *dot = strrchr(key, '.');

    return dot == NULL ? 0 : (size_t)(dot - key);
}

static void write_quoted(const char *value, FILE *stream)
{
    static const char bytes[] = "\n\r\t\"\\";
    static const char names[] = "nrt\"\\";

    fputc('"', stream);
    for (; *value != '\0'; value++) {
        const char *special = strchr(bytes, *value);
        if (special != NULL) {
            fputc('\\', stream);
            fputc(names[special - bytes], stream);
        } else {
            fputc(*value, stream);
        }
    }
    fputc('"', stream);
}

tc_status tc_write(const tc_conf *conf, FILE *stream)
{
    const char *section = "";
    size_t length = 0;
    size_t i;

    for (i = 0; i < tc_count(conf); i++) {
        const char *key;
        const char *value;
        size_t own;

        tc_at(conf, i, &key, &value);
        own = section_length(key);
        if (own != length || memcmp(key, section, own) != 0) {
            /* A key without a section cannot follow a heading: it keeps its place only at the top. */
            if (own == 0) {
                return TC_SYNTAX;
            }
            fprintf(stream, "%s[%.*s]\n", i > 0 ? "\n" : "", (int)own, key);
            section = key;
            length = own;
        }
        fprintf(stream, "%s = ", key + (own > 0 ? own + 1 : 0));
        write_quoted(value, stream);
        fputc('\n', stream);
    }
    return ferror(stream) ? TC_IO : TC_OK;
}
