#include "check.h"
#include "tinyconf.h"

/* Parse, write to a file, parse that: the entries must be the same ones. */
static void survives(const char *text)
{
    tc_conf *before;
    tc_conf *after = NULL;
    FILE *file = tmpfile();
    char written[4096];
    size_t length;
    size_t i;

    CHECK(file != NULL);
    CHECK(tc_parse(text, strlen(text), &before, NULL) == TC_OK);
    if (file == NULL || before == NULL) {
        printf("cannot start with:\n%s\n", text);
        return;
    }
    CHECK(tc_write(before, file) == TC_OK);
    rewind(file);
    length = fread(written, 1, sizeof written, file);
    fclose(file);
    CHECK(tc_parse(written, length, &after, NULL) == TC_OK);
    if (after == NULL) {
        printf("written text does not parse:\n%.*s\n", (int)length, written);
        tc_free(before);
        return;
    }
    CHECK(tc_count(after) == tc_count(before));
    for (i = 0; i < tc_count(before) && i < tc_count(after); i++) {
        const char *keys[2];
        const char *values[2];

        tc_at(before, i, &keys[0], &values[0]);
        tc_at(after, i, &keys[1], &values[1]);
        CHECK_TEXT(keys[1], keys[0]);
        CHECK_TEXT(values[1], values[0]);
    }
    tc_free(before);
    tc_free(after);
}

int main(void)
{
    survives("");
    survives("a = 1\nb = two words\n");
    survives("top = 1\n[s]\na = 1\n[t.u]\na = 2\n[s2]\na = 3\n");
    survives("[s]\nempty =\nhash = \"a # b\"\n");
    survives("[s]\nquote = \"say \\\"hi\\\"\"\npath = \"C:\\\\tmp\"\nlines = \"one\\ntwo\"\n");
    survives("[显示]\n标题 = 你好，世界 🌏\n");
    return report();
}
