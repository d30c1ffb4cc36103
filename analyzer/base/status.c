#include "base.h"

#include <stdio.h>

enum psc_status psc_fail(struct psc_error *err, enum psc_status status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->status = status;
        vsnprintf(err->message, sizeof(err->message), format, args);
        va_end(args);
    }
    return status;
}
