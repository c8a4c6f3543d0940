/* A test program without a framework: CHECK counts, `report` ends main. */
#ifndef TINYCONF_CHECK_H
#define TINYCONF_CHECK_H

#include <stdio.h>
#include <string.h>

static int checks;
static int failures;

#define CHECK(condition) \
    do { \
        checks++; \
        if (!(condition)) { \
            failures++; \
            printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
        } \
    } while (0)

#define CHECK_TEXT(actual, wanted) \
    do { \
        const char *got_ = (actual); \
        checks++; \
        if (strcmp(got_, (wanted)) != 0) { \
            failures++; \
            printf("%s:%d: got \"%s\", wanted \"%s\"\n", __FILE__, __LINE__, got_, (wanted)); \
        } \
    } while (0)

static int report(void)
{
    printf("%d checks, %d failed\n", checks, failures);
    return failures != 0;
}

#endif
