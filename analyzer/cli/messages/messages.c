#include "messages.h"

#include "base.h"
#include "redact.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Of the command line that is read; see messages_set_command(). */
static const char *command_name;
/* Of messages_redact(). */
static bool redacts;

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

static void put_masked(const char *text)
{
    struct text masked = {0};
    redact_text(text, strlen(text), &masked);
    text_add_char(&masked, '\0');
    put_safely(stderr, masked.failed ? "out of memory" : masked.data);
    text_deinit(&masked);
}

void complain(const char *format, ...)
{
    char message[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    progress_end();
    fputs("pystack-core: ", stderr);
    if (redacts)
        put_masked(message);
    else
        put_safely(stderr, message);
    putc('\n', stderr);
}

void messages_redact(void)
{
    redacts = true;
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

void complain_of_process(int pid, const char *message)
{
    // What the library names is the command line of a report.
    static const char program[] = "pystack-core", option[] = " --pid ";
    char label[32];
    const char *advice = strstr(message, program);
    size_t before = advice ? (size_t)(advice - message) + strlen(program) : 0;
    if (!command_name || !advice || strncmp(message + before, option, strlen(option)) != 0)
        before = 0;
    snprintf(label, sizeof(label), "process %d", pid);
    bool labels = !strstr(message, label);
    complain("%s%s%.*s%s%s%s", labels ? label : "", labels ? ": " : "", (int)before, message,
             before ? " " : "", before ? command_name : "", message + before);
}
