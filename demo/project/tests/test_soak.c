/* Random configurations, written and read back. One line a round: the log is
 * the evidence when a round fails on a board that has no debugger. */
#include "check.h"
#include "tinyconf.h"

#define ROUNDS 500

static uint32_t state = 20;

static unsigned below(unsigned limit)
{
    state = state * UINT32_C(1664525) + UINT32_C(1013904223);
    return (unsigned)(state >> 16) % limit;
}

static size_t random_conf(char *text, size_t room)
{
    static const char *const values[] = {
        "0x7F", "4k", "250ms", "yes", "\"a # b\"", "\"q\\\"q\"", "\"\\u{1F30F}\"", "\"c:\\\\x\"", "", "two words",
    };
    size_t length = 0;
    unsigned sections = 1 + below(5);
    unsigned s;

    for (s = 0; s < sections; s++) {
        unsigned keys = 1 + below(7);
        unsigned k;

        length += (size_t)snprintf(text + length, room - length, "[s%u.x%u]\n", s, below(90));
        for (k = 0; k < keys; k++) {
            length += (size_t)snprintf(text + length, room - length, "k%u = %s\n", k, values[below(10)]);
        }
    }
    return length;
}

static bool same(const tc_conf *a, const tc_conf *b)
{
    size_t i;

    if (tc_count(a) != tc_count(b)) {
        return false;
    }
    for (i = 0; i < tc_count(a); i++) {
        const char *keys[2];
        const char *values[2];

        tc_at(a, i, &keys[0], &values[0]);
        tc_at(b, i, &keys[1], &values[1]);
        if (strcmp(keys[0], keys[1]) != 0 || strcmp(values[0], values[1]) != 0) {
            return false;
        }
    }
    return true;
}

int main(void)
{
    static char text[8192];
    static char written[8192];
    int round;

    for (round = 1; round <= ROUNDS; round++) {
        size_t length = random_conf(text, sizeof text);
        size_t back;
        tc_conf *before;
        tc_conf *after = NULL;
        FILE *file = tmpfile();
        bool good;

        if (file == NULL || tc_parse(text, length, &before, NULL) != TC_OK) {
            printf("round %d: cannot start\n", round);
            return 1;
        }
        tc_write(before, file);
        rewind(file);
        back = fread(written, 1, sizeof written, file);
        fclose(file);
        tc_parse(written, back, &after, NULL);
        good = after != NULL && same(before, after);
        CHECK(good);
        printf("round %03d: %2lu entries, %4lu bytes read, %4lu written, %s\n", round,
               (unsigned long)tc_count(before), (unsigned long)length, (unsigned long)back, good ? "same" : "DIFFERENT");
        tc_free(before);
        tc_free(after);
    }
    return report();
}
