#include "store.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

tc_conf *tc_store_new(void)
{
    return calloc(1, sizeof(tc_conf));
}

void tc_free(tc_conf *conf)
{
    size_t i;

    if (conf == NULL) {
        return;
    }
    for (i = 0; i < conf->count; i++) {
        free(conf->entries[i].key);
        free(conf->entries[i].value);
    }
    free(conf->entries);
    free(conf);
}

static const tc_entry *find(const tc_conf *conf, const char *key)
{
    size_t i;

    for (i = 0; i < conf->count; i++) {
        if (strcmp(conf->entries[i].key, key) == 0) {
            return &conf->entries[i];
        }
    }
    return NULL;
}

tc_status tc_store_add(tc_conf *conf, const char *key, const char *value, size_t length)
{
    tc_entry entry;

    if (find(conf, key) != NULL) {
        return TC_DUPLICATE;
    }
    if (conf->count == conf->room) {
        size_t room = conf->room ? conf->room * 2 : 16;
        tc_entry *entries = realloc(conf->entries, room * sizeof *entries);
        if (entries == NULL) {
            return TC_NO_MEMORY;
        }
        conf->entries = entries;
        conf->room = room;
    }
    entry.key = tc_text_copy(key, strlen(key));
    entry.value = tc_text_copy(value, length);
    if (entry.key == NULL || entry.value == NULL) {
        free(entry.key);
        free(entry.value);
        return TC_NO_MEMORY;
    }
    conf->entries[conf->count++] = entry;
    return TC_OK;
}

size_t tc_count(const tc_conf *conf)
{
    return conf->count;
}

tc_status tc_at(const tc_conf *conf, size_t index, const char **key, const char **value)
{
    if (index >= conf->count) {
        return TC_MISSING;
    }
    *key = conf->entries[index].key;
    *value = conf->entries[index].value;
    return TC_OK;
}

tc_status tc_get(const tc_conf *conf, const char *key, const char **value)
{
    const tc_entry *entry = find(conf, key);

    if (entry == NULL) {
        return TC_MISSING;
    }
    *value = entry->value;
    return TC_OK;
}
