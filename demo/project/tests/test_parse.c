#include "check.h"
#include "tinyconf.h"

static void board(void)
{
    tc_conf *conf;
    tc_error error;
    const char *value = "";
    uint64_t bytes = 0;

    CHECK(tc_load(DATA "/board.conf", &conf, &error) == TC_OK);
    if (conf == NULL) {
        printf("%u:%u: %s\n", error.line, error.column, error.text);
        return;
    }
    CHECK(tc_get(conf, "name", &value) == TC_OK);
    CHECK_TEXT(value, "greenhouse controller");
    CHECK(tc_get(conf, "uart.console.device", &value) == TC_OK);
    CHECK_TEXT(value, "ttyS1");
    CHECK(tc_get_size(conf, "memory.heap", &bytes) == TC_OK && bytes == 196608);
    CHECK(tc_get(conf, "uart.console", &value) == TC_MISSING);
    tc_free(conf);
}

static void unicode(void)
{
    tc_conf *conf;
    tc_error error;
    const char *value = "";

    CHECK(tc_load(DATA "/unicode.conf", &conf, &error) == TC_OK);
    if (conf == NULL) {
        printf("unicode.conf:%u:%u: %s\n", error.line, error.column, error.text);
        return;
    }
    CHECK(tc_get(conf, "显示.标题", &value) == TC_OK);
    CHECK_TEXT(value, "你好，世界 🌏");
    CHECK(tc_get(conf, "显示.größe", &value) == TC_OK);
    CHECK_TEXT(value, "12k");
    tc_free(conf);
}

static void fails(const char *text, tc_status status, unsigned line)
{
    tc_conf *conf;
    tc_error error;

    CHECK(tc_parse(text, strlen(text), &conf, &error) == status);
    CHECK(conf == NULL);
    CHECK(error.status == status && error.line == line);
}

int main(void)
{
    tc_conf *conf;

    board();
    unicode();
    fails("a = 1\nb 2\n", TC_SYNTAX, 2);
    fails("[open\n", TC_SYNTAX, 2);
    fails("a = 1\n\na = 2\n", TC_DUPLICATE, 3);
    fails("= 3\n", TC_SYNTAX, 1);
    fails("a = \"x\" y\n", TC_SYNTAX, 1);
    CHECK(tc_load(DATA "/absent.conf", &conf, NULL) == TC_IO);
    return report();
}
