/* The entries of one configuration, in file order. */
#ifndef TINYCONF_STORE_H
#define TINYCONF_STORE_H

#include "tinyconf.h"

typedef struct tc_entry {
    char *key;
    char *value;
} tc_entry;

struct tc_conf {
    tc_entry *entries;
    size_t count;
    size_t room;
};

tc_conf *tc_store_new(void);

/* Copies both texts. TC_DUPLICATE when the key is there already. */
tc_status tc_store_add(tc_conf *conf, const char *key, const char *value, size_t length);

#endif
