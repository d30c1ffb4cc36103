/* The public calls that make signatures. */
#include "signature.h"
#include "sized_struct.h"

#include <stdlib.h>

struct psc_signature_rules {
    struct signature_rules *rules;
};

enum psc_status psc_signature_rules_create(const char *text, const char *name,
                                           struct psc_signature_rules **ret, struct psc_error *err)
{
    if (!ret || (text && !name))
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_signature_rules_create: NULL");
    struct psc_signature_rules *handle = calloc(1, sizeof(*handle));
    if (!handle)
        return psc_fail_memory(err);
    enum psc_status status = signature_rules_create(text, name, &handle->rules, err);
    if (status == PSC_OK)
        *ret = handle;
    else
        free(handle);
    return status;
}

void psc_signature_rules_destroy(struct psc_signature_rules *rules)
{
    if (!rules)
        return;
    signature_rules_destroy(rules->rules);
    free(rules);
}

const char *psc_signature_default_rules(void)
{
    return signature_default_rules();
}

enum psc_status psc_trace_sign(struct psc_trace *trace, const struct psc_signature_rules *rules,
                               struct psc_error *err)
{
    if (!trace)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_trace_sign: the trace is NULL");
    if (rules)
        return psc_fail_status(err, signature_make(rules->rules, trace));
    struct signature_rules *built_in;
    enum psc_status status = signature_rules_create(NULL, NULL, &built_in, err);
    if (status != PSC_OK)
        return status;
    status = psc_fail_status(err, signature_make(built_in, trace));
    signature_rules_destroy(built_in);
    return status;
}

enum psc_status psc_trace_get_signature(const struct psc_trace *trace,
                                        struct psc_signature_info *ret, struct psc_error *err)
{
    if (!trace || !ret)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_trace_get_signature: %s is NULL",
                        trace ? "the result" : "the trace");
    const struct trace_signature *signature = trace->signature;
    if (!signature)
        return psc_fail(err, PSC_ERR_NOT_FOUND, "the trace has no signature");
    const struct psc_signature_info info = {
        .version = signature->version,
        .hash = signature->hash,
        .exact = signature->exact,
        .title = signature->title,
        .part_count = signature->part_count,
    };
    return sized_give(SIZED_TYPE(psc_signature_info, PSC_SIGNATURE_INFO_INIT), &info, ret, err);
}

const char *psc_trace_signature_part(const struct psc_trace *trace, size_t index)
{
    const struct trace_signature *signature = trace ? trace->signature : NULL;
    return signature && index < signature->part_count ? signature->parts[index] : NULL;
}

const char *psc_trace_explain_signature(const struct psc_trace *trace)
{
    return trace && trace->signature ? trace->signature->explanation : "";
}
