/* tinyconf: small configuration files, read into memory and asked by key.
 *
 * A file is lines of `key = value`, grouped under `[section]` headings. A value
 * is a bare run of characters up to the end of the line or a `#`, or a quoted
 * string with escapes. A key is asked for by its full name: "section.key".
 */
#ifndef TINYCONF_H
#define TINYCONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct tc_conf tc_conf;

typedef enum tc_status {
    TC_OK = 0,
    TC_NO_MEMORY,
    TC_IO,
    TC_SYNTAX,
    TC_DUPLICATE,
    TC_MISSING,
    TC_TYPE,
    TC_RANGE
} tc_status;

/* Where and why parsing stopped. Lines and columns count from 1; 0: unknown. */
typedef struct tc_error {
    tc_status status;
    unsigned line;
    unsigned column;
    char text[160];
} tc_error;

/* Parse `length` bytes. On success *out owns the result: release it with
 * tc_free. On failure *out is NULL and *error (if not NULL) says why. */
tc_status tc_parse(const char *text, size_t length, tc_conf **out, tc_error *error);

/* Read a whole file, then parse it. */
tc_status tc_load(const char *path, tc_conf **out, tc_error *error);

void tc_free(tc_conf *conf);

/* A short lower-case name such as "syntax"; never NULL. */
const char *tc_status_name(tc_status status);

/* Entries in file order. The strings live as long as the configuration. */
size_t tc_count(const tc_conf *conf);
tc_status tc_at(const tc_conf *conf, size_t index, const char **key, const char **value);

tc_status tc_get(const tc_conf *conf, const char *key, const char **value);

/* Typed readers: TC_MISSING, TC_TYPE or TC_RANGE leave *out untouched. */
tc_status tc_get_bool(const tc_conf *conf, const char *key, bool *out);
tc_status tc_get_int(const tc_conf *conf, const char *key, int64_t *out);
tc_status tc_get_size(const tc_conf *conf, const char *key, uint64_t *out);
tc_status tc_get_millis(const tc_conf *conf, const char *key, int64_t *out);

/* Write every entry so that tc_parse reads the same keys and values back. */
tc_status tc_write(const tc_conf *conf, FILE *stream);

#endif
