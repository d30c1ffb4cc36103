#include "status.h"

#include <stdio.h>
#include <string.h>

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

enum psc_status psc_fail_memory(struct psc_error *err)
{
    return psc_fail_status(err, PSC_ERR_MEMORY);
}

static const char *sentence_of(enum psc_status status)
{
    switch (status) {
    case PSC_OK:
        break;
    case PSC_ERR_ARGUMENT:
        return "an argument makes no sense";
    case PSC_ERR_MEMORY:
        return "out of memory";
    case PSC_ERR_IO:
        return "the operating system refused";
    case PSC_ERR_FORMAT:
        return "the bytes are not what they should be";
    case PSC_ERR_UNSUPPORTED:
        return "of a kind that is not supported";
    case PSC_ERR_NOT_FOUND:
        return "not found";
    case PSC_ERR_FAULT:
        return "memory of the target cannot be read";
    case PSC_ERR_LIMIT:
        return "a limit was reached";
    case PSC_ERR_INTERRUPTED:
        return "interrupted";
    }
    return "unknown status";
}

enum psc_status psc_fail_status(struct psc_error *err, enum psc_status status)
{
    return status == PSC_OK ? PSC_OK : psc_fail(err, status, "%s", sentence_of(status));
}

const char *describe_errno(int error, struct errno_text *text)
{
#ifdef __GLIBC__
    // The GNU function: words without parameters are not copied.
    return strerror_r(error, text->bytes, sizeof(text->bytes));
#else
    return strerror_r(error, text->bytes, sizeof(text->bytes)) ? "unknown error" : text->bytes;
#endif
}
