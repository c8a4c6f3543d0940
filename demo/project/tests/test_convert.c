#include "check.h"
#include "tinyconf.h"

static const char text[] =
    "[number]\n"
    "plain = 42\n"
    "negative = -7\n"
    "hex = 0x1F\n"
    "zero-led = 010\n"
    "huge = 9223372036854775808\n"
    "junk = 12px\n"
    "[size]\n"
    "page = 4k\n"
    "ram = 4G\n"
    "most = 18446744073709551615\n"
    "over = 18446744073709551615k\n"
    "[time]\n"
    "tick = 250ms\n"
    "wait = 3min\n"
    "over = 9223372036854775807h\n"
    "bare = 5\n"
    "[flag]\n"
    "up = yes\n"
    "down = off\n"
    "odd = maybe\n";

static void numbers(const tc_conf *conf)
{
    int64_t number = 0;

    CHECK(tc_get_int(conf, "number.plain", &number) == TC_OK && number == 42);
    CHECK(tc_get_int(conf, "number.negative", &number) == TC_OK && number == -7);
    CHECK(tc_get_int(conf, "number.hex", &number) == TC_OK && number == 31);
    CHECK(tc_get_int(conf, "number.zero-led", &number) == TC_OK && number == 10);
    CHECK(tc_get_int(conf, "number.huge", &number) == TC_RANGE);
    CHECK(tc_get_int(conf, "number.junk", &number) == TC_TYPE);
    CHECK(tc_get_int(conf, "number.absent", &number) == TC_MISSING);
    CHECK(number == 10);
}

static void sizes(const tc_conf *conf)
{
    uint64_t bytes = 0;

    CHECK(tc_get_size(conf, "size.page", &bytes) == TC_OK && bytes == 4096);
    CHECK(tc_get_size(conf, "size.ram", &bytes) == TC_OK && bytes == UINT64_C(4294967296));
    CHECK(tc_get_size(conf, "size.most", &bytes) == TC_OK && bytes == UINT64_MAX);
    CHECK(tc_get_size(conf, "size.over", &bytes) == TC_RANGE);
    CHECK(tc_get_size(conf, "number.negative", &bytes) == TC_TYPE);
}

static void times(const tc_conf *conf)
{
    int64_t millis = 0;

    CHECK(tc_get_millis(conf, "time.tick", &millis) == TC_OK && millis == 250);
    CHECK(tc_get_millis(conf, "time.wait", &millis) == TC_OK && millis == 180000);
    CHECK(tc_get_millis(conf, "time.over", &millis) == TC_RANGE);
    CHECK(tc_get_millis(conf, "time.bare", &millis) == TC_TYPE);
}

static void flags(const tc_conf *conf)
{
    bool flag = false;

    CHECK(tc_get_bool(conf, "flag.up", &flag) == TC_OK && flag);
    CHECK(tc_get_bool(conf, "flag.down", &flag) == TC_OK && !flag);
    CHECK(tc_get_bool(conf, "flag.odd", &flag) == TC_TYPE);
}

int main(void)
{
    tc_conf *conf;

    CHECK(tc_parse(text, sizeof text - 1, &conf, NULL) == TC_OK);
    if (conf != NULL) {
        numbers(conf);
        sizes(conf);
        times(conf);
        flags(conf);
        tc_free(conf);
    }
    return report();
}
