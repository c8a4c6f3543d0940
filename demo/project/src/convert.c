#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tinyconf.h"

typedef struct unit {
    const char *name;
    uint64_t factor;
} unit;

/* Sizes are binary: 1k is 1024 bytes. */
static const unit size_units[] = {
    {"", 1}, {"k", 1024}, {"M", 1048576}, {"G", 1073741824}, {NULL, 0},
};

static const unit time_units[] = {
    {"ms", 1}, {"s", 1000}, {"min", 60000}, {"h", 3600000}, {NULL, 0},
};

static const struct {
    const char *name;
    bool value;
} bool_names[] = {
    {"true", true}, {"yes", true}, {"on", true}, {"false", false}, {"no", false}, {"off", false},
};

tc_status tc_get_bool(const tc_conf *conf, const char *key, bool *out)
{
    const char *text;
    tc_status status = tc_get(conf, key, &text);
    size_t i;

    if (status != TC_OK) {
        return status;
    }
    for (i = 0; i < sizeof bool_names / sizeof *bool_names; i++) {
        if (strcmp(text, bool_names[i].name) == 0) {
            *out = bool_names[i].value;
            return TC_OK;
        }
    }
    return TC_TYPE;
}

/* Base 10, or base 16 after 0x: never base 8, a leading zero is only a zero. */
static int base_of(const char *text)
{
    const char *digits = text + (*text == '-' || *text == '+');

    return digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') ? 16 : 10;
}

tc_status tc_get_int(const tc_conf *conf, const char *key, int64_t *out)
{
    const char *text;
    char *end;
    intmax_t number;
    tc_status status = tc_get(conf, key, &text);

    if (status != TC_OK) {
        return status;
    }
    errno = 0;
    number = strtoimax(text, &end, base_of(text));
    if (end == text || *end != '\0') {
        return TC_TYPE;
    }
    if (errno == ERANGE || number < INT64_MIN || number > INT64_MAX) {
        return TC_RANGE;
    }
    *out = (int64_t)number;
    return TC_OK;
}

/* Digits, then one unit of the table. The product is at most `most`. */
static tc_status measured(const char *text, const unit *units, uint64_t most, uint64_t *out)
{
    char *end;
    uintmax_t number;

    if (!isdigit((unsigned char)*text)) {
        return TC_TYPE;
    }
    errno = 0;
    number = strtoumax(text, &end, 10);
    for (; units->name != NULL; units++) {
        if (strcmp(end, units->name) == 0) {
            if (errno == ERANGE || number > most / units->factor) {
                return TC_RANGE;
            }
            *out = (uint64_t)number * units->factor;
            return TC_OK;
        }
    }
    return TC_TYPE;
}

tc_status tc_get_size(const tc_conf *conf, const char *key, uint64_t *out)
{
    const char *text;
    tc_status status = tc_get(conf, key, &text);

    return status == TC_OK ? measured(text, size_units, UINT64_MAX, out) : status;
}

tc_status tc_get_millis(const tc_conf *conf, const char *key, int64_t *out)
{
    const char *text;
    uint64_t millis;
    tc_status status = tc_get(conf, key, &text);

    if (status == TC_OK) {
        status = measured(text, time_units, INT64_MAX, &millis);
    }
    if (status == TC_OK) {
        *out = (int64_t)millis;
    }
    return status;
}
