/* Stand-in for glibc's <error.h>: error(3), which musl has not. */
#ifndef PSC_COMPAT_ERROR_H
#define PSC_COMPAT_ERROR_H
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static inline void error(int status, int number, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    vfprintf(stderr, format, words);
    va_end(words);
    fprintf(stderr, number ? ": %s\n" : "\n", strerror(number));
    if (status)
        exit(status);
}
#endif
