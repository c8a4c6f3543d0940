#include "tinyconf.h"

const char *tc_status_name(tc_status status)
{
    static const char *const names[] = {
        "ok", "no memory", "io", "syntax", "duplicate", "missing", "type", "range",
    };

    return (size_t)status < sizeof names / sizeof *names ? names[status] : "unknown";
}
