#include "messages.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Of the command line that is read; see messages_set_command(). */
static const char *command_name;

static void put_line(const char *text)
{
    for (const unsigned char *byte = (const unsigned char *)text; *byte; byte++) {
        bool c1 = *byte == 0xc2 && byte[1] >= 0x80 && byte[1] <= 0x9f;
        if (*byte < 0x20 || *byte == 0x7f || c1)
            fprintf(stderr, "\\x%02x", c1 ? *++byte : *byte);
        else
            putc(*byte, stderr);
    }
    putc('\n', stderr);
}

void complain(const char *format, ...)
{
    char message[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    fputs("pystack-core: ", stderr);
    put_line(message);
}

void messages_set_command(const char *name)
{
    command_name = name;
}

void complain_of_usage(const char *format, ...)
{
    char message[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    complain("%.1900s; see pystack-core %s%s--help", message, command_name ? command_name : "",
             command_name ? " " : "");
}

void complain_about(const char *label, const char *message)
{
    if (!strncmp(message, label, strlen(label)))
        complain("%s", message);
    else
        complain("%s: %s", label, message);
}
