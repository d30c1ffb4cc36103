#include "signatures.h"

#include "input.h"
#include "messages.h"
#include "redact.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RULES_LIMIT ((size_t)1 << 20) /* Bytes of a file of rules. */

/* NULL stands for the built-in ones. */
static bool open_rules(const char *path, struct psc_signature_rules **ret)
{
    struct psc_error err = {0};
    *ret = NULL;
    if (!path)
        return true;
    struct input text = {0};
    bool good = input_read(&text, "--rules", path, RULES_LIMIT);
    if (good && psc_signature_rules_create(text.bytes, path, ret, &err) != PSC_OK) {
        complain("--rules: %s", err.message);
        good = false;
    }
    input_deinit(&text);
    return good;
}

bool sign_traces(struct psc_trace *const *traces, size_t count, const struct options *options)
{
    struct psc_signature_rules *rules;
    struct psc_error err = {0};
    if (!options->rules) // They have one, of the built-in rules.
        return true;
    bool good = open_rules(options->rules, &rules);
    for (size_t i = 0; i < count && good; i++)
        if (psc_trace_sign(traces[i], rules, &err) != PSC_OK) {
            complain("%s", err.message);
            good = false;
        }
    psc_signature_rules_destroy(rules);
    return good;
}

static void explain(const char *text, bool redacts)
{
    struct text masked = {0};
    if (redacts)
        redact_text(text, strlen(text), &masked);
    if (masked.failed)
        complain("out of memory");
    else
        fputs(redacts ? (masked.data ? masked.data : "") : text, stdout);
    text_deinit(&masked);
}

bool explain_signatures(struct psc_trace *const *traces, size_t count, bool redacts)
{
    for (size_t i = 0; i < count; i++)
        explain(psc_trace_explain_signature(traces[i]), redacts);
    if (!fflush(stdout) || errno == EPIPE)
        return true;
    complain("standard output: %s", strerror(errno));
    return false;
}
