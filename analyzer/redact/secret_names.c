/* What names say of their values. */
#include "redact_private.h"

#include <ctype.h>
#include <string.h>

/* Somewhere in the name, without what parts its words. */
static const char *const anywhere[] = {"password",   "passwd",    "passphrase",
                                       "secret",     "apikey",    "credential",
                                       "privatekey", "accesskey", "sessionid"};
/* The end of the name. */
static const char *const endings[] = {"token", "cookie", "cookies", "passcode"};
/* Its last word. */
static const char *const last_words[] = {"key", "auth", "pwd", "pass", "jwt", "otp", "bearer"};
static const char *const headers[] = {"authorization", "proxyauthorization", "cookie", "setcookie"};
static const char *const users[] = {"user",  "username", "logname",   "login",
                                    "owner", "account",  "useremail", "email"};
/* Of an exception, whose message tells more than it hides. */
static const char *const harmless[] = {"error", "exception", "warning"};

#define HAS(list, name) has(list, sizeof(list) / sizeof((list)[0]), name)
static bool has(const char *const *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i], name))
            return true;
    return false;
}

static bool ends_with(const char *name, const char *ending)
{
    size_t size = strlen(name), end = strlen(ending);
    return size >= end && !strcmp(name + size - end, ending);
}

/* In small letters without what parts the words, and where the last one begins. */
static const char *fold(const char *name, size_t size, char ret[NAME_LIMIT + 1])
{
    size_t used = 0, last = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)name[i];
        bool parts = byte == '_' || byte == '-';
        if (parts || (isupper(byte) && i && islower((unsigned char)name[i - 1])))
            last = used;
        if (!parts)
            ret[used++] = (char)tolower(byte);
    }
    ret[used] = '\0';
    return ret + last;
}

enum name_kind name_find_kind(const char *name, size_t size)
{
    char folded[NAME_LIMIT + 1];
    if (!size || size > NAME_LIMIT)
        return NAME_PLAIN;
    const char *last = fold(name, size, folded);
    if (HAS(harmless, last))
        return NAME_PLAIN;
    if (HAS(headers, folded))
        return NAME_HEADER;
    if (HAS(users, folded))
        return NAME_USER;
    for (size_t i = 0; i < sizeof(anywhere) / sizeof(anywhere[0]); i++)
        if (strstr(folded, anywhere[i]))
            return NAME_SECRET;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (ends_with(folded, endings[i]))
            return NAME_SECRET;
    return HAS(last_words, last) ? NAME_SECRET : NAME_PLAIN;
}
