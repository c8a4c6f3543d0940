#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tinyconf.h"

static int usage(void)
{
    fputs("usage: tinyconf check FILE\n"
          "       tinyconf list FILE\n"
          "       tinyconf get FILE KEY\n"
          "       tinyconf size FILE KEY\n"
          "       tinyconf millis FILE KEY\n"
          "       tinyconf format FILE\n", stderr);
    return 2;
}

static int refused(const char *key, tc_status status)
{
    fprintf(stderr, "tinyconf: %s: %s\n", key, tc_status_name(status));
    return 1;
}

static int list(const tc_conf *conf)
{
    size_t i;

    for (i = 0; i < tc_count(conf); i++) {
        const char *key;
        const char *value;

        tc_at(conf, i, &key, &value);
        printf("%s = %s\n", key, value);
    }
    return 0;
}

static int get(const tc_conf *conf, const char *key)
{
    const char *value;
    tc_status status = tc_get(conf, key, &value);

    return status == TC_OK ? puts(value) < 0 : refused(key, status);
}

static int size(const tc_conf *conf, const char *key)
{
    uint64_t bytes;
    tc_status status = tc_get_size(conf, key, &bytes);

    return status == TC_OK ? printf("%" PRIu64 "\n", bytes) < 0 : refused(key, status);
}

static int millis(const tc_conf *conf, const char *key)
{
    int64_t number;
    tc_status status = tc_get_millis(conf, key, &number);

    return status == TC_OK ? printf("%" PRId64 "\n", number) < 0 : refused(key, status);
}

static int run(const tc_conf *conf, int argc, char **argv)
{
    const char *verb = argv[1];

    if (argc == 3 && strcmp(verb, "check") == 0) {
        printf("%lu entries\n", (unsigned long)tc_count(conf));
        return 0;
    }
    if (argc == 3 && strcmp(verb, "list") == 0) {
        return list(conf);
    }
    if (argc == 3 && strcmp(verb, "format") == 0) {
        tc_status status = tc_write(conf, stdout);
        return status == TC_OK ? 0 : refused("format", status);
    }
    if (argc == 4 && strcmp(verb, "get") == 0) {
        return get(conf, argv[3]);
    }
    if (argc == 4 && strcmp(verb, "size") == 0) {
        return size(conf, argv[3]);
    }
    if (argc == 4 && strcmp(verb, "millis") == 0) {
        return millis(conf, argv[3]);
    }
    return usage();
}

int main(int argc, char **argv)
{
    tc_conf *conf;
    tc_error error;
    int code;

    if (argc < 3) {
        return usage();
    }
    if (tc_load(argv[2], &conf, &error) != TC_OK) {
        fprintf(stderr, "%s:%u:%u: %s: %s\n", argv[2], error.line, error.column,
                tc_status_name(error.status), error.text);
        return 1;
    }
    code = run(conf, argc, argv);
    tc_free(conf);
    return code;
}
