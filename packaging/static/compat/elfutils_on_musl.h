/* What elfutils takes from glibc's headers and musl's have not; included before each of its files. */
#ifndef PSC_ELFUTILS_ON_MUSL_H
#define PSC_ELFUTILS_ON_MUSL_H
#ifndef __ASSEMBLER__
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifndef TEMP_FAILURE_RETRY
#define TEMP_FAILURE_RETRY(expression)                    \
    ({                                                    \
        long result_;                                     \
        do                                                \
            result_ = (long)(expression);                 \
        while (result_ == -1 && errno == EINTR);          \
        result_;                                          \
    })
#endif
#ifndef strndupa
#define strndupa(text, most)                              \
    ({                                                    \
        const char *text_ = (text);                       \
        size_t length_ = strnlen(text_, (most));          \
        char *copy_ = alloca(length_ + 1);                \
        copy_[length_] = '\0';                            \
        (char *)memcpy(copy_, text_, length_);            \
    })
#endif
#ifndef strdupa
#define strdupa(text) strndupa((text), (size_t)-1)
#endif
#ifndef ACCESSPERMS
#define ACCESSPERMS (S_IRWXU | S_IRWXG | S_IRWXO)
#endif
#define canonicalize_file_name(path) realpath((path), NULL)
#define rawmemchr(text, byte) memchr((text), (byte), (size_t)-1)
#endif
#endif
