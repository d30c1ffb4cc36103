#include "messages.h"

#include "base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of the command line that is read; see messages_set_command(). */
static const char *command_name;

void put_safely(FILE *file, const char *text)
{
    struct text escaped = {0};
    text_add_escaped(&escaped, text);
    if (escaped.data)
        fputs(escaped.data, file);
    if (escaped.failed)
        fputs("(out of memory)", file);
    text_deinit(&escaped);
}

void complain(const char *format, ...)
{
    char message[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    fputs("pystack-core: ", stderr);
    put_safely(stderr, message);
    putc('\n', stderr);
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
